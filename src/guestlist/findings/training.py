"""Training of the target, the attacker's knowledge of it, and its privacy guarantee."""

from __future__ import annotations

from dataclasses import replace

from guestlist.case import Case
from guestlist.defences.dp import epsilon_of
from guestlist.defences.training import DELTA, Training
from guestlist.errors import InputError


def find(case: Case) -> Training | None:
    """Return the training with the epsilon of one such training; None if the target does not describe it."""
    training = case.setting.training
    if training is None or not training.noise or training.rate is None or training.steps is None:
        return training
    try:
        epsilon = epsilon_of(training.noise, rate=training.rate, steps=training.steps, delta=DELTA)
    except InputError:  # the accountant is not installed
        return training
    return replace(training, epsilon=epsilon, delta=DELTA)
