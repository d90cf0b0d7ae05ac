"""Facts about risks: the table of records, the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.risks import memorisation, mu, trees
from guestlist.risks.bounded import Bounded


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How exposed each record is, beside the attacks: known to whoever trained the model, not to an attacker.

    Args:
        risk: case to (records,) values that rise with exposure, alone or with intervals; NaN where a record has none.
        summary, paper, cost: for people.
        evidence: the kind of evidence that it looks at, if any; without it there is no such risk.
        references: the fewest reference models it can do with.
        needs: the signals that it looks at.
    """

    risk: Callable[[Case], np.ndarray | Bounded]
    summary: str
    paper: str
    cost: str
    evidence: str = ""
    references: int = 0
    needs: tuple[str, ...] = ()

    def possible(self, case: Case) -> bool:
        """Whether a case has what it takes."""
        there = not self.evidence or case.view.evidence.get(self.evidence) is not None
        # With predictions alone, a reference has records of its own: there is nothing to compare one record with.
        references = 0 if case.setting.predictions else case.view.references
        return there and references >= self.references and all(name in case.view.values for name in self.needs)


# With fewer, most records have two references or less on one side.
FEWEST = 8

RISKS: dict[str, Risk] = {
    "alone_in_leaves": Risk(
        risk=trees.alone_in_leaves,
        summary="share of the trees in whose leaf no other member falls",
        paper="guestlist",
        cost="nothing",
        evidence="leaves",
    ),
    "memorisation": Risk(
        risk=memorisation.memorisation,
        summary="how much likelier references are right about the record if they trained on it",
        paper="Feldman & Zhang 2020",
        cost="references",
        references=FEWEST,
        needs=("correct",),
    ),
    "mu": Risk(
        risk=mu.mu,
        summary="by how many standard deviations training on the record raises its margin",
        paper="Carlini et al. 2022; Dong et al. 2022",
        cost="references",
        references=FEWEST,
        needs=("margin",),
    ),
}


def risks_of(case: Case) -> dict[str, np.ndarray]:
    """Name to (records,) every risk that the case has what it takes for; ``<name>_low``, ``<name>_high``: its interval."""
    found = {name: row.risk(case) for name, row in RISKS.items() if row.possible(case)}
    columns: dict[str, np.ndarray] = {}
    for name, risk in found.items():
        if isinstance(risk, Bounded):
            columns |= {name: risk.value, f"{name}_low": risk.low, f"{name}_high": risk.high}
        else:
            columns[name] = risk
    return columns
