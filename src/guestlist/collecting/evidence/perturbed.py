"""The target's labels of perturbed records: a measure of each record's distance to the decision boundary.

Members are further from the decision boundary than other records, which labels alone reveal (Choquette-Choo et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.special import expit

from guestlist.calling import query
from guestlist.collecting.engines.engine import Files, Here
from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.made_up import SimulatedModels
from guestlist.collecting.evidence.perturbations import ColumnScales, column_scales, perturbed
from guestlist.collecting.evidence.plan import (
    begin_plan,
    check_counts,
    evidence_folder,
    evidence_path,
    missing_files,
    plan_of,
)
from guestlist.collecting.readout import SignalExtractor
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.lines import reason
from guestlist.randomness import stream
from guestlist.store import Store, file_numbers
from guestlist.targets.target import Predict, Target, answers
from guestlist.views.evidence import PerturbedView

# Numbers in a batch of copies. Results depend on it, since a batch draws its noise at once.
BATCH = 2**24
N_TRIED = 20  # perturbed copies that are tried before the long work


@dataclass(frozen=True)
class Perturbed:
    """Query the target about perturbed copies of every record.

    Args:
        copies: Number of copies of each record.
        noise: Standard deviation of the noise on a number, in standard deviations of its column.
        flips: Probability that a 0 or 1 becomes the other, or that a category or a word is replaced at random.
    """

    copies: int = 50
    noise: float = 0.25
    flips: float = 0.1

    name: ClassVar[str] = "perturbed"
    grows: ClassVar[tuple[str, ...]] = ("copies",)

    def __post_init__(self):
        check_counts(self, "copies")
        if not 0 <= self.noise < np.inf:
            raise ValueError(f"Expected noise={self.noise} to be 0 or more.")
        if not 0 <= self.flips <= 1:
            raise ValueError(f"Expected flips={self.flips} in [0, 1].")
        if self.noise == self.flips == 0:
            raise ValueError(f"Expected noise={self.noise} or flips={self.flips} to be larger: nothing would change.")

    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise unless the target is a classifier that reads a few perturbed records."""
        if not target.scale.has_classes:
            raise InputError(
                f"{target.name} predicts values, and 'perturbed' counts how often labels stay right: it needs classes. "
                "Leave it out."
            )
        rows = np.flatnonzero(split.evaluated[0])[:N_TRIED]
        rng = stream(0, "evidence", *Perturbed.name.encode())
        copies = perturbed(pool.x, rows, column_scales(pool.x), rng, noise=self.noise, flips=self.flips)
        PerturbedPredict(target.predict)(copies)

    def collect(self, context: CollectContext) -> None:
        plan = begin_plan(context.store, self)
        folder = evidence_folder(context.store, self.name)
        task = QueryCopies(
            predict=context.target.predict,
            plan=self,
            scales=column_scales(context.pool.x),
            evaluated=np.flatnonzero(context.store.split.evaluated[0]),
            seed=context.seed,
            extractor=context.extractor,
            folder=folder,
        )
        # In this process: a target may be a service or a model on a device, which cannot be pickled.
        replace(context, engine=Here()).run(task, missing_files(context.store, folder, "copy", plan.copies))

    @staticmethod
    def read(store: Store) -> PerturbedView | None:
        plan = plan_of(store, Perturbed.name)
        if plan is None:
            return None
        folder = evidence_folder(store, Perturbed.name)
        numbers = [k for k in file_numbers(folder, "copy") if k <= plan["copies"]]
        if not numbers:
            return None
        evaluated = store.split.evaluated[0]
        share = np.full(len(evaluated), np.nan)
        share[evaluated] = np.mean([store.read(evidence_path(folder, "copy", k))["right"] for k in numbers], axis=0)
        return PerturbedView(share, len(numbers))


@dataclass(frozen=True)
class QueryCopies:
    """Task that queries the target about one copy of every record."""

    predict: Predict
    plan: Perturbed
    scales: ColumnScales
    evaluated: np.ndarray
    seed: int
    extractor: SignalExtractor
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        rng = stream(self.seed, "evidence", *Perturbed.name.encode(), k)
        size = max(1, BATCH // max(1, int(np.prod(pool.x.shape[1:]))))
        batches = (self.evaluated[start : start + size] for start in range(0, len(self.evaluated), size))
        return {
            evidence_path(self.folder, "copy", k): {
                "right": np.concatenate([self._right(pool, rows, rng) for rows in batches])
            }
        }

    def _right(self, pool: Data, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return (rows,) true where the target labels a perturbed copy correctly."""
        x = perturbed(pool.x, rows, self.scales, rng, noise=self.plan.noise, flips=self.plan.flips)
        outputs = answers(PerturbedPredict(self.predict), x, self.extractor.columns, self.extractor.scale)
        return self.extractor.scale.correct(outputs, self.extractor.labels[rows]).astype(bool)


@dataclass(frozen=True)
class PerturbedPredict:
    """Prediction function that reports perturbed records which the target cannot read."""

    predict: Predict
    leaves_input: ClassVar[bool] = True  # the target gets a copy

    def __call__(self, x) -> np.ndarray:
        try:
            return query(self.predict, x)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"The model cannot read perturbed records ({reason(error)}). Numbers that stand for "
                "categories get noise as all numbers do: give them as a category type, or leave 'perturbed' out."
            ) from error


# Number of perturbed copies of each record of a simulation.
N_SIMULATED = 20


def _simulate(world: SimulatedModels, k: int) -> PerturbedView:
    """Simulate labels that are correct with the target's probability."""
    right = world.rng(3, k).binomial(N_SIMULATED, expit(world.margin[k]))
    return PerturbedView(right / N_SIMULATED, N_SIMULATED)


EVIDENCE_TYPE = EvidenceType(
    plan=Perturbed,
    view=PerturbedView,
    summary="the target's labels of perturbed records",
    cost="asks the target once per copy",
    missing="looks at the target's labels of perturbed records, which it was not asked for.",
    default_scales=("labels",),
    simulate=_simulate,
)
