"""Worlds whose answer is known: nothing is trained, so the truth about every attack can be written down.

A world is a :class:`Rotation`: any model can be the target, ``world.facing(k)`` is what the adversary sees of
it and ``world.member[k]`` is the truth. Margins are normal, and all other signals are those of a model with
two classes and that margin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from guestlist.games.bernoulli import iid
from guestlist.views.evidence import Ceilings, Evidence, FullAnswers, Models, Robustness, WhiteBox
from guestlist.views.signals import Rotation

# How many distilled models, and how many trained without the record, each target of a world has.
OTHERS = 16
# How many perturbed copies each record has, and how far a regressor is from a record's true difficulty.
COPIES, ERROR = 20, 0.5
# A design draws (models, records) membership and says which models are left out together (None: each alone).
Design = Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray | None]]


def bernoulli(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Every cell a coin of its own."""
    return iid(records, models=models, rng=rng), None


def complementary_pairs(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Models in pairs, the members of one being the non-members of the other; a pair is left out together."""
    if models % 2:
        raise ValueError(f"Expected models={models} to be even, for pairs.")
    coins = iid(records, models=models // 2, rng=rng)
    return np.stack([coins, ~coins], axis=1).reshape(models, records), np.arange(models) // 2


def exactly_half(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Every record in exactly half of the models: a design that gives the answer away, to show that it does."""
    return rng.permuted(np.tile(np.arange(models) < models // 2, (records, 1)), axis=1).T, None


DESIGNS: dict[str, Design] = {"bernoulli": bernoulli, "pairs": complementary_pairs}


def gaussian_world(
    shift: float,
    *,
    records: int = 4000,
    models: int = 65,
    seed: int = 0,
    spread: float = 0.0,
    design: Design = bernoulli,
) -> Rotation:
    """Normal margins, ``shift`` larger for members: with ``spread=0`` LiRA's AUC tends to Phi(shift / sqrt 2).

    Args:
        spread: how much records differ in the standard deviation of their margins over models: it is
            log-normal with median 1, and this is the standard deviation of its logarithm.
        design: who trains on what; one of ``DESIGNS``, or a function like them.
    """
    rng = np.random.default_rng(seed)
    member, together = design(models, records, rng)
    difficulty, deviation = rng.normal(0.5, 1, records), np.exp(spread * rng.normal(size=records))
    margin = difficulty + shift * member + deviation * rng.normal(size=member.shape)
    labels = rng.integers(0, 2, records)

    def models(k: int, purpose: int) -> Models:
        """Others that never trained on the record asked about, as references that did not."""
        noise = np.random.default_rng([*np.atleast_1d(seed), purpose, k]).normal(size=(OTHERS, records))
        values = binary_signals(difficulty + deviation * noise)
        return Models(values, np.zeros((OTHERS, records), dtype=bool))

    def robustness(k: int) -> Robustness:
        """Copies are labelled rightly as often as the target's probability says."""
        draws = np.random.default_rng([*np.atleast_1d(seed), 3, k]).binomial(COPIES, expit(margin[k]))
        return Robustness(draws / COPIES, COPIES)

    def ceilings(k: int) -> Ceilings:
        """The 95 % quantile of a non-member's margin, were its difficulty known up to an error."""
        noise = np.random.default_rng([*np.atleast_1d(seed), 4, k]).normal(size=(3, records))
        above = 1.645 * deviation
        beyond = deviation * noise[0] - above - ERROR * noise[1]
        return Ceilings(margin[k], difficulty + above + ERROR * noise[2], np.sort(beyond))

    def inner(k: int) -> WhiteBox:
        known = np.random.default_rng([*np.atleast_1d(seed), 5, k]).random(records) < 0.5
        return WhiteBox(margin[k][:, None], ("margin",), known, known & member[k])

    def evidence(k: int) -> Evidence:
        order = np.r_[k, world.others(k)]
        answers = FullAnswers(binary_answers(margin[order], labels), member[order[1:]])
        return Evidence(
            distilled=models(k, 1),
            left_out=models(k, 2),
            perturbed=robustness(k),
            quantiles=ceilings(k),
            answers=answers,
            inner=inner(k),
        )

    world = Rotation(binary_signals(margin), member, labels, together, evidence)
    return world


def noise_world(
    *, records: int = 4000, models: int = 65, seed: int = 0, spread: float = 0.0, design=bernoulli
) -> Rotation:
    """A world in which nothing depends on membership: the AUC of every attack is one half on average."""
    return gaussian_world(0.0, records=records, models=models, seed=seed, spread=spread, design=design)


def binary_signals(margin: np.ndarray) -> dict[str, np.ndarray]:
    """Every signal of models with two classes whose true class has these log-odds."""
    right, wrong, loss = expit(margin), expit(-margin), np.logaddexp(0, -margin)
    return {
        "margin": margin,
        "loss": loss,
        "p_y": right,
        "correct": (margin > 0).astype(np.float64),
        "entropy": right * loss + wrong * np.logaddexp(0, margin),
        "mentr": 2 * wrong * loss,
    }


def binary_answers(margin: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(models, records, 2) logarithms of the probabilities that such models answer with."""
    right, wrong = -np.logaddexp(0, -margin), -np.logaddexp(0, margin)
    return np.where(np.eye(2, dtype=bool)[labels], right[..., None], wrong[..., None]).astype(np.float32)
