"""Signals to one score per record; higher means likelier member."""

from guestlist.attacks.table import ATTACKS, Attack, named

__all__ = ["ATTACKS", "Attack", "named"]
