"""Agreement between attacks: the share of records on which two of them agree."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.findings.agreement import AgreementResult
from guestlist.findings.results import Results
from guestlist.report.format import NO_NUMBER, percent
from guestlist.report.section import Section, fill_template

MAX_ATTACKS = 8  # attacks in the table


@dataclass(frozen=True)
class AgreementRow:
    """One row of the table: an attack, its rule for flagging, and a cell per column."""

    name: str
    calls: str
    cells: tuple[str, ...]


def section(results: Results) -> Section | None:
    """Render the table of agreement; None with fewer than two attacks."""
    rows = agreement_rows(results)
    if not rows:
        return None
    body = fill_template("agreement.html", rows=rows, reading=agreement_explanation(results))
    return Section("agreement", "Do the attacks call the same people?", body, appendix=True)


def agreement_rows(results: Results) -> tuple[AgreementRow, ...]:
    """Return rows for the truth, the headline attack and the tests; empty with fewer than two attacks.

    Shares of members are above the diagonal, shares of non-members below it.
    """
    agreement = results.agreement
    if agreement is None:
        return ()
    columns = _table_positions(agreement, results.headline.name if results.headline else "")
    if len(columns) < 3:
        return ()
    return tuple(
        AgreementRow(agreement.names[i], _flagging_rule(agreement, i), tuple(_cell(agreement, i, j) for j in columns))
        for i in columns
    )


def agreement_explanation(results: Results) -> str:
    """Explain the table."""
    assert results.agreement is not None
    alpha = results.agreement.alpha
    chance = alpha**2 + (1 - alpha) ** 2
    return (
        "The share of records on which two attacks say the same: above the diagonal of members, below it of "
        "non-members. The first row holds the members that each attack finds, the first column the non-members that it "
        f"leaves alone. Two attacks that each call {percent(alpha)} of the records, with nothing in common, still agree "
        f"on {percent(chance)} of them. Two that find as many members, but agree little on them, find different people."
    )


def _table_positions(agreement: AgreementResult, headline: str) -> tuple[int, ...]:
    """Return the positions of the truth, the headline attack and the tests that fit into the table."""
    tests = [i for i, by_p_value in enumerate(agreement.by_p_value) if by_p_value and agreement.names[i] != headline]
    first = [i for i, name in enumerate(agreement.names) if i and name == headline]
    return (0, *sorted([*first, *tests][:MAX_ATTACKS]))


def _flagging_rule(agreement: AgreementResult, i: int) -> str:
    if i == 0:
        return "who was a member"
    rate = percent(agreement.alpha)
    return f"p-value of at most {rate}" if agreement.by_p_value[i] else f"highest scores, at {rate} false alarms"


def _cell(agreement: AgreementResult, i: int, j: int) -> str:
    if i == j:
        return NO_NUMBER
    shares = agreement.members if i < j else agreement.nonmembers
    return percent(shares[i][j])
