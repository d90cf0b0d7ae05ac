"""Groups of records compared: is one of them easier to recognise?

With many groups one does well by luck, and one does better than the others. Both are paid for by the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from guestlist.case import Case
from guestlist.evaluate import WITHHELD, Estimate, auc
from guestlist.evaluate.intervals import difference_of
from guestlist.findings import headline
from guestlist.findings.attacks import CHANCE
from guestlist.findings.luck import SHOWN, luck_of_groups, shown
from guestlist.findings.records import group_columns, record_table
from guestlist.randomness import stream

FEWEST = 10  # members, and non-members, of a group that is judged: persons, where they are known


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
        return self.auc.low > CHANCE and shown(self.p_value)

    @property
    def beyond(self) -> bool:
        """Whether it is shown that they can be told more easily than in the rest."""
        return self.beyond_rest is not None and self.beyond_rest.low > 0


def find(case: Case) -> tuple[GroupResult, ...]:
    """The headline attack within each group that has enough members and non-members."""
    records = case.of(record_table)
    scores, member = records[f"score_{case.of(headline.find).name}"].to_numpy(), records["member"].to_numpy()
    columns = group_columns(records)
    found = [
        one
        for number, name in enumerate(columns)
        for one in _of_column(case, name, records[f"group_{name}"], scores, member, len(columns), number)
    ]
    masks = [(records[f"group_{one.group}"].astype(str) == one.value).to_numpy() for one in found]
    return tuple(
        replace(one, beyond_rest=_beyond_rest(scores, member, mask, len(found), case.persons))
        for one, mask in zip(found, masks, strict=True)
    )


def _of_column(
    case: Case, name: str, values: pd.Series, scores: np.ndarray, member: np.ndarray, columns: int, number: int
) -> list[GroupResult]:
    strata = pd.factorize(values, use_na_sentinel=False)[0]
    found, masks = [], []
    for value, rows in values.groupby(values, sort=True).indices.items():
        inside, outside = rows[member[rows]], rows[~member[rows]]
        whose = None if case.persons is None else case.persons[rows]
        if min(_people(case, inside), _people(case, outside)) >= FEWEST:
            estimate = auc(scores[rows], member[rows], persons=whose)
            found.append(GroupResult(name, str(value), len(inside), len(outside), estimate))
            masks.append(np.isin(np.arange(len(member)), rows))
    if not any(one.auc.low > CHANCE for one in found):
        return found  # none of them claims anything: luck need not be asked
    rng = stream(case.setting.seed, "luck of groups", number)
    p_values = luck_of_groups(scores, member, masks, strata, columns, rng, case.persons)
    return [replace(one, p_value=float(p_value)) for one, p_value in zip(found, p_values, strict=True)]


def _people(case: Case, rows: np.ndarray) -> int:
    """How many persons the records in question are of; as many as records where it is not known."""
    return len(rows) if case.persons is None else len(np.unique(case.persons[rows]))


def _beyond_rest(
    scores: np.ndarray, member: np.ndarray, group: np.ndarray, groups: int, persons: np.ndarray | None
) -> Estimate:
    """The AUC in a group minus that in the rest: two samples that share no record."""
    together = 1 - SHOWN / groups
    own, rest = (
        auc(scores[part], member[part], persons=None if persons is None else persons[part], confidence=together)
        for part in (group, ~group)
    )
    if np.isnan(own.value) or np.isnan(rest.value):
        return WITHHELD
    value, low, high = difference_of(own, rest)
    return Estimate(value, float(max(low, -1)), float(min(high, 1)))
