"""Where everything about one target is collected, once the target has been asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.collecting.engines.engine import Engine, Progress, Task, clear_work, run_all
from guestlist.collecting.readout import SignalExtractor
from guestlist.data import Data
from guestlist.errors import FolderError
from guestlist.games import draw
from guestlist.store import Store, model_path
from guestlist.store.files import remove_partial_files
from guestlist.targets.scales import Scale
from guestlist.targets.signals import blocks_of
from guestlist.targets.target import Target

# Two answers of one fitted model differ by rounding only (threads add up in any order); another model's
# differ by more than this somewhere.
SAME_ANSWER = 1e-6


@dataclass(frozen=True)
class CollectContext:
    """The folder, the target and the records, how models are asked, and where the work runs.

    Args:
        pool: all records, in the order of ``store.pool``, in the form the target reads.
        references: how many the audit compares the target with; they may not be trained yet.
    """

    store: Store
    target: Target
    pool: Data
    extractor: SignalExtractor
    engine: Engine
    progress: Progress | None = None
    references: int = 0

    @property
    def seed(self) -> int:
        return self.store.manifest.seed

    def run(self, task: Task, numbers: list[int]) -> None:
        """Do the long work of these numbers."""
        store = self.store
        run_all(task, numbers, self.pool, store.folder, engine=self.engine, progress=self.progress, write=store.write)

    def with_references(self, count: int) -> CollectContext:
        """The same with so many references planned: who trains on what is drawn, and written down, before they are."""
        split = self.store.split
        if len(split) <= count:
            game = self.store.manifest.make_game()
            self.store.write_split(draw(game, self.pool, 1 + count, self.store.manifest.rows_seed, given=split))
        return replace(self, references=count)


def open_context(
    store: Store,
    target: Target,
    pool: Data,
    said: np.ndarray,
    *,
    engine: Engine,
    progress: Progress | None = None,
    changing: bool = False,
) -> CollectContext:
    """Clear what a killed audit left, and keep what the target said or check that it still says the same.

    Args:
        said: (records, columns) the target's answers about the pool.
        changing: whether the target's outputs change between queries, for the message where they do.
    """
    remove_partial_files(store.folder)
    clear_work(store.folder)
    labels = target.labels_of(pool.y)
    try:
        scale = _keep_answers(store, target, said, labels)
    except FolderError as error:
        if changing:
            raise FolderError(_CHANGING.format(store.folder)) from error
        raise
    return CollectContext(store, target, pool, SignalExtractor(labels, target.columns, scale), engine, progress)


def _keep_answers(store: Store, target: Target, found: np.ndarray, labels: np.ndarray) -> Scale:
    """Write what the target says, or check that it still says it; returns its scale with what these answers teach."""
    kept = store.answers()
    if kept is None:
        _check_row(store, target, found, labels)
        store.write_answers(found)
        model_path(store.folder, 0).unlink(missing_ok=True)  # it is tied to the bits of the answers, and written below
    elif kept.shape != found.shape or _differ(kept, found):
        raise FolderError(_ANOTHER.format(store.folder))
    else:
        found = kept
    _check_row(store, target, found, labels)
    scale = target.scale.resolved(found, labels)
    if 0 not in store.models():
        store.write_model(0, scale.signals(found, labels))
    return scale


def _differ(kept: np.ndarray, found: np.ndarray) -> bool:
    """Whether two answers differ by more than rounding; block by block, as they may be large."""
    parts = [(np.abs(kept[rows] - found[rows]).max(), np.abs(kept[rows]).max()) for rows in blocks_of(kept)]
    furthest, largest = np.max(parts, axis=0)
    return bool(furthest > SAME_ANSWER * max(1.0, largest))


_ANOTHER = "{} holds an audit of another fitted model: its answers differ. Choose another folder."


_CHANGING = (
    "{} holds outputs of this model that differ from those of today, because the model is not deterministic (GL130). Fix its "
    "random seed, or put it into evaluation mode, and choose another folder."
)


def _check_row(store: Store, target: Target, found: np.ndarray, labels: np.ndarray) -> None:
    """Where the target's signals are there, they must be those of its answers, within rounding."""
    if 0 not in store.models():
        return
    now, then = target.scale.resolved(found, labels).signals(found, labels), store.model(0)
    if any(np.abs(now[name] - then[name]).max() > SAME_ANSWER * max(1.0, np.abs(then[name]).max()) for name in then):
        raise FolderError(_ANOTHER.format(store.folder))
