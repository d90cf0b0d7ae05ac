"""Reference models: trained as the target was, on the records of the split, one file each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guestlist.collecting.engines.engine import Files
from guestlist.collecting.readout import SignalExtractor
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.randomness import stream
from guestlist.store import model_path
from guestlist.targets.target import Trainer


def train_references(context: CollectContext) -> None:
    """Train the planned references that the folder does not hold yet."""
    collected = context.store.check_files({k: model_path(context.store.folder, k) for k in context.store.models()})
    missing = [k for k in range(1, 1 + context.references) if k not in collected]
    if missing:
        error = f"{len(missing)} references are to be trained, but the target has no recipe{{why}}."
        context.run(train_reference(context, error), missing)


def train_reference(context: CollectContext, error: str = "") -> TrainReference:
    """Return the task that trains any reference of a context.

    Args:
        error: Message if the target cannot be retrained.
    """
    rows = Rows.pack(context.store.split.member)
    return TrainReference(
        train=context.target.needs("train", error),
        rows=rows,
        seed=context.seed,
        extractor=context.extractor,
        folder=context.store.folder,
    )


@dataclass(frozen=True)
class Rows:
    """(models, records) masks in an eighth of the memory, since every worker gets them."""

    packed: np.ndarray
    records: int

    @staticmethod
    def pack(member: np.ndarray) -> Rows:
        return Rows(np.packbits(member, axis=1), member.shape[1])

    def __getitem__(self, k: int) -> np.ndarray:
        return np.unpackbits(self.packed[k], count=self.records).astype(bool)


@dataclass(frozen=True)
class TrainReference:
    """Task that trains one reference and writes its signals."""

    train: Trainer
    rows: Rows
    seed: int
    extractor: SignalExtractor
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        return {model_path(self.folder, k): self.extractor.signals(self.answers(k, pool))}

    def answers(self, k: int, pool: Data) -> np.ndarray:
        """Train reference ``k`` and return its outputs for every record of the pool."""
        rng = stream(self.seed, "training", k)
        rows = self.rows[k]
        return self.extractor.train_and_query(
            f"Reference {k}",
            lambda: self.train(pool.copied(rows), rng),
            pool.x,
            rng,
            details=lambda: self._details(rows),
        )

    def _details(self, rows: np.ndarray) -> str:
        """Describe the size of a training set, and of its rarest class."""
        if not self.extractor.scale.has_classes:
            return f" ({rows.sum()} records)"
        rarest = np.bincount(self.extractor.labels[rows], minlength=self.extractor.columns).min()
        return f" ({rows.sum()} records, {rarest} of its rarest class)"
