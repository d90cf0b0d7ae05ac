"""Worlds whose answer is known: nothing is trained, so the truth about every attack can be written down.

A world is a :class:`Rotation`: any model can be the target, ``world.facing(k)`` is what the adversary sees of
it and ``world.member[k]`` is the truth. Margins are normal, and all other signals are those of a model with
two classes and that margin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from guestlist.collecting.evidence.made_up import World, binary_answers, binary_signals
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence, shared_with_mocks
from guestlist.games.bernoulli import iid
from guestlist.views.evidence import Evidence
from guestlist.views.lazily import Lazily
from guestlist.views.signals import Rotation

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

    seeds = tuple(int(part) for part in np.atleast_1d(seed))

    def others(k: int) -> np.ndarray:
        return (
            np.arange(models)[np.arange(models) != k] if together is None else np.flatnonzero(together != together[k])
        )

    world = World(difficulty, deviation, margin, member, labels, others, seeds)
    return made_of(world, together)


def made_of(world: World, together: np.ndarray | None = None) -> Rotation:
    """A made-up world as every model in turn as the target, with all the evidence that can be made up."""
    kinds = {name: kind.made_up for name, kind in EVIDENCE.items() if kind.made_up}

    def evidence(k: int) -> Evidence:
        # Made when it is looked at: most attacks look at none of it.
        return Evidence(Lazily(kinds, lambda name: kinds[name](world, k)), missing_evidence(), shared_with_mocks())

    def answers(k: int) -> np.ndarray:
        return binary_answers(world.margin[k], world.labels)

    values = binary_signals(world.margin)
    return Rotation(values, world.member, world.labels, together, evidence, answers=answers)


def noise_world(
    *, records: int = 4000, models: int = 65, seed: int = 0, spread: float = 0.0, design=bernoulli
) -> Rotation:
    """A world in which nothing depends on membership: the AUC of every attack is one half on average."""
    return gaussian_world(0.0, records=records, models=models, seed=seed, spread=spread, design=design)
