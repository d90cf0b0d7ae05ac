"""The headline attack within groups of records: is one group easier to recognise?

With many groups, one does well by chance, and one does better than the others. Both are corrected for the number of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from guestlist.arrays.samples import optional_take
from guestlist.case import Case
from guestlist.evaluate import WITHHELD, Estimate, auc
from guestlist.evaluate.intervals import newcombe_difference
from guestlist.findings import headline, slices
from guestlist.findings.attacks import CHANCE
from guestlist.findings.luck import SIGNIFICANCE_LEVEL, group_p_values, is_significant
from guestlist.findings.records import group_columns
from guestlist.findings.slices import Slice
from guestlist.randomness import stream


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
    return None if second is None else _of_attack(case, second.name, "luck of groups of the file holder")


def _of_attack(case: Case, attack: str, stream_name: str) -> tuple[GroupResult, ...]:
    """Evaluate one attack within each group; the headline rows divide the error of groups equally.

    Args:
        case: The audit.
        attack: Name of the attack.
        stream_name: Name of its random stream.
    """
    scores = case.asked_scores[attack]
    columns = group_columns(case.records)
    rows = len(headline.headline_rows(case))
    results: list[GroupResult] = []
    masks: list[np.ndarray] = []
    for number, column in enumerate(columns):
        parts = [part for part in slices.groups(case, [column]) if part.enough]
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
