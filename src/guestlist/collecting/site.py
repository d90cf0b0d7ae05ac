"""Where everything about one target is collected, once the target has been asked."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.collecting.engines.engine import Engine, Progress, Task, clear_work, run_all
from guestlist.collecting.readout import Readout
from guestlist.data import Data, encode
from guestlist.store import Store
from guestlist.store.files import remove_parts
from guestlist.targets.target import Target

# Two answers of one fitted model differ by rounding only (threads add up in any order); another model's
# differ by more than this somewhere.
SAME_ANSWER = 1e-6


@dataclass(frozen=True)
class Site:
    """The folder, the target and the records, how models are asked, and where the work runs.

    Args:
        pool: all records, in the order of ``store.pool``, in the form the target reads.
        references: how many the audit compares the target with; they may not be trained yet.
    """

    store: Store
    target: Target
    pool: Data
    readout: Readout
    engine: Engine
    references: int = 0
    progress: Progress | None = None

    @property
    def seed(self) -> int:
        return self.store.manifest.seed

    def run(self, task: Task, numbers: list[int]) -> None:
        """Do the long work; what is there already is not done again."""
        run_all(task, numbers, self.pool, self.store.folder, engine=self.engine, progress=self.progress)


def open_site(store: Store, target: Target, pool: Data, *, engine: Engine, progress: Progress | None = None) -> Site:
    """Clear what a killed audit left, and ask the target or check that it still says the same."""
    remove_parts(store.folder)
    clear_work(store.folder)
    labels = encode(pool.y, target.classes)
    return Site(store, target, pool, _ask_target(store, target, pool, labels), engine, progress=progress)
