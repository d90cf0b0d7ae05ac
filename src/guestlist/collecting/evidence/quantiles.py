"""Quantile regression of the target's confidence on known non-members, which replaces references.

One regressor predicts a high quantile of the target's hinge (the logit of the true class minus the largest other one) on
non-members with given features (Bertran et al. 2023). For probabilities, logarithms replace logits, with the same replacement
of zeros as in all other signals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist.collecting.engines.engine import Files
from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.made_up import SimulatedModels
from guestlist.collecting.evidence.plan import begin_plan, evidence_folder, stored_arrays
from guestlist.collecting.evidence.regression import quantile_regression, regression_features
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.randomness import stream
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import Degenerate, QuantilesView

# Number of records beyond a quantile that an estimate of it needs.
BEYOND = 5

_FILE = "regression.npz"


@dataclass(frozen=True)
class Quantiles:
    """Fit a quantile regression of the target's hinge on known non-members.

    The population is the set of known non-members if it has enough records for the level: twice the number with five expected
    beyond it, 200 for 0.95. Otherwise some of the non-members are known, and have no score.

    Args:
        known: Share of the non-members that are known, if the population is too small.
        level: Level of the quantile.
    """

    known: float = 0.5
    level: float = 0.95

    name: ClassVar[str] = "quantiles"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        for option in ("known", "level"):
            if not 0 < getattr(self, option) < 1:
                raise ValueError(f"Expected {option}={getattr(self, option)} in (0, 1).")

    @property
    def min_known(self) -> int:
        """Smallest number of known non-members: one half is for the fit, the other to check it."""
        return 2 * math.ceil(round(BEYOND / min(self.level, 1 - self.level), 6))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        if "margin" not in target.scale.signal_names:
            raise InputError(f"{target.name} tells labels alone, and 'quantiles' learn how sure it is. Leave them out.")
        population = int(split.population.sum())
        nonmembers = int(split.nonmembers.sum())
        if max(population, int(self.known * nonmembers)) < self.min_known:
            raise InputError(
                f"A quantile of level {self.level:g} is learnt from {self.min_known} known non-members or more. The "
                f"population has {population} records, and a share of {self.known:g} of the non-members are "
                f"{int(self.known * nonmembers)}. Give more of them, or a level nearer to 0.5."
            )

    def collect(self, context: CollectContext) -> None:
        begin_plan(context.store, self)
        path = evidence_folder(context.store, self.name) / _FILE
        if path.exists():
            context.store.check(path)
            return
        known = self.known_nonmembers(context.store.split, context.seed)
        task = FitQuantiles(
            level=self.level,
            known=known,
            hinge=context.extractor.scale.hinge(context.store.required_answers(), context.extractor.labels),
            labels=context.extractor.labels,
            seed=context.seed,
            path=path,
        )
        context.run(task, [1])

    def known_nonmembers(self, split: Split, seed: int) -> np.ndarray:
        """Return the positions of the known non-members, in random order."""
        rng = stream(seed, "evidence", *self.name.encode(), 0)
        population = np.flatnonzero(split.population)
        if len(population) >= self.min_known:
            return rng.permutation(population)
        nonmembers = np.flatnonzero(split.nonmembers)
        return rng.permutation(nonmembers)[: int(self.known * len(nonmembers))]

    @staticmethod
    def read(store: Store) -> QuantilesView | None:
        arrays = stored_arrays(store, Quantiles.name, _FILE)
        if arrays is None:
            return None
        degenerate = Degenerate(*arrays["degenerate"]) if arrays["degenerate"].size else None
        return QuantilesView(arrays["hinge"], arrays["ceiling"], arrays["beyond"], degenerate)


@dataclass(frozen=True)
class FitQuantiles:
    """Task that fits the regressor and writes its predictions."""

    level: float
    known: np.ndarray
    hinge: np.ndarray
    labels: np.ndarray
    seed: int
    path: Path

    def files(self, k: int, pool: Data) -> Files:
        fit, check = np.array_split(self.known, 2)
        rng = stream(self.seed, "evidence", *Quantiles.name.encode(), k)
        fitted = quantile_regression(
            regression_features(pool.x, self.labels), self.hinge, fit=fit, check=check, level=self.level, rng=rng
        )
        ceiling = fitted.quantile.copy()
        ceiling[self.known] = np.nan
        beyond = np.sort(self.hinge[check] - fitted.quantile[check])
        degenerate = np.array(fitted.degenerate or (), dtype=np.float64)
        return {self.path: {"hinge": self.hinge, "ceiling": ceiling, "beyond": beyond, "degenerate": degenerate}}


# Standard deviation of the simulated regressor's error, in standard deviations of a margin.
ERROR = 0.5


def _simulate(world: SimulatedModels, k: int) -> QuantilesView:
    """Simulate the 95% quantile of a non-member's margin with an error in its difficulty."""
    noise = world.rng(4, k).normal(size=(3, len(world.labels)))
    above = 1.645 * world.deviation
    beyond = world.deviation * noise[0] - above - ERROR * noise[1]
    return QuantilesView(world.margin[k], world.difficulty + above + ERROR * noise[2], np.sort(beyond))


EVIDENCE_TYPE = EvidenceType(
    plan=Quantiles,
    view=QuantilesView,
    summary="quantiles of the target's hinge on non-members",
    cost="trains one regressor on known non-members",
    missing="compares the target with what it says about known non-members, which was not learnt.",
    simulate=_simulate,
    perfect_fit=lambda view: replace(view, hinge=np.full(view.hinge.shape, np.inf)),
)
