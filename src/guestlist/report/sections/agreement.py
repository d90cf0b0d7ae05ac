"""Do the attacks call the same people? Few enough attacks to read, the truth first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from guestlist.findings.agreement import AgreementResult
from guestlist.findings.results import Results
from guestlist.report.format import percent
from guestlist.report.section import Section, fill_template

MAX_ATTACKS = 8  # attacks in the table


@dataclass(frozen=True)
class AgreementRow:
    """One row of the table: who, how they call, and a cell per column."""

    name: str
    calls: str
    cells: tuple[str, ...]


def section(results: Results) -> Section | None:
    shown = agreement_rows(results)
    if not shown:
        return None
    body = fill_template("agreement.html", rows=shown, reading=agreement_explanation(results))
    return Section("agreement", "Do the attacks call the same people?", body, appendix=True)


def agreement_rows(results: Results) -> tuple[AgreementRow, ...]:
    """The headline attack and the tests; members' shares right of the diagonal, non-members' left of it.

    Empty where there are fewer than two attacks to show.
    """
    found = results.agreement
    if found is None:
        return ()
    shown = _shown(found, results.headline.name if results.headline else "")
    if len(shown) < 3:
        return ()
    return tuple(
        AgreementRow(found.names[i], _calls(found, i), tuple(_cell(found, i, j) for j in shown)) for i in shown
    )


def agreement_explanation(results: Results) -> str:
    """How to read the table."""
    assert results.agreement is not None
    alpha = results.agreement.alpha
    chance = alpha**2 + (1 - alpha) ** 2
    return (
        "The share of records on which two attacks say the same: above the diagonal of members, below it of "
        "non-members. The first row holds the members that each attack finds, the first column the non-members that it "
        f"leaves alone. Two attacks that each call {percent(alpha)} of the records, with nothing in common, still agree "
        f"on {percent(chance)} of them. Two that find as many members, but agree little on them, find different people."
    )


def _shown(found: AgreementResult, headline: str) -> tuple[int, ...]:
    """Positions of the truth, then of the headline and as many tests as can be read, in the order of the attacks."""
    tests = [i for i, own in enumerate(found.by_p_value) if own and found.names[i] != headline]
    first = [i for i, name in enumerate(found.names) if i and name == headline]
    return (0, *sorted([*first, *tests][:MAX_ATTACKS]))


def _calls(found: AgreementResult, i: int) -> str:
    if i == 0:
        return "who was a member"
    rate = percent(found.alpha)
    return f"p-value of at most {rate}" if found.by_p_value[i] else f"highest scores, at {rate} false alarms"


def _cell(found: AgreementResult, i: int, j: int) -> str:
    share = math.nan if i == j else (found.members if i < j else found.nonmembers)[i][j]
    return percent(share)
