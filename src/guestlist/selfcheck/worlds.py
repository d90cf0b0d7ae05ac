"""Worlds whose answer is known: nothing is trained, so the truth about every attack can be written down.

A world is a :class:`Rotation`: any model can be the target, ``world.facing(k)`` is what the adversary sees of
it and ``world.member[k]`` is the truth. Margins are normal, and all other signals are those of a model with that
margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.collecting.evidence.made_up import World, answers_of_margin, signals_of_margin
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence, shared_with_mocks
from guestlist.games.bernoulli import iid
from guestlist.views.evidence import Evidence
from guestlist.views.lazily import Lazily
from guestlist.views.signals import Rotation

__all__ = [
    "DESIGNS",
    "Memorising",
    "answers_of_margin",
    "bernoulli",
    "complementary_pairs",
    "exactly_half",
    "gaussian",
    "gaussian_world",
    "made_of",
    "memorising_world",
    "noise_world",
    "signals_of_margin",
]

# A design draws (models, records) membership and says which models are left out together (None: each alone).
Design = Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray | None]]
Seed = int | tuple[int, ...]


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


def gaussian(
    shift: float,
    *,
    records: int = 4000,
    models: int = 65,
    seed: Seed = 0,
    spread: float = 0.0,
    design: Design = bernoulli,
    classes: int = 2,
    tilt: float = 0.0,
    says: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> tuple[World, np.ndarray | None]:
    """Normal margins, ``shift`` larger for members; and which models are left out together.

    Args:
        spread: how much records differ in the standard deviation of their margins over models: it is
            log-normal with median 1, and this is the standard deviation of its logarithm.
        design: who trains on what; one of ``DESIGNS``, or a function like them.
        tilt: how much likelier a member of the first model is of a later class than a non-member; 1: as far as can be.
            Over both sides together classes stay equally frequent.
        says: what models say of a margin.
    """
    rng = np.random.default_rng(seed)
    member, together = design(models, records, rng)
    difficulty, deviation = rng.normal(0.5, 1, records), np.exp(spread * rng.normal(size=records))
    margin = difficulty + shift * member + deviation * rng.normal(size=member.shape)
    labels = rng.integers(0, classes, records) if not tilt else _tilted(member[0], classes, tilt, rng)
    others = _others(models, together)
    return World(difficulty, deviation, says(margin), member, labels, others, _seeds(seed), classes, says), together


def gaussian_world(shift: float, **options) -> Rotation:
    """The world of :func:`gaussian` as every model in turn as the target.

    With ``spread=0`` LiRA's AUC tends to Phi(shift / sqrt 2).
    """
    return made_of(*gaussian(shift, **options))


def noise_world(**options) -> Rotation:
    """A world in which nothing depends on membership: the AUC of every attack is one half on average."""
    return gaussian_world(0.0, **options)


@dataclass(frozen=True)
class Memorising:
    """A world in which models remember some records by heart, and are a little surer and much steadier about others.

    Args:
        world: every model in turn as the target.
        memorised: (records,) those that are remembered.
    """

    world: Rotation
    memorised: np.ndarray


def memorising_world(
    *, outliers: bool, records: int = 2000, models: int = 17, share: float = 0.1, seed: Seed = 0
) -> Memorising:
    """One record in ten is memorised; of the others, members' margins have a third of the spread of non-members'.

    A right attack finds both: memorised members above all others, and among the ordinary records more members than not.

    Args:
        outliers: whether memorised records are those that models get wrong where they did not train on them; otherwise
            they are like the others.
    """
    rng = np.random.default_rng(seed)
    member, together = bernoulli(models, records, rng)
    memorised = rng.random(records) < share
    difficulty = np.where(memorised & outliers, -3.0, rng.normal(2, 0.7, records))
    gain, steady = np.where(memorised, 9.0, 0.3), np.where(memorised, 1.0, 0.3)
    margin = difficulty + gain * member + np.where(member, steady, 1.0) * rng.normal(size=member.shape)
    labels = rng.integers(0, 2, records)
    others = _others(models, together)
    world = World(difficulty, np.ones(records), margin, member, labels, others, _seeds(seed))
    return Memorising(made_of(world, together), memorised)


def made_of(world: World, together: np.ndarray | None = None, unasked: np.ndarray | None = None) -> Rotation:
    """A made-up world as every model in turn as the target, with all the evidence that can be made up.

    Args:
        together: (models,) those that are left out together.
        unasked: (records,) true for records that nobody asks about.
    """
    kinds = {name: kind.made_up for name, kind in EVIDENCE.items() if kind.made_up}

    def evidence(k: int) -> Evidence:
        # Made when it is looked at: most attacks look at none of it.
        return Evidence(Lazily(kinds, lambda name: kinds[name](world, k)), missing_evidence(), shared_with_mocks())

    def answers(k: int) -> np.ndarray:
        return answers_of_margin(world.margin[k], world.labels, world.classes)

    values = signals_of_margin(world.margin, world.classes)
    return Rotation(values, world.member, world.labels, together, evidence, unasked, answers)


def _others(models: int, together: np.ndarray | None) -> Callable[[int], np.ndarray]:
    blocks = np.arange(models) if together is None else together
    return lambda k: np.flatnonzero(blocks != blocks[k])


def _tilted(member: np.ndarray, classes: int, tilt: float, rng: np.random.Generator) -> np.ndarray:
    slope = tilt * np.linspace(-1, 1, classes)
    ends = np.cumsum(np.stack([1 - slope, 1 + slope]) / classes, axis=1)[member.astype(int)]
    return np.minimum((rng.random((len(member), 1)) > ends).sum(axis=1), classes - 1)


def _seeds(seed: Seed) -> tuple[int, ...]:
    return tuple(int(part) for part in np.atleast_1d(seed))
