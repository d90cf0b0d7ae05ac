"""ROC curves of all attacks, on linear and logarithmic axes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.privacy import allowed_tpr
from guestlist.report import words
from guestlist.report.charts import Axis, Chart, Series, diagonal
from guestlist.report.section import Section, fill_template
from guestlist.report.sections.epsilon import claim_text, exchangeability_clause, person_claim_text

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def section(results: Results) -> Section | None:
    """Render the ROC curves; None without a headline attack."""
    headline = words.headline_attack(results)
    if headline is None:
        return None
    charts = {"roc-linear": _roc(results, headline, log=False), "roc-log": _roc(results, headline, log=True)}
    body = fill_template("curves.html", headline=headline, charts=charts)
    return Section("curves", "Members found against false alarms", body, charts)


def _roc(results: Results, headline: AttackResult, *, log: bool) -> Chart:
    """Draw the headline's curve with its band, the other attacks as thin lines, and the diagonal of guessing."""
    floor = _floor(results.subject.nonmembers if results.subject else 0) if log else 0.0
    second = words.file_holder_attack(results)
    series = (
        *([] if second is None else [_band(second, "nonmember", f"{words.FILE_HOLDER}: ")]),
        _band(headline, attacker="" if second is None else f"{words.QUERIER}: "),
        diagonal(),
        *_others(results, headline),
        *([] if second is None else [_line(second.name, second.curve.fpr, second.curve.tpr, "nonmember", 2.6, key="")]),
        _line(headline.name, headline.curve.fpr, headline.curve.tpr, "member", 2.6, key=""),
        *_weighted(results),
        *_allowed(results),
    )
    ticks = () if log else QUARTERS
    return Chart(
        Axis("false alarms (FPR)", (floor, 1.0), log=log, ticks=ticks, form="percent"),
        Axis("members found (TPR)", (floor, 1.0), log=log, ticks=ticks, form="percent"),
        series,
    )


def _floor(nonmembers: int) -> float:
    """Return the start of logarithmic axes: the power of ten at or below one false positive."""
    return 10.0 ** math.floor(math.log10(1 / max(nonmembers, 10)))


def _others(results: Results, headline: AttackResult) -> list[Series]:
    """Return the curves of the other attacks, with one entry in the key for all of them."""
    rows = words.headline_names(results)
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
