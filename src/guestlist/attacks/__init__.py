"""Signals to one score per record; higher means likelier member."""

from guestlist.attacks.attack import Attack
from guestlist.attacks.every_target import score_every_target
from guestlist.attacks.names import select_attacks
from guestlist.attacks.table import ATTACKS

__all__ = ["ATTACKS", "Attack", "score_every_target", "select_attacks"]
