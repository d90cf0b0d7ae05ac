"""Groups of records compared: is one of them easier to recognise?

With many groups one does well by luck, and one does better than the others. Both are paid for by the number of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

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
    """How well the headline attack does within one group of records.

    ``p_value`` is the chance that some group does so well where nothing leaks, paid for all that was looked at.
    ``beyond_rest`` is by how much the AUC exceeds that among all records outside the group; the intervals of all groups hold
    together. Both are None where nobody asked.
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
        """Whether it is shown that members of this group can be told from its non-members."""
        return self.auc.low > CHANCE and is_significant(self.p_value)

    @property
    def more_exposed(self) -> bool:
        """Whether it is shown that they can be told more easily than in the rest."""
        return self.beyond_rest is not None and self.beyond_rest.low > 0


def find(case: Case) -> tuple[GroupResult, ...]:
    """The headline attack within each group that has enough members and non-members."""
    return _of_attack(case, case.of(headline.find).name, "luck of groups")


def find_file_holder(case: Case) -> tuple[GroupResult, ...] | None:
    """The same of the file holder's attack; None where there is none."""
    second = case.of(headline.find_file_holder)
    return None if second is None else _of_attack(case, second.name, "luck of groups of the file holder")


def _of_attack(case: Case, attack: str, luck: str) -> tuple[GroupResult, ...]:
    """One attack within each group; the headline rows divide the error of groups equally.

    Args:
        luck: the name of its random stream.
    """
    scores, member = case.asked_scores[attack], case.truth.member_evaluated
    columns, rows = group_columns(case.records), len(headline.rows(case))
    parts = [[part for part in slices.groups(case, [name]) if part.enough] for name in columns]
    found = [
        one
        for number, (name, some) in enumerate(zip(columns, parts, strict=True))
        for one in _of_column(case, name, some, scores, rows * len(columns), stream(case.setting.seed, luck, number))
    ]
    masks = [part.mask for some in parts for part in some]
    return tuple(
        replace(one, beyond_rest=_beyond_rest(scores, member, mask, rows * len(found), case.persons))
        for one, mask in zip(found, masks, strict=True)
    )


def _of_column(
    case: Case, name: str, parts: Sequence[Slice], scores: np.ndarray, columns: int, rng: np.random.Generator
) -> list[GroupResult]:
    member, found = case.truth.member_evaluated, []
    for part in parts:
        whose = None if case.persons is None else case.persons[part.mask]
        estimate = auc(scores[part.mask], member[part.mask], clusters=whose)
        found.append(GroupResult(name, part.values[name], part.members, part.nonmembers, estimate))
    if not any(one.auc.low > CHANCE for one in found):
        return found  # none of them claims anything: luck need not be asked
    strata = pd.factorize(case.records[f"group_{name}"][case.truth.evaluated], use_na_sentinel=False)[0]
    masks = [part.mask for part in parts]
    p_values = group_p_values(scores, member, masks, strata, columns, rng, case.persons)
    return [replace(one, p_value=float(p_value)) for one, p_value in zip(found, p_values, strict=True)]


def _beyond_rest(
    scores: np.ndarray, member: np.ndarray, group: np.ndarray, groups: int, persons: np.ndarray | None
) -> Estimate:
    """The AUC in a group minus that in the rest: two samples that share no record."""
    together = 1 - SIGNIFICANCE_LEVEL / groups
    own, rest = (
        auc(scores[part], member[part], clusters=None if persons is None else persons[part], confidence=together)
        for part in (group, ~group)
    )
    if np.isnan(own.value) or np.isnan(rest.value):
        return WITHHELD
    value, low, high = newcombe_difference(own, rest)
    return Estimate(value, float(max(low, -1)), float(min(high, 1)))
