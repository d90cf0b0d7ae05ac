"""ROC curves of all attacks, on linear and on logarithmic axes."""

from __future__ import annotations

import math

import numpy as np

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.privacy import largest_tpr
from guestlist.report import charts, words
from guestlist.report.section import Section, filled
from guestlist.report.sections.epsilon import told


def section(results: Results) -> Section | None:
    headline = words.headline(results)
    if headline is None:
        return None
    body = filled(
        "curves.html",
        headline=headline,
        several=len(results.outcomes or ()) > 1,
        claim=_claim(results),
        weighted=bool(results.adjusted and results.adjusted.fpr),
    )
    drawn = {"roc-linear": _roc(results, headline, log=False), "roc-log": _roc(results, headline, log=True)}
    return Section("curves", "Members found against false alarms", body, drawn)


def _roc(results: Results, headline: AttackResult, *, log: bool) -> dict:
    """ROC curves: the headline's with its band, the others thin, and the diagonal of guessing."""
    nonmembers = results.subject.nonmembers if results.subject else 0
    floor = _floor(nonmembers) if log else 0.0
    others = [outcome for outcome in results.outcomes or () if outcome.name != headline.name]
    # A straight piece of a curve is bent on logarithmic axes, so points are put in between.
    between = charts.geometric(1 / max(nonmembers, 1)) if log else []
    data = [*_band(headline, floor), charts.guessing(floor)]
    data += [_line(outcome, floor, between, {"color": "var(--other)", "width": 1}) for outcome in others]
    data.append(_line(headline, floor, between, {"color": "var(--member)", "width": 2.6}))
    data += _weighted(results, floor, between)
    data += _allowed(results, floor)
    exact = {"type": "log", "range": [math.log10(floor), 0], "dtick": 1} if log else {"range": [0, 1], "dtick": 0.25}
    axis = charts.axis(tickformat="~%", **exact)
    layout = charts.layout(
        xaxis={**axis, "title": charts.title("false alarms (FPR)")},
        yaxis={**axis, "title": charts.title("members found (TPR)")},
        height=380,
        hovermode="closest",
        showlegend=False,
    )
    return {"data": data, "layout": layout}


def _claim(results: Results) -> str:
    """What is claimed, in words; empty where nothing is."""
    return "" if results.epsilon is None or results.epsilon.claimed is None else told(results.epsilon.claimed)


def _allowed(results: Results, floor: float) -> list[dict]:
    """The most that a claimed epsilon allows, where records are exchangeable."""
    if results.epsilon is None or results.epsilon.claimed is None:
        return []
    claim, fpr = results.epsilon.claimed, np.array(charts.geometric(floor or 1e-3))
    fpr = fpr if floor else np.concatenate([[0.0], fpr])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": charts.text(f"allowed by {told(claim)}"),
            "x": [charts.short(float(x)) for x in fpr],
            "y": [charts.short(float(y)) for y in largest_tpr(fpr, claim.epsilon, claim.delta)],
            "line": {"color": "var(--ink)", "width": 1.4, "dash": "dash"},
            "hovertemplate": "at most %{y:.3~%} of members<br>at %{x:.3~%} false alarms",
        }
    ]


def _floor(nonmembers: int) -> float:
    """Where logarithmic axes begin: the power of ten at or below one false alarm."""
    return 10.0 ** math.floor(math.log10(1 / max(nonmembers, 10)))


def _weighted(results: Results, floor: float, between: list[float]) -> list[dict]:
    """The headline attack against non-members that are weighted to be like members."""
    found = results.adjusted
    if found is None or not found.fpr:
        return []
    line = {"color": "var(--member)", "width": 1.6, "dash": "dash"}
    return [_curve(f"{found.attack}, non-members weighted", found.fpr, found.tpr, floor, between, line)]


def _line(outcome: AttackResult, floor: float, between: list[float], line: dict) -> dict:
    return _curve(outcome.name, outcome.curve.fpr, outcome.curve.tpr, floor, between, line)


def _curve(
    name: str, fpr: tuple[float, ...], tpr: tuple[float, ...], floor: float, between: list[float], line: dict
) -> dict:
    added = [(x, float(np.interp(x, fpr, tpr))) for x in between if x not in fpr]
    # Sorted by both: where a curve rises upright, its points have one FPR.
    points = sorted([*zip(fpr, tpr, strict=True), *added])
    points = [(x, y) for x, y in points if x >= floor and y >= floor]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": charts.text(name),
        "x": [charts.short(x) for x, _ in points],
        "y": [charts.short(y) for _, y in points],
        "line": line,
        "hovertemplate": "%{y:.3~%} of members found<br>at %{x:.3~%} false alarms",
    }


def _band(outcome: AttackResult, floor: float) -> list[dict]:
    """The pointwise band as two lines with the space between them filled."""
    curve = outcome.curve
    inside = [
        i for i, x in enumerate(curve.band_fpr) if x >= floor and not math.isnan(curve.band_low[i] + curve.band_high[i])
    ]
    common = {
        "type": "scatter",
        "mode": "lines",
        "x": [charts.short(curve.band_fpr[i]) for i in inside],
        "hoverinfo": "skip",
        "showlegend": False,
    }
    # Below the axis there is nothing to draw, and a logarithm has no zero.
    low, high = ([charts.short(max(ends[i], floor / 10)) for i in inside] for ends in (curve.band_low, curve.band_high))
    hidden = {"color": "var(--band)", "width": 0}
    return [
        {**common, "y": high, "line": hidden},
        {**common, "y": low, "line": hidden, "fill": "tonexty", "fillcolor": "var(--band)"},
    ]
