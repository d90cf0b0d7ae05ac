"""References: models trained as the target was, on the records that the split gives them, one file each."""

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
    """Bring the folder to hold the signals of all references that the context plans."""
    there = context.store.check_files({k: model_path(context.store.folder, k) for k in context.store.models()})
    missing = [k for k in range(1, 1 + context.references) if k not in there]
    if missing:
        told = f"{len(missing)} references are to be trained, but the target has no recipe{{why}}."
        context.run(train_reference(context, told), missing)


def train_reference(context: CollectContext, told: str = "") -> TrainReference:
    """How any reference of a context comes to be."""
    rows = Rows.of(context.store.split.member)
    return TrainReference(
        context.target.needs("train", told), rows, context.seed, context.extractor, context.store.folder
    )


@dataclass(frozen=True)
class Rows:
    """(models, records) masks in an eighth of the memory, since they travel to every worker."""

    packed: np.ndarray
    records: int

    @staticmethod
    def of(member: np.ndarray) -> Rows:
        return Rows(np.packbits(member, axis=1), member.shape[1])

    def __getitem__(self, k: int) -> np.ndarray:
        return np.unpackbits(self.packed[k], count=self.records).astype(bool)


@dataclass(frozen=True)
class TrainReference:
    """How one reference comes to be: everything about it but the records and its number."""

    train: Trainer
    rows: Rows
    seed: int
    extractor: SignalExtractor
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        return {model_path(self.folder, k): self.extractor.signals(self.answers(k, pool))}

    def answers(self, k: int, pool: Data) -> np.ndarray:
        """Train reference ``k`` and return what it answers about every record of the pool."""
        rng, rows = stream(self.seed, "training", k), self.rows[k]
        train, details = lambda: self.train(pool.copied(rows), rng), lambda: self._details(rows)
        return self.extractor.train_and_query(f"Reference {k}", train, pool.x, rng, details)

    def _details(self, rows: np.ndarray) -> str:
        """How many records a reference has, and how many of its rarest class."""
        if not self.extractor.scale.has_classes:
            return f" ({rows.sum()} records)"
        rarest = np.bincount(self.extractor.labels[rows], minlength=self.extractor.columns).min()
        return f" ({rows.sum()} records, {rarest} of its rarest class)"
