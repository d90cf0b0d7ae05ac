"""Facts about risks: the table of records, the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.risks import trees


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How exposed each record is, beside the attacks: known to whoever trained the model, not to an attacker.

    Args:
        risk: case to (records,) values that rise with exposure; NaN where a record has none.
        summary, paper, cost: for people.
        evidence: the kind of evidence that it looks at, if any; without it there is no such risk.
        references: the fewest reference models it can do with.
    """

    risk: Callable[[Case], np.ndarray]
    summary: str
    paper: str
    cost: str
    evidence: str = ""
    references: int = 0

    def possible(self, case: Case) -> bool:
        """Whether a case has what it takes."""
        there = not self.evidence or case.view.evidence.get(self.evidence) is not None
        return there and case.view.references >= self.references


RISKS: dict[str, Risk] = {
    "alone_in_leaves": Risk(
        risk=trees.alone_in_leaves,
        summary="share of the trees in whose leaf no other member falls",
        paper="guestlist",
        cost="nothing",
        evidence="leaves",
    ),
}


def risks_of(case: Case) -> dict[str, np.ndarray]:
    """Name to (records,) every risk that the case has what it takes for."""
    return {name: row.risk(case) for name, row in RISKS.items() if row.possible(case)}
