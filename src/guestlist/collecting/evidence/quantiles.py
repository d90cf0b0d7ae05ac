"""How sure the target is of records that it did not train on, learnt from those that are known to be such.

One regressor learns what the target's hinge (the logit of the true class minus the largest other one) rarely exceeds
on non-members like this one (Bertran et al. 2023). It takes the place of references: nothing is trained as the target
was. Where the target tells probabilities, their logarithms take the place of logits, with the same stand-in for zeros
as in all other signals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist.collecting.engines.engine import Files
from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.made_up import Simulation
from guestlist.collecting.evidence.plan import begin_plan, evidence_folder, plan_of
from guestlist.collecting.evidence.regression import features, quantile_regression
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.randomness import stream
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import Degenerate, QuantilesView

# Fewer records than this beyond a quantile do not say where it is.
BEYOND = 5


@dataclass(frozen=True)
class Quantiles:
    """Regress how sure the target is on known non-members.

    The population serves as known non-members if it has enough records for the level: twice as many as bring five
    beyond it, 200 for 0.95. Otherwise some of the non-members do, and have no score.

    Args:
        known: share of the non-members that are known, where the population does not serve.
        level: of the quantile.
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
    def fewest(self) -> int:
        """How many known non-members it takes: half of them are fitted, half check the fit."""
        return 2 * math.ceil(round(BEYOND / min(self.level, 1 - self.level), 6))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        if "margin" not in target.scale.signal_names:
            raise InputError(f"{target.name} tells labels alone, and 'quantiles' learn how sure it is. Leave them out.")
        population, nonmembers = int(split.population.sum()), int(split.nonmembers.sum())
        if max(population, int(self.known * nonmembers)) < self.fewest:
            raise InputError(
                f"A quantile of level {self.level:g} is learnt from {self.fewest} known non-members or more. The "
                f"population has {population} records, and a share of {self.known:g} of the non-members are "
                f"{int(self.known * nonmembers)}. Give more of them, or a level nearer to 0.5."
            )

    def collect(self, context: CollectContext) -> None:
        begin_plan(context.store, self)
        path = _path(context.store)
        if path.exists():
            context.store.check(path)
            return
        known = self.known_nonmembers(context.store.split, context.seed)
        said = context.extractor.scale.hinge(context.store.required_answers(), context.extractor.labels)
        context.run(Regressing(self.level, known, said, context.extractor.labels, context.seed, path), [1])

    def known_nonmembers(self, split: Split, seed: int) -> np.ndarray:
        """Positions of the records that the regressor may learn from, in random order."""
        rng = stream(seed, "evidence", *self.name.encode(), 0)
        population = np.flatnonzero(split.population)
        if len(population) >= self.fewest:
            return rng.permutation(population)
        nonmembers = np.flatnonzero(split.nonmembers)
        return rng.permutation(nonmembers)[: int(self.known * len(nonmembers))]

    @staticmethod
    def read(store: Store) -> QuantilesView | None:
        path = _path(store)
        if plan_of(store, Quantiles.name) is None or not path.exists():
            return None
        kept = store.read(path)
        degenerate = Degenerate(*kept["degenerate"]) if kept["degenerate"].size else None
        return QuantilesView(kept["hinge"], kept["ceiling"], kept["beyond"], degenerate)


@dataclass(frozen=True)
class Regressing:
    """How the regressor comes to be, and what is kept of it."""

    level: float
    known: np.ndarray
    hinge: np.ndarray
    labels: np.ndarray
    seed: int
    path: Path

    def files(self, k: int, pool: Data) -> Files:
        fit, check = np.array_split(self.known, 2)
        rng = stream(self.seed, "evidence", *Quantiles.name.encode(), k)
        found = quantile_regression(features(pool.x, self.labels), self.hinge, fit, check, self.level, rng)
        ceiling = found.quantile.copy()
        ceiling[self.known] = np.nan
        beyond = np.sort(self.hinge[check] - found.quantile[check])
        degenerate = np.array(found.degenerate or (), dtype=np.float64)
        kept = {"hinge": self.hinge, "ceiling": ceiling, "beyond": beyond, "degenerate": degenerate}
        return {self.path: kept}


def _path(store: Store) -> Path:
    return evidence_folder(store, Quantiles.name) / "regression.npz"


# How far the regressor of a made-up world is from a record's true difficulty, in standard deviations of a margin.
ERROR = 0.5


def _simulate(world: Simulation, k: int) -> QuantilesView:
    """The 95 % quantile of a non-member's margin, were its difficulty known up to an error."""
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
