"""Sections on attacks: table, score histograms, ROC curves and agreement."""

import math
from dataclasses import dataclass, replace

import numpy as np

from guestlist._findings.attacks import AgreementResult, AttackResult, Histogram
from guestlist._findings.results import Results
from guestlist._report import wording
from guestlist._report.charts import Axis, Chart, Series, diagonal
from guestlist._report.sections.epsilon import claim_text, exchangeability_clause, person_claim_text
from guestlist._report.templates import Section, fill_template
from guestlist._util import NO_NUMBER, percent
from guestlist.privacy import allowed_tpr

N_BEST = 3  # attacks beside the headline that are not folded


def attacks_section(results: Results) -> Section | None:
    """Render the table of attacks; None without attacks."""
    if not results.outcomes:
        return None
    rows = wording.headline_names(results)
    displayed, collapsed = split_table(results.outcomes, rows)
    body = fill_template("attacks.html", displayed=displayed, collapsed=collapsed, rows=rows, best=N_BEST)
    return Section("attacks", "Attacks", body)


def split_table(
    outcomes: tuple[AttackResult, ...], rows: tuple[str, ...]
) -> tuple[tuple[AttackResult, ...], tuple[AttackResult, ...]]:
    """Split attacks into the headline rows with the best others by AUC, and the rest.

    The rest is empty where few attacks would be in it.
    """
    first = [outcome for row in rows for outcome in outcomes if outcome.name == row]
    others = [outcome for outcome in outcomes if outcome.name not in rows]
    best = sorted(others, key=_auc, reverse=True)
    if len(others) <= N_BEST + 1:
        return (*first, *best), ()
    return (*first, *best[:N_BEST]), tuple(outcome for outcome in others if outcome not in best[:N_BEST])


def _auc(outcome: AttackResult) -> float:
    if math.isnan(outcome.auc.value):
        return -1.0
    return outcome.auc.value


def scores_section(results: Results) -> Section | None:
    """Render the two distributions; None without a headline attack."""
    headline = wording.headline_attack(results)
    if headline is None:
        return None
    charts = {"scores": _scores(headline)}
    body = fill_template("scores.html", headline=headline, charts=charts)
    return Section("distribution", "Scores of members and non-members", body, charts, appendix=True)


def _scores(headline: AttackResult) -> Chart:
    """Draw the histograms of members and non-members, as shares of each."""
    shares = headline.histogram
    return Chart(
        Axis("score: higher means likelier member"),
        Axis("share of records", form="percent"),
        (
            _outline(shares, shares.nonmembers, "non-members", "nonmember", "dash"),
            _outline(shares, shares.members, "members", "member", "solid"),
        ),
        full_width=True,
        height=300,
    )


def _outline(histogram: Histogram, shares: tuple[float, ...], name: str, colour: str, dash: str) -> Series:
    stairs = (*shares, *shares[-1:])
    return Series(name, histogram.edges, stairs, colour, line=1.8, dash=dash, step=True, fill=True)


QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def curves_section(results: Results) -> Section | None:
    """Render the ROC curves; None without a headline attack."""
    headline = wording.headline_attack(results)
    if headline is None:
        return None
    charts = {"roc-linear": _roc(results, headline, log=False), "roc-log": _roc(results, headline, log=True)}
    body = fill_template("curves.html", headline=headline, charts=charts)
    return Section("curves", "Members found against false alarms", body, charts)


def _roc(results: Results, headline: AttackResult, *, log: bool) -> Chart:
    """Draw the headline's curve with its band, the other attacks as thin lines, and the diagonal of guessing."""
    second = wording.file_holder_attack(results)
    bands = [_band(headline)]
    lines = [_line(headline.name, headline.curve.fpr, headline.curve.tpr, "member", 2.6, key="")]
    if second is not None:
        bands = [
            _band(second, "nonmember", f"{wording.FILE_HOLDER}: "),
            _band(headline, attacker=f"{wording.QUERIER}: "),
        ]
        lines.insert(0, _line(second.name, second.curve.fpr, second.curve.tpr, "nonmember", 2.6, key=""))
    series = (*bands, diagonal(), *_others(results, headline), *lines, *_weighted(results), *_allowed(results))
    if log:
        axis = Axis("", (_floor(results), 1.0), log=True, form="percent")
    else:
        axis = Axis("", (0.0, 1.0), ticks=QUARTERS, form="percent")
    return Chart(replace(axis, title="false alarms (FPR)"), replace(axis, title="members found (TPR)"), series)


