"""Worlds whose answer is known. Those that the self-test needs are shipped; the rest is here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guestlist._views import FullAnswersView, Rotation, Signals
from guestlist.evidence import answers_of_margin, signals_of_margin
from guestlist.selfcheck.simulations import (
    DESIGNS,
    bernoulli,
    complementary_pairs,
    exactly_half,
    gaussian_simulation,
    noise_simulation,
)

__all__ = [
    "DESIGNS",
    "answers_of_margin",
    "awkward_world",
    "bernoulli",
    "complementary_pairs",
    "exactly_half",
    "gaussian_simulation",
    "noise_simulation",
    "signals_of_margin",
    "target_of",
]


def target_of(world: Rotation, k: int = 0) -> tuple[Signals, np.ndarray]:
    """What the adversary sees of model ``k``, and the truth about it."""
    return world.facing(k), world.member[k]


def awkward_world(*, records: int = 60, models: int = 9, seed: int = 0, design=bernoulli) -> Rotation:
    """A small world with all that is awkward: ties, saturated records, questions not asked, one-sided records."""
    world = gaussian_simulation(1.0, records=records, models=models, seed=seed, log_deviation_sd=0.5, design=design)
    rng = np.random.default_rng([seed, 1])
    margin = np.round(world.values["margin"], 1)
    margin[:, :5] = 30.0 + 0.1 * np.arange(5)  # all models agree, at a value without an exact float
    margin[0, 3] = -2.0  # ... but one
    values = signals_of_margin(margin)
    silent = rng.random(margin.shape) < 0.05
    values = {name: np.where(silent, np.nan, matrix) for name, matrix in values.items()}
    log_p = np.where(silent[..., None], np.nan, answers_of_margin(margin, world.labels))
    member = world.member.copy()
    if world.together is None:
        member[:, 5], member[:, 6] = True, False
        member[:, 7] = np.arange(models) == 2  # the only member, and no reference at all when it is the target

    def evidence(k: int):
        others, plain = world.others(k), world.evidence(k)
        seen = plain.need("white_box")
        seen = replace(seen, features=values["margin"][k][:, None], member=member[k] & seen.known)
        answers = FullAnswersView(log_p[others], member[others])
        return plain.with_part("full_answers", answers).with_part("white_box", seen)

    return replace(world, values=values, member=member, evidence=evidence, answers=lambda k: log_p[k])
