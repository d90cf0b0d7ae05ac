"""Table VII: recall of influence functions and TracIn for the members that modified entropy flags.

Both estimate by how much a member lowered the loss of the non-members; above 0, it is at risk.
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
EVERY = 5  # epochs between two checkpoints of TracIn


@dataclass(frozen=True)
class Recall:
    """Recall and AUC for the modified-entropy attack fitted on the target; differences are from SHAPr's recall."""

    dataset: str
    shapr: Spread
    influence_functions: Spread
    tracin: Spread
    shapr_auc: Spread
    influence_functions_auc: Spread
    tracin_auc: Spread


def recalls(world: World, setting: Setting) -> Recall:
    """Compute recalls over the targets of a dataset."""
    values_by_risk = {
        name: [_predictive_value(world, k, value(world, setting, k)) for k in range(setting.repeats)]
        for name, value in VALUES.items()
    }
    recall = {name: [result.recall.value for result in worths] for name, worths in values_by_risk.items()}
    return Recall(
        world.pool.name,
        **{name: spread(recall[name], None if name == "shapr" else recall["shapr"]) for name in VALUES},
        **{f"{name}_auc": spread([result.auc.value for result in worths]) for name, worths in values_by_risk.items()},
    )


def _predictive_value(world: World, k: int, values: np.ndarray) -> gl.risks.PredictiveValue:
    scores = own_scores(world, k)[world.member[k]]
    return gl.risks.predictive_value(values, scores, (scores >= 0).astype(float), risk="", attack=OWN, threshold=0.0)


def _shapr(world: World, setting: Setting, k: int) -> np.ndarray:
    return shapr_in(PLACES[FIRST](world, k), world.member[k], world.pool.y)


def _influence_functions(world: World, setting: Setting, k: int) -> np.ndarray:
    # The last layer on its inputs gives the same values as the whole network, in a fraction of the time.
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
    """Return the members, and all non-members as test records."""
    member, y = world.member[k], world.pool.y
    return x[member], y[member], x[~member], y[~member]
