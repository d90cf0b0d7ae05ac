"""Facts about risks: the table of records, the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.risks import score, trees

SONG = "Song & Mittal 2021"


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How exposed each record is, beside the attacks: known to whoever trained the model, not to an attacker.

    Args:
        risk: case to (records,) values that rise with exposure; NaN where a record has none.
        summary, paper, cost: for people.
        needs: the signals it reads; targets that do not say them have no such risk.
        evidence: the kind of evidence that it looks at, if any; without it there is no such risk.
        references: the fewest reference models it can do with.
        threshold: a record with a larger value is at risk, if the risk has a threshold of its own.
    """

    risk: Callable[[Case], np.ndarray]
    summary: str
    paper: str
    cost: str
    needs: tuple[str, ...] = ()
    evidence: str = ""
    references: int = 0
    threshold: float | None = None

    def possible(self, case: Case) -> bool:
        """Whether a case has what it takes."""
        there = not self.evidence or case.view.evidence.get(self.evidence) is not None
        said = all(signal in case.view.values for signal in self.needs)
        return there and said and case.view.references >= self.references


RISKS: dict[str, Risk] = {
    "risk_score": Risk(
        risk=score.from_references,
        summary="probability of membership, given the modified entropy and the class; learnt from references",
        paper=SONG,
        cost="nothing",
        needs=("mentr",),
        references=1,
        threshold=0.5,
    ),
    "risk_score_own": Risk(
        risk=score.from_target,
        summary="the same, learnt from the target's own members and non-members: an upper bound",
        paper=SONG,
        cost="nothing",
        needs=("mentr",),
        threshold=0.5,
    ),
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
