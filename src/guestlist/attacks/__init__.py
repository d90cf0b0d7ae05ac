"""Signals to one score per record; higher means likelier member."""

from guestlist.attacks.attack import Attack
from guestlist.attacks.every_target import scores_of_all
from guestlist.attacks.names import named
from guestlist.attacks.table import ATTACKS

__all__ = ["ATTACKS", "Attack", "named", "scores_of_all"]
