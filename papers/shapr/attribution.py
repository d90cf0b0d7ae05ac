"""Table VII: do influence functions and TracIn name the members that modified entropy calls?

Both say by how much a member lowered the loss of the non-members; above 0, it is at risk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from papers.shapr.measures import FIRST, LAST, OWN, PLACES, own_scores, shapr_in
from papers.shapr.models import Setting, World, trained_by
from papers.shapr.spread import Spread, spread

DATASETS = ("location30", "usps")
REPEATS = 3
EVERY = 5  # epochs from one of TracIn's checkpoints to the next


@dataclass(frozen=True)
class Recall:
    """Recall and AUC against the modified-entropy attack that learnt from the target; differences are from SHAPr's recall."""

    dataset: str
    shapr: Spread
    influence_functions: Spread
    tracin: Spread
    shapr_auc: Spread
    influence_functions_auc: Spread
    tracin_auc: Spread


def recalls(world: World, setting: Setting) -> Recall:
    """Over the targets of a dataset."""
    found = {
        name: [_worth(world, k, value(world, setting, k)) for k in range(setting.repeats)]
        for name, value in VALUES.items()
    }
    recall = {name: [one.recall.value for one in worths] for name, worths in found.items()}
    return Recall(
        world.pool.name,
        **{name: spread(recall[name], None if name == "shapr" else recall["shapr"]) for name in VALUES},
        **{f"{name}_auc": spread([one.auc.value for one in worths]) for name, worths in found.items()},
    )


def _worth(world: World, k: int, values: np.ndarray) -> gl.risks.PredictiveValue:
    scores = own_scores(world, k)[world.member[k]]
    return gl.risks.predictive_value(values, scores, (scores >= 0).astype(float), risk="", attack=OWN, threshold=0.0)


def _shapr(world: World, setting: Setting, k: int) -> np.ndarray:
    return shapr_in(PLACES[FIRST](world, k), world.member[k], world.pool.y)


def _influence_functions(world: World, setting: Setting, k: int) -> np.ndarray:
    # A last layer on what it is given: the same as with the whole network before it, for a fraction of the time.
    return gl.risks.influence_functions(world.targets[k][-1:], *_sides(world, k, PLACES[LAST](world, k)))


def _tracin(world: World, setting: Setting, k: int) -> np.ndarray:
    checkpoints = setting.fit.checkpoints(*trained_by(world.pool, world.member[k], setting, k), every=EVERY)
    last = str(len(world.targets[k]) - 1)
    sides = _sides(world, k, world.pool.x)
    return gl.risks.tracin(checkpoints, *sides, learning_rate=setting.fit.learning_rate, layers=[last])


VALUES: dict[str, Callable[[World, Setting, int], np.ndarray]] = {
    "shapr": _shapr,
    "influence_functions": _influence_functions,
    "tracin": _tracin,
}


def _sides(world: World, k: int, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The members, and all non-members as test records."""
    member, y = world.member[k], world.pool.y
    return x[member], y[member], x[~member], y[~member]
