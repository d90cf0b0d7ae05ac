"""One target each, in the situations in which attacks have been seen to go wrong.

Members stand first in row order throughout: an attack that breaks ties by position, or looks at it, then knows the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guestlist.collecting.evidence.made_up import SimulatedModels
from guestlist.selfcheck.worlds import SURE_MARGIN, Seed, as_rotation, gaussian, signals_of_rounded
from guestlist.views.signals import Signals

CLASSES, TILT, POPULATION = 5, 0.8, 0.3
SCALE = 25.0  # of the margins of very sure models
UNEQUAL, RARE = (0.3, 0.7), (0.1, 0.2, 0.7)  # frequencies of classes
SURE = 1.5  # margins beyond this are not said: about a quarter of those of non-members, and half of those of members


@dataclass(frozen=True)
class Scene:
    """The adversary's view of one target, and the ground truth.

    Args:
        member: (records,).
        evaluated: (records,) false for the population.
        difficulty: (records,) mean margin of models that did not train on the record.
    """

    view: Signals
    member: np.ndarray
    evaluated: np.ndarray
    difficulty: np.ndarray


@dataclass(frozen=True)
class Situation:
    """Difference of a simulation from the plain one.

    Args:
        words: the rest of a sentence, "with …".
        options: of :func:`gaussian`.
        population: share of records that are not evaluated.
    """

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    population: float = 0.0


def saturated(margin: np.ndarray) -> np.ndarray:
    return np.minimum(margin, SURE)


def sure(margin: np.ndarray) -> np.ndarray:
    """Return margins of models so sure that about a third of their probabilities are exactly 0 or 1."""
    return np.clip(SCALE * margin, -SURE_MARGIN, SURE_MARGIN)


def rounded_and_saturated(margin: np.ndarray) -> np.ndarray:
    return np.minimum(np.round(margin), np.floor(SURE))


SITUATIONS: dict[str, Situation] = {
    "plain": Situation("continuous answers"),
    "ties": Situation("answers that tie", {"says": np.round}),
    "saturated": Situation("saturated answers", {"says": saturated}),
    "classes": Situation(f"{CLASSES} classes", {"classes": CLASSES}),
    "population": Situation("a population", population=POPULATION),
    "labels": Situation("labels that shift with membership", {"classes": 3, "tilt": TILT}),
    "frequencies": Situation(
        "class frequencies that shift with membership", {"classes": 2, "shares": UNEQUAL, "tilt": 0.95}
    ),
    "rare": Situation("unequal classes", {"classes": len(RARE), "shares": RARE}),
    "exact": Situation("probabilities of exactly 0 and 1", {"says": sure, "signals_of": signals_of_rounded}),
    "awkward": Situation(
        f"ties, saturated answers, {CLASSES} classes and a population",
        {"says": rounded_and_saturated, "classes": CLASSES},
        POPULATION,
    ),
}


def scene(name: str, shift: float, *, records: int, models: int, seed: Seed) -> Scene:
    """A target in the situation of that name in ``SITUATIONS``."""
    situation = SITUATIONS[name]
    world, together = gaussian(shift, records=records, models=models, seed=seed, **situation.options)
    return scene_of(world, together, situation.population)


def scene_of(world: SimulatedModels, together: np.ndarray | None = None, population: float = 0.0) -> Scene:
    """The first model of a world as the target, its members first."""
    not_evaluated = world.rng(99, 0).random(len(world.labels)) < population
    view = as_rotation(world, together, not_evaluated if population else None).facing(0)
    order = np.argsort(~world.member[0], kind="stable")
    return Scene(view.take(order), world.member[0][order], ~not_evaluated[order], world.difficulty[order])
