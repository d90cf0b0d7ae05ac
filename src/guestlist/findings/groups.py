"""Groups of records compared: is one of them easier to recognise?"""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.case import Case
from guestlist.evaluate import Estimate, auc
from guestlist.findings import headline
from guestlist.findings.records import group_columns, record_table

FEWEST = 10  # members, and non-members, of a group that is judged


@dataclass(frozen=True)
class GroupResult:
    """How well the headline attack does within one group of records."""

    group: str
    value: str
    members: int
    nonmembers: int
    auc: Estimate


def find(case: Case) -> tuple[GroupResult, ...]:
    """The headline attack within each group that has enough members and non-members."""
    records, attack = case.of(record_table), case.of(headline.find).name
    found = []
    for name in group_columns(records):
        for value, part in records.groupby(f"group_{name}", sort=True):
            member = part["member"].to_numpy()
            inside, outside = int(member.sum()), int((~member).sum())
            if min(inside, outside) >= FEWEST:
                estimate = auc(part[f"score_{attack}"].to_numpy(), member)
                found.append(GroupResult(name, str(value), inside, outside, estimate))
    return tuple(found)
