"""Groups, pairs of groups and classes of the evaluated records.

A part with few members or few non-members says little, and its figures would look like findings. It is named, with its
numbers, and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd

from guestlist.case import Case, has_labels
from guestlist.errors import InputError
from guestlist.findings.records import group_columns

FEWEST = 10  # members, and non-members, of a part that is judged: persons, where they are known
GROUP = "group"
PAIR = "pair"
CLASS = "class"
LABEL = "label"


@dataclass(frozen=True)
class Slice:
    """Some of the asked records.

    Args:
        kind: ``group``, ``pair`` (of groups: records in both) or ``class``.
        values: column to the value that its records have there.
        members, nonmembers: how many records there are.
        enough: whether there are enough of either to judge it.
        mask: (asked records,).
    """

    kind: str
    values: Mapping[str, str]
    members: int
    nonmembers: int
    enough: bool
    mask: np.ndarray = field(repr=False, compare=False)


def groups(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """The groups of some columns, or of all that were given, column by column; records without a value are a group too."""
    return tuple(part for name in _columns(case, columns) for part in _parts(case, GROUP, (name,)))


def pairs(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """The records in two groups at once, for each two columns; pairs that no record is in are left out."""
    return tuple(part for two in combinations(_columns(case, columns), 2) for part in _parts(case, PAIR, two))


def classes(case: Case) -> tuple[Slice, ...]:
    """The classes in their order; none where the target answers with a number, or nobody knows the labels."""
    order = case.records["class"].to_numpy()[case.truth.evaluated]
    parts = _parts(case, CLASS, ()) if case.setting.classes and has_labels(case) else ()
    return tuple(sorted(parts, key=lambda part: order[part.mask][0]))


def _columns(case: Case, columns: Sequence[str] | None) -> list[str]:
    available = group_columns(case.records)
    unknown = [name for name in columns or () if name not in available]
    if unknown:
        known = (
            f"these are there: {', '.join(available)}" if available else "none was given; audit with group=… (--group)"
        )
        raise InputError(f"There is no group {unknown[0]!r}; {known}.")
    return available if columns is None else list(dict.fromkeys(columns))


def _parts(case: Case, kind: str, names: tuple[str, ...]) -> tuple[Slice, ...]:
    asked = case.records[case.truth.evaluated]
    member = case.truth.member_evaluated
    columns = {name: asked[f"group_{name}"] for name in names} if kind != CLASS else {LABEL: asked["label"]}
    table = pd.DataFrame({name: column.to_numpy() for name, column in columns.items()})
    parts = []
    for values, rows in table.groupby(list(table), sort=True).indices.items():
        mask = np.zeros(len(member), dtype=bool)
        mask[rows] = True
        inside = mask & member
        outside = mask & ~member
        enough = min(_people(case, inside), _people(case, outside)) >= FEWEST
        group = dict(zip(table, map(str, values if isinstance(values, tuple) else (values,)), strict=True))
        parts.append(
            Slice(
                kind=kind,
                values=group,
                members=int(inside.sum()),
                nonmembers=int(outside.sum()),
                enough=enough,
                mask=mask,
            )
        )
    return tuple(parts)


def _people(case: Case, which: np.ndarray) -> int:
    """Count the persons of some records; without person identifiers, the records."""
    return int(which.sum()) if case.persons is None else len(np.unique(case.persons[which]))
