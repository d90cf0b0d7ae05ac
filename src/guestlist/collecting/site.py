"""Context of a collection: the folder, the target, the records and the engine."""

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
from guestlist.targets.signals import row_blocks
from guestlist.targets.target import Target

# Outputs of one fitted model differ only by rounding, since threads add up in any order. Those of a different model differ by
# more than this for some record.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class CollectContext:
    """Everything that a collection needs.

    Args:
        store: The audit folder.
        target: The target.
        pool: All records, in the order of ``store.pool``, in the form that the target reads.
        extractor: Converts outputs of models to signals.
        engine: Runs the long work.
        progress: Shows progress.
        references: Number of references that the audit uses; they may not be trained yet.
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
        """Random seed of the audit."""
        return self.store.manifest.seed

    def run(self, task: Task, numbers: list[int]) -> None:
        """Run a task for these numbers and write its files."""
        store = self.store
        run_all(task, numbers, self.pool, store.folder, engine=self.engine, progress=self.progress, write=store.write)

    def with_references(self, count: int) -> CollectContext:
        """Plan references: their training sets are drawn and written before they are trained."""
        split = self.store.split
        if len(split) <= count:
            game = self.store.manifest.make_game()
            self.store.write_split(draw(game, self.pool, 1 + count, self.store.manifest.rows_seed, start=split))
        return replace(self, references=count)


def open_context(
    store: Store,
    target: Target,
    pool: Data,
    outputs: np.ndarray,
    *,
    engine: Engine,
    progress: Progress | None = None,
    changing: bool = False,
) -> CollectContext:
    """Clean up after a killed audit, and write the target's outputs or compare them with the stored ones.

    Args:
        outputs: (records, columns) outputs of the target for the pool.
        changing: Whether the target's outputs change between queries, for the error message.
    """
    remove_partial_files(store.folder)
    clear_work(store.folder)
    labels = target.labels_of(pool.y)
    try:
        scale = _write_or_check_outputs(store, target, outputs, labels)
    except FolderError as error:
        if changing:
            raise FolderError(_CHANGING.format(store.folder)) from error
        raise
    return CollectContext(
        store=store,
        target=target,
        pool=pool,
        extractor=SignalExtractor(labels, target.columns, scale),
        engine=engine,
        progress=progress,
    )


def _write_or_check_outputs(store: Store, target: Target, outputs: np.ndarray, labels: np.ndarray) -> Scale:
    """Write the target's outputs, or compare them with the stored ones; return the scale fitted to them."""
    stored = store.answers()
    if stored is None:
        _check_signals(store, target, outputs, labels)
        store.write_answers(outputs)
        # The signals depend on the exact outputs, and are written below.
        model_path(store.folder, 0).unlink(missing_ok=True)
    elif stored.shape != outputs.shape or _differ(stored, outputs):
        raise FolderError(_ANOTHER.format(store.folder))
    else:
        outputs = stored
    _check_signals(store, target, outputs, labels)
    scale = target.scale.resolved(outputs, labels)
    if 0 not in store.models():
        store.write_model(0, scale.signals(outputs, labels))
    return scale


def _differ(stored: np.ndarray, outputs: np.ndarray) -> bool:
    """Return whether outputs differ by more than rounding; block by block, as they may be large."""
    parts = [(np.abs(stored[rows] - outputs[rows]).max(), np.abs(stored[rows]).max()) for rows in row_blocks(stored)]
    furthest, largest = np.max(parts, axis=0)
    return bool(furthest > TOLERANCE * max(1.0, largest))


_ANOTHER = "{} holds an audit of another fitted model: its answers differ. Choose another folder."
_CHANGING = (
    "{} holds outputs of this model that differ from those of today, because the model is not deterministic (GL130). Fix its "
    "random seed, or put it into evaluation mode, and choose another folder."
)


def _check_signals(store: Store, target: Target, outputs: np.ndarray, labels: np.ndarray) -> None:
    """Raise if the stored signals of the target are not those of its outputs, within rounding."""
    if 0 not in store.models():
        return
    signals = target.scale.resolved(outputs, labels).signals(outputs, labels)
    for name, values in store.model(0).items():
        if np.abs(signals[name] - values).max() > TOLERANCE * max(1.0, np.abs(values).max()):
            raise FolderError(_ANOTHER.format(store.folder))
