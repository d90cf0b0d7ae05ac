"""Signals to one score per record; higher means likelier member."""

from guestlist.attacks.table import ATTACKS, Attack, named, try_out

__all__ = ["ATTACKS", "Attack", "named", "try_out"]
