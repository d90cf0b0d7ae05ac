"""What the target says and what its references say, brought into the audit folder: one file per model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guestlist.collecting.readout import Files, Progress, Question, clear_work, run_all
from guestlist.data import Data
from guestlist.errors import FolderError
from guestlist.games import Design
from guestlist.randomness import stream
from guestlist.store import Store, model_path
from guestlist.store.files import remove_parts
from guestlist.targets.scales import Scale
from guestlist.targets.target import Target, Trainer, answers

# Two answers of one fitted model differ by rounding only (threads add up in any order); another model's
# differ by more than this somewhere.
SAME_ANSWER = 1e-6


def collect(
    store: Store,
    target: Target,
    pool: Data,
    *,
    references: int,
    jobs: int = -1,
    progress: Progress | None = None,
) -> None:
    """Bring the store to hold the target's signals and those of ``references`` reference models.

    Args:
        pool: all records, in the order of ``store.pool()``, in the form the target reads.
        jobs: processes; -1 for one per core.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    question, design = begin(store, target, pool, references), store.design()
    missing = sorted(set(range(1, 1 + references)) - set(store.models()))
    if not missing:
        return
    train = target.needs("train", f"{len(missing)} references are to be trained, but the target has no recipe{{why}}.")
    task = References(train, design, question, store.folder)
    run_all(task, missing, pool, store.folder, jobs=jobs, progress=progress)


def begin(store: Store, target: Target, pool: Data, references: int) -> Question:
    """Clear what a killed audit left, ask the target or check that it still says the same, and plan so many references.

    Returns how models are asked.
    """
    remove_parts(store.folder)
    clear_work(store.folder)
    labels = target.labels_of(pool.y)
    scale = _ask_target(store, target, pool, labels)
    store.write_split(store.design().rows(1 + max(references, *store.models())))
    return Question(labels, target.columns, scale)


def _ask_target(store: Store, target: Target, pool: Data, labels: np.ndarray) -> Scale:
    """Write what the target says, or check that it still says it; returns its scale with what these answers teach."""
    found = answers(target.predict, pool.x, target.columns, target.scale)
    kept = store.answers()
    if kept is None:
        _check_same_signals(store, target, found, labels)
        store.write_answers(found)
    elif kept.shape != found.shape or np.abs(kept - found).max() > SAME_ANSWER * max(1.0, np.abs(kept).max()):
        raise FolderError(_ANOTHER.format(store.folder))
    else:
        found = kept
    scale = target.scale.resolved(found, labels)
    if 0 not in store.models():
        store.write_model(0, scale.signals(found, labels))
    return scale


_ANOTHER = "{} holds an audit of another fitted model: its answers differ. Choose another folder."


def _check_same_signals(store: Store, target: Target, found: np.ndarray, labels: np.ndarray) -> None:
    """Where the answers are gone but the target's signals are there, they must be this target's."""
    if 0 not in store.models():
        return
    now, then = target.scale.resolved(found, labels).signals(found, labels), store.model(0)
    if any(np.abs(now[name] - then[name]).max() > SAME_ANSWER * max(1.0, np.abs(then[name]).max()) for name in then):
        raise FolderError(_ANOTHER.format(store.folder))


@dataclass(frozen=True)
class References:
    """How one reference comes to be: everything about it but the records and its number."""

    train: Trainer
    design: Design
    question: Question
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        return {model_path(self.folder, k): self.question.signals(self.answers(k, pool))}

    def answers(self, k: int, pool: Data) -> np.ndarray:
        """Train reference ``k`` and return what it answers about every record of the pool."""
        rng, rows = stream(self.design.seed, "training", k), self.design.row(k)
        name = f"Reference {k} ({rows.sum()} records{self._rarest(rows)})"
        return self.question.answers(name, lambda: self.train(pool.take(rows), rng), pool.x, rng)

    def _rarest(self, rows: np.ndarray) -> str:
        """How many records of its rarest class a reference has, for messages."""
        if not self.question.scale.has_classes:
            return ""
        return f", {np.bincount(self.question.labels[rows], minlength=self.question.columns).min()} of its rarest class"
