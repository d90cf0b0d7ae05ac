"""What the target answers about records that were changed a little: how far its labels can be trusted around each.

Members lie further from where a model changes its mind than other records do, and that shows in labels alone: no
confidence is looked at (Choquette-Choo et al. 2021).
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
from guestlist.collecting.evidence.made_up import Simulation
from guestlist.collecting.evidence.perturbations import ColumnScales, column_scales, perturbed
from guestlist.collecting.evidence.plan import begin_plan, check_counts, evidence_folder, plan_of
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

# How many numbers a batch of copies holds. Part of what a seed means, since a batch draws its noise at once.
BATCH = 2**24
TRIED = 20  # records of which a perturbed copy is tried before the long work


@dataclass(frozen=True)
class Perturbed:
    """Ask the target about perturbed copies of every record.

    Args:
        copies: of each record.
        noise: standard deviation of the noise on a number, in standard deviations of its column.
        flips: chance that a 0 or 1 becomes the other, or that a category, or a word of a text, is drawn anew.
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
        """Every classifier can be asked about more records, if it can read them: a few are tried."""
        if not target.scale.has_classes:
            raise InputError(
                f"{target.name} predicts values, and 'perturbed' counts how often labels stay right: it needs classes. "
                "Leave it out."
            )
        rows, rng = np.flatnonzero(split.evaluated[0])[:TRIED], stream(0, "evidence", *Perturbed.name.encode())
        copies = perturbed(pool.x, rows, column_scales(pool.x), rng, noise=self.noise, flips=self.flips)
        AskPerturbed(target.predict)(copies)

    def collect(self, context: CollectContext) -> None:
        plan, folder = begin_plan(context.store, self), evidence_folder(context.store, self.name)
        there = context.store.check_files({k: _path(folder, k) for k in file_numbers(folder, "copy")})
        asked = np.flatnonzero(context.store.split.evaluated[0])
        task = Asking(
            context.target.predict, self, column_scales(context.pool.x), asked, context.seed, context.extractor, folder
        )
        # In this process: a target may be something that cannot travel, such as a service or a model on a device.
        replace(context, engine=Here()).run(task, [k for k in range(1, 1 + plan.copies) if k not in there])

    @staticmethod
    def read(store: Store) -> PerturbedView | None:
        plan, folder = plan_of(store, Perturbed.name), evidence_folder(store, Perturbed.name)
        if plan is None:
            return None
        there = [k for k in file_numbers(folder, "copy") if k <= plan["copies"]]
        if not there:
            return None
        asked = store.split.evaluated[0]
        share = np.full(len(asked), np.nan)
        share[asked] = np.mean([store.read(_path(folder, k))["right"] for k in there], axis=0)
        return PerturbedView(share, len(there))


@dataclass(frozen=True)
class Asking:
    """How the target is asked about one copy of every record."""

    predict: Predict
    plan: Perturbed
    spreads: ColumnScales
    evaluated: np.ndarray
    seed: int
    extractor: SignalExtractor
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        rng = stream(self.seed, "evidence", *Perturbed.name.encode(), k)
        size = max(1, BATCH // max(1, int(np.prod(pool.x.shape[1:]))))
        batches = (self.evaluated[start : start + size] for start in range(0, len(self.evaluated), size))
        return {_path(self.folder, k): {"right": np.concatenate([self._right(pool, rows, rng) for rows in batches])}}

    def _right(self, pool: Data, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(rows,) whether the target labels a perturbed copy rightly."""
        x = perturbed(pool.x, rows, self.spreads, rng, noise=self.plan.noise, flips=self.plan.flips)
        found = answers(AskPerturbed(self.predict), x, self.extractor.columns, self.extractor.scale)
        return self.extractor.scale.correct(found, self.extractor.labels[rows]).astype(bool)


@dataclass(frozen=True)
class AskPerturbed:
    """Query the target about perturbed records, and report it if the target cannot read them."""

    predict: Predict
    leaves_input: ClassVar[bool] = True  # the target gets a copy below

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


def _path(folder: Path, k: int) -> Path:
    return folder / f"copy-{k:04d}.npz"


# How many perturbed copies each record of a made-up world has.
MADE_UP = 20


def _simulate(world: Simulation, k: int) -> PerturbedView:
    """Copies are labelled rightly as often as the target's probability says."""
    right = world.rng(3, k).binomial(MADE_UP, expit(world.margin[k]))
    return PerturbedView(right / MADE_UP, MADE_UP)


EVIDENCE_TYPE = EvidenceType(
    plan=Perturbed,
    view=PerturbedView,
    summary="the target's labels of perturbed records",
    cost="asks the target once per copy",
    missing="looks at the target's labels of perturbed records, which it was not asked for.",
    default_scales=("labels",),
    simulate=_simulate,
)