def _floor(results: Results) -> float:
    """Return the start of logarithmic axes: the power of ten at or below one false positive."""
    nonmembers = 10
    if results.subject is not None:
        nonmembers = max(results.subject.nonmembers, 10)
    return 10.0 ** math.floor(math.log10(1 / nonmembers))


def _others(results: Results, headline: AttackResult) -> list[Series]:
    """Return the curves of the other attacks, with one entry in the key for all of them."""
    rows = wording.headline_names(results)
    others = [outcome for outcome in results.outcomes or () if outcome.name not in rows]
    keys = ["other attacks (point at one for its name)", *[""] * len(others)]
    return [
        _line(outcome.name, outcome.curve.fpr, outcome.curve.tpr, "other", 1.0, key=key)
        for outcome, key in zip(others, keys, strict=False)
    ]


def _line(name: str, fpr, tpr, colour: str, width: float, *, dash: str = "solid", key: str | None = None) -> Series:
    """Return a curve with steps, since records with equal scores are flagged together or not at all."""
    return Series(name, tuple(fpr), tuple(tpr), colour, line=width, dash=dash, key=key, step=True)


def _weighted(results: Results) -> list[Series]:
    """Return the curve of the headline attack with weighted non-members."""
    weighted = results.adjusted
    if weighted is None or not weighted.fpr:
        return []
    name = f"{weighted.attack}, non-members weighted to be like members"
    return [_line(name, weighted.fpr, weighted.tpr, "member", 1.6, dash="dash")]


def _allowed(results: Results) -> list[Series]:
    """Return the largest curve that a claimed epsilon allows, where records are exchangeable."""
    epsilon = results.epsilon
    if epsilon is None or epsilon.allowed is None:
        return []
    claim = epsilon.allowed
    fpr = np.concatenate([[0.0], np.geomspace(1e-7, 1, 100)])
    allowed = allowed_tpr(claim, fpr)
    key = f"the most that {person_claim_text(epsilon)} allows{exchangeability_clause(epsilon)}"
    curve = _line(f"allowed by {claim_text(claim)}", fpr.tolist(), allowed.tolist(), "ink", 1.4, dash="dash", key=key)
    return [replace(curve, step=False)]


def _band(outcome: AttackResult, colour: str = "member", attacker: str = "") -> Series:
    """Return the pointwise band of a curve; its entry in the key is also that of the curve.

    Args:
        outcome: Attack.
        colour: Colour of the band.
        attacker: Attacker, before the attack's name in the key.
    """
    curve = outcome.curve
    ends = tuple(zip(curve.band_low, curve.band_high, strict=True))
    key = f"{attacker}{outcome.name}, with its 95% band"
    name = f"95% band of {outcome.name}"
    return Series(name, curve.band_fpr, y_ends=ends, colour=colour, band=True, step=True, key=key, hover=False)


MAX_ATTACKS = 8  # attacks in the table


@dataclass(frozen=True)
class AgreementRow:
    """One row of the table: an attack, its rule for flagging, and a cell per column."""

    name: str
    calls: str
    cells: tuple[str, ...]


def agreement_section(results: Results) -> Section | None:
    """Render the table of agreement; None with fewer than two attacks."""
    rows = agreement_rows(results)
    if not rows:
        return None
    body = fill_template("agreement.html", rows=rows, explanation=agreement_explanation(results))
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
    if agreement.by_p_value[i]:
        return f"p-value of at most {rate}"
    return f"highest scores, at {rate} false alarms"


def _cell(agreement: AgreementResult, i: int, j: int) -> str:
    if i == j:
        return NO_NUMBER
    if i < j:
        shares = agreement.members
    else:
        shares = agreement.nonmembers
    return percent(shares[i][j])
