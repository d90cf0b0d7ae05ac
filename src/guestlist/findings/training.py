"""How the target was trained, what its attacker knows of that, and what one such training promises."""

from __future__ import annotations

from dataclasses import replace

from guestlist.case import Case
from guestlist.defences.dp import epsilon_of
from guestlist.defences.training import DELTA, Training
from guestlist.errors import InputError


def find(case: Case) -> Training | None:
    """None where the target did not say."""
    found = case.setting.training
    if found is None or not found.noise or found.rate is None or found.steps is None:
        return found
    try:
        epsilon = epsilon_of(found.noise, rate=found.rate, steps=found.steps, delta=DELTA)
    except InputError:  # the accountant is not installed
        return found
    return replace(found, epsilon=epsilon, delta=DELTA)
