"""Slices of the evaluated records, and attack metrics by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pandas as pd

from guestlist._case import Case, has_labels
from guestlist._findings import headline
from guestlist._findings.attacks import CHANCE
from guestlist._findings.records import group_columns
from guestlist._findings.significance import SIGNIFICANCE_LEVEL, group_p_values, is_significant
from guestlist._kernels import optional_take
from guestlist._util import stream
from guestlist.errors import InputError
from guestlist.metrics import WITHHELD, Estimate, auc, newcombe_difference

FEWEST = 10  # members, and non-members, of a part that is judged: persons, where they are known
GROUP = "group"
PAIR = "pair"
CLASS = "class"
LABEL = "label"


@dataclass(frozen=True)
class Slice:
    """A part of the evaluated records.

    Args:
        kind: ``group``, ``pair`` (of groups: records in both) or ``class``.
        values: column to the value that its records have there.
        members, nonmembers: how many records there are.
        enough: whether it has enough members and non-members to be evaluated.
        mask: (evaluated records,) true for its records.
    """

    kind: str
    values: Mapping[str, str]
    members: int
    nonmembers: int
    enough: bool
    mask: np.ndarray = field(repr=False, compare=False)


def group_slices(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """The groups of some columns, or of all that were given, column by column; records without a value are a group too."""
    return tuple(part for name in _columns(case, columns) for part in _parts(case, GROUP, (name,)))


def pair_slices(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """The records in two groups at once, for each two columns; pairs that no record is in are left out."""
    return tuple(part for two in combinations(_columns(case, columns), 2) for part in _parts(case, PAIR, two))


def class_slices(case: Case) -> tuple[Slice, ...]:
    """Return the classes in their order; none for regression or if the labels are unknown."""
    order = case.records["class"].to_numpy()[case.truth.evaluated]
    if not case.setting.classes or not has_labels(case):
        return ()
    parts = _parts(case, CLASS, ())
    return tuple(sorted(parts, key=lambda part: order[part.mask][0]))


def _columns(case: Case, columns: Sequence[str] | None) -> list[str]:
    available = group_columns(case.records)
    unknown = [name for name in columns or () if name not in available]
    if unknown:
        known = "none was given; audit with group=… (--group)"
        if available:
            known = f"these are there: {', '.join(available)}"
        raise InputError(f"There is no group {unknown[0]!r}; {known}.")
    if columns is None:
        return available
    return list(dict.fromkeys(columns))


def _parts(case: Case, kind: str, names: tuple[str, ...]) -> tuple[Slice, ...]:
    evaluated = case.records[case.truth.evaluated]
    member = case.truth.member_evaluated
    columns = {name: evaluated[f"group_{name}"] for name in names}
    if kind == CLASS:
        columns = {LABEL: evaluated["label"]}
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
    if case.persons is None:
        return int(which.sum())
    return len(np.unique(case.persons[which]))


@dataclass(frozen=True)
class GroupResult:
    """Result of the headline attack within one group of records.

    Attributes:
        group: Name of the column.
        value: Value that the records of the group have there.
        members: Number of members.
        nonmembers: Number of non-members.
        auc: AUC within the group.
        p_value: Probability that some group has such an AUC if nothing leaks, adjusted; None if not tested.
        beyond_rest: AUC minus that among all records outside the group, with simultaneous intervals for all groups.
    """

    group: str
    value: str
    members: int
    nonmembers: int
    auc: Estimate
    p_value: float | None = None
    beyond_rest: Estimate | None = None

    @property
    def exposed(self) -> bool:
        """Evidence that members of this group can be distinguished from its non-members."""
        return self.auc.low > CHANCE and is_significant(self.p_value)

    @property
    def more_exposed(self) -> bool:
        """Evidence that they can be distinguished more easily than other records."""
        return self.beyond_rest is not None and self.beyond_rest.low > 0


def find(case: Case) -> tuple[GroupResult, ...]:
    """The headline attack within each group that has enough members and non-members."""
    return _of_attack(case, case.of(headline.find).name, "luck of groups")


def find_for_file_holder(case: Case) -> tuple[GroupResult, ...] | None:
    """Evaluate the file holder's attack within each group; None without such an attack."""
    second = case.of(headline.find_file_holder)
    if second is None:
        return None
    return _of_attack(case, second.name, "luck of groups of the file holder")


def _of_attack(case: Case, attack: str, stream_name: str) -> tuple[GroupResult, ...]:
    """Evaluate one attack within each group; the headline rows divide the error of groups equally.

    Args:
        case: The audit.
        attack: Name of the attack.
        stream_name: Name of its random stream.
    """
    scores = case.evaluated_scores[attack]
    columns = group_columns(case.records)
    rows = len(headline.headline_rows(case))
    results: list[GroupResult] = []
    masks: list[np.ndarray] = []
    for number, column in enumerate(columns):
        parts = [part for part in group_slices(case, [column]) if part.enough]
        rng = stream(case.setting.seed, stream_name, number)
        results += _of_column(case, column, parts, scores, rows * len(columns), rng)
        masks += [part.mask for part in parts]
    return tuple(
        replace(result, beyond_rest=_beyond_rest(case, scores, mask, rows * len(results)))
        for result, mask in zip(results, masks, strict=True)
    )


def _of_column(
    case: Case, column: str, parts: Sequence[Slice], scores: np.ndarray, columns: int, rng: np.random.Generator
) -> list[GroupResult]:
    member = case.truth.member_evaluated
    results = [
        GroupResult(
            group=column,
            value=part.values[column],
            members=part.members,
            nonmembers=part.nonmembers,
            auc=auc(scores[part.mask], member[part.mask], clusters=optional_take(case.persons, part.mask)),
        )
        for part in parts
    ]
    if not any(result.auc.low > CHANCE for result in results):
        return results  # none of them claims anything, so no test is needed
    strata = pd.factorize(case.records[f"group_{column}"][case.truth.evaluated], use_na_sentinel=False)[0]
    masks = [part.mask for part in parts]
    p_values = group_p_values(scores, member, masks, strata, columns, rng, case.persons)
    return [replace(result, p_value=float(p_value)) for result, p_value in zip(results, p_values, strict=True)]


def _beyond_rest(case: Case, scores: np.ndarray, group: np.ndarray, groups: int) -> Estimate:
    """Subtract the AUC in the rest from that in a group: two samples that share no record."""
    member = case.truth.member_evaluated
    inside, outside = (
        auc(
            scores[part],
            member[part],
            clusters=optional_take(case.persons, part),
            confidence=1 - SIGNIFICANCE_LEVEL / groups,
        )
        for part in (group, ~group)
    )
    if np.isnan(inside.value) or np.isnan(outside.value):
        return WITHHELD
    value, low, high = newcombe_difference(inside, outside)
    return Estimate(value, float(max(low, -1)), float(min(high, 1)))
