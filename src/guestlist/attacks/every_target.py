"""Scores of an attack on every model in turn as the target."""

from __future__ import annotations

import numpy as np

from guestlist.attacks.attack import Attack
from guestlist.views.signals import Rotation


def score_every_target(attack: Attack, rotation: Rotation) -> np.ndarray:
    """Return (models, records) scores of the attack with every model in turn as the target."""
    if attack.rotates:
        return attack.score(rotation)
    return np.stack([attack.score(rotation.facing(k)) for k in range(len(rotation.member))])
