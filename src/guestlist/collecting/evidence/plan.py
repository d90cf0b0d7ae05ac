"""A plan says what evidence to collect, and carries its own options."""

from __future__ import annotations

import shutil
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import FolderError
from guestlist.games import Split
from guestlist.store import Store
from guestlist.store.jsonable import to_json
from guestlist.targets.target import Target
from guestlist.views.evidence import Part

P = TypeVar("P", bound="Plan")


class AnyPlan(Protocol):
    """A frozen dataclass whose fields are the options; ``name`` is its key in ``EVIDENCE``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]

    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise, before any long work, where this target or these records cannot give it."""


@runtime_checkable
class Plan(AnyPlan, Protocol):
    """What to collect."""

    grows: ClassVar[tuple[str, ...]]  # options that may be larger the next time; all others must stay the same

    def collect(self, context: CollectContext) -> None:
        """Bring the folder to hold it; whatever is there already is kept."""

    @staticmethod
    def read(store: Store) -> Part | None:
        """What was collected, as a part of ``Evidence``; None if nothing was."""


@runtime_checkable
class FromTarget(AnyPlan, Protocol):
    """What to take from the target whenever it is at hand: it is there at once, and not kept."""

    def take(self, target: Target, pool: Data, split: Split) -> Part:
        """It, as a part of ``Evidence``."""


def evidence_folder(store: Store, name: str) -> Path:
    """The folder of one kind of evidence."""
    return store.folder / "evidence" / name


def begin_plan(store: Store, plan: P) -> P:
    """Note the plan in the folder and return it, as large as it was ever asked for.

    One whose options differ from what is there already is refused.
    """
    path = evidence_folder(store, plan.name) / "plan.json"
    wanted = to_json(plan)  # as it is read again: a tuple comes back as a list
    if path.exists():
        kept = store.read_plan(path)
        differ = [name for name in wanted if name not in plan.grows and kept.get(name) != wanted[name]]
        if differ:
            was = ", ".join(f"{name}={kept.get(name)!r}" for name in differ)
            raise FolderError(
                f"{store.folder} holds {plan.name!r} collected with {was}. Ask for the same, or remove {path.parent}."
            )
        wanted |= {name: max(wanted[name], kept[name]) for name in plan.grows}
    store.write_plan(path, wanted, {name: wanted[name] for name in wanted if name not in plan.grows})
    return type(plan)(**wanted)


def forget_if_empty(store: Store, name: str) -> None:
    """Take back a plan that failed before anything was collected: the folder then serves as if it had not been."""
    folder = evidence_folder(store, name)
    if folder.exists() and {path.name for path in folder.iterdir()} <= {"plan.json"}:
        shutil.rmtree(folder)


def check_counts(plan: Plan, *names: str) -> None:
    """Raise unless these options are whole numbers from 1."""
    for name in names:
        value = getattr(plan, name)
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"Expected {name}={value!r} to be a whole number, 1 or more.")


def plan_of(store: Store, name: str) -> dict | None:
    """The options that one kind of evidence was collected with; None if it was not."""
    path = evidence_folder(store, name) / "plan.json"
    return store.read_plan(path) if path.exists() else None


def share_of_members(split: Split) -> tuple[float, np.ndarray]:
    """Share of the asked records that the target trained on, and (records,) which those asked about are."""
    asked = split.evaluated[0]
    return float(split.members[asked].mean()), asked
