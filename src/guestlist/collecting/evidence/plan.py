"""Plans: which evidence to collect, with its options."""

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
from guestlist.store import Store, file_numbers
from guestlist.store.jsonable import to_json
from guestlist.targets.target import Target
from guestlist.views.evidence import Part

P = TypeVar("P", bound="Plan")


class AnyPlan(Protocol):
    """A frozen dataclass whose fields are the options; ``name`` is its key in ``EVIDENCE``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]

    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise, before any long work, if this target or these records do not support it."""


@runtime_checkable
class Plan(AnyPlan, Protocol):
    """A plan whose evidence is written into the audit folder."""

    grows: ClassVar[tuple[str, ...]]  # Options that may increase in a later run; all others must stay equal.

    def collect(self, context: CollectContext) -> None:
        """Collect the evidence that the folder does not hold yet."""

    @staticmethod
    def read(store: Store) -> Part | None:
        """Read the collected evidence; None if there is none."""


@runtime_checkable
class FromTarget(AnyPlan, Protocol):
    """A plan whose evidence is taken from the target at once, and not written."""

    def take(self, target: Target, pool: Data, split: Split) -> Part:
        """Return the evidence."""


def evidence_folder(store: Store, name: str) -> Path:
    """Return the folder of one type of evidence."""
    return store.folder / "evidence" / name


def evidence_path(folder: Path, prefix: str, k: int) -> Path:
    """Return the path of one of many files of a type of evidence."""
    return folder / f"{prefix}-{k:04d}.npz"


def missing_files(store: Store, folder: Path, prefix: str, count: int) -> list[int]:
    """Check the files that a folder holds, and return the numbers from 1 to ``count`` without one."""
    held = store.check_files({k: evidence_path(folder, prefix, k) for k in file_numbers(folder, prefix)})
    return [k for k in range(1, 1 + count) if k not in held]


def stored_arrays(store: Store, name: str, file: str) -> dict[str, np.ndarray] | None:
    """Read the only file of a type of evidence; None if it was not collected."""
    path = evidence_folder(store, name) / file
    if plan_of(store, name) is None or not path.exists():
        return None
    return store.read(path)


def begin_plan(store: Store, plan: P) -> P:
    """Write the plan into the folder and return it with its growing options at their largest.

    Raises:
        FolderError: The folder holds this evidence with different options.
    """
    path = evidence_folder(store, plan.name) / "plan.json"
    options = to_json(plan)  # In the form of the file, where a tuple becomes a list.
    if path.exists():
        stored = store.read_plan(path)
        different = [name for name in options if name not in plan.grows and stored.get(name) != options[name]]
        if different:
            before = ", ".join(f"{name}={stored.get(name)!r}" for name in different)
            raise FolderError(
                f"{store.folder} holds {plan.name!r} collected with {before}. Ask for the same, or remove {path.parent}."
            )
        options |= {name: max(options[name], stored[name]) for name in plan.grows}
    store.write_plan(path, options, {name: options[name] for name in options if name not in plan.grows})
    return type(plan)(**options)


def remove_if_empty(store: Store, name: str) -> None:
    """Remove a plan that failed before anything was collected."""
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
    """Return the options that one type of evidence was collected with; None if it was not."""
    path = evidence_folder(store, name) / "plan.json"
    return store.read_plan(path) if path.exists() else None


def share_of_members(split: Split) -> tuple[float, np.ndarray]:
    """Return the share of members among the evaluated records, and the (records,) mask of these."""
    evaluated = split.evaluated[0]
    return float(split.members[evaluated].mean()), evaluated
