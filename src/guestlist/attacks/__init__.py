"""Membership attacks: each maps the adversary's view to one score per record, higher for likelier members.

To add an attack, write a function ``(signals) -> scores`` and add a row to ``ATTACKS``.
"""

from guestlist.attacks.attack import Attack
from guestlist.attacks.every_target import score_every_target
from guestlist.attacks.names import select_attacks
from guestlist.attacks.table import ATTACKS

__all__ = ["ATTACKS", "Attack", "score_every_target", "select_attacks"]
