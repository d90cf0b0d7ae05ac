"""A plan says what evidence to collect, and carries its own options."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from guestlist.data import Data
from guestlist.errors import FolderError
from guestlist.files import read_json, write_json
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.training import Progress, Question, Task, run_all


@dataclass(frozen=True)
class Site:
    """Where evidence is collected: the folder, the target and the records, and how models are asked.

    Args:
        references: how many the audit compares the target with; they may not be trained yet.
    """

    store: Store
    target: Target
    pool: Data
    question: Question
    references: int = 0
    jobs: int = -1
    progress: Progress | None = None

    @property
    def seed(self) -> int:
        return self.store.manifest.seed

    def run(self, task: Task, numbers: list[int]) -> None:
        """Do the long work; what is there already is not done again."""
        run_all(task, numbers, self.pool, self.store.folder, jobs=self.jobs, progress=self.progress)


class Plan(Protocol):
    """What to collect. A frozen dataclass whose fields are the options; ``name`` is a field of ``Evidence``."""

    name: ClassVar[str]
    grows: ClassVar[tuple[str, ...]]  # options that may be larger the next time; all others must stay the same

    def check(self, target: Target, sides: np.ndarray) -> None:
        """Raise, before any long work, where this target or these records cannot give it."""

    def collect(self, site: Site) -> None:
        """Bring the folder to hold it; whatever is there already is kept."""

    @staticmethod
    def read(store: Store) -> object | None:
        """What was collected, as a part of ``Evidence``; None if nothing was."""


def place(store: Store, name: str) -> Path:
    """The folder of one kind of evidence."""
    return store.folder / "evidence" / name


def begin_plan(store: Store, plan: Plan) -> None:
    """Note the plan in the folder; refuse one whose options differ from what is there already."""
    path = place(store, plan.name) / "plan.json"
    wanted = asdict(plan)
    if path.exists():
        kept = _read(path)
        differ = [name for name in wanted if name not in plan.grows and kept.get(name) != wanted[name]]
        if differ:
            was = ", ".join(f"{name}={kept.get(name)!r}" for name in differ)
            raise FolderError(
                f"{store.folder} holds {plan.name!r} collected with {was}. Ask for the same, or remove {path.parent}."
            )
        wanted |= {name: max(wanted[name], kept[name]) for name in plan.grows}
    write_json(path, wanted)


def noted(store: Store, name: str) -> dict | None:
    """The options that one kind of evidence was collected with; None if it was not."""
    path = place(store, name) / "plan.json"
    return _read(path) if path.exists() else None


def _read(path: Path) -> dict:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged ({error}). Remove {path.parent} and collect it again.") from error
