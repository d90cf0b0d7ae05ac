"""The charts of the page, as plotly's JSON.

Colours are names of CSS variables, which the page's script looks up, so that the charts follow the page from
light to dark. Text that comes from a user goes through :func:`text`, because plotly reads some HTML.
"""

from __future__ import annotations

import html
import math

import numpy as np

from guestlist.findings.results import AttackResult, Histogram, Results
from guestlist.report.promises import tests

# Tests are told apart by shape as well as by colour.
MARKS = (
    ("circle", "--member"),
    ("square", "--nonmember"),
    ("diamond", "--ink"),
    ("triangle-up", "--member"),
    ("cross", "--nonmember"),
    ("star", "--ink"),
)
LEAST_REALISED = 0.001  # where the axes of asked and realised rates begin


def charts(results: Results) -> dict[str, dict]:
    """Every chart of the page, by the id of the element it is drawn into."""
    drawn = {
        "roc-linear": _roc(results, log=False),
        "roc-log": _roc(results, log=True),
        "scores": _scores(results.attack(results.headline)),
    }
    return drawn | ({"asked-realised": _promises(tests(results))} if tests(results) else {})


def text(words: str) -> str:
    """Text that plotly shows as it is: it reads a few tags and entities, and this leaves it none to read."""
    return html.escape(words, quote=False)


def _roc(results: Results, *, log: bool) -> dict:
    """ROC curves: the headline's with its band, the others thin, and the diagonal of guessing."""
    floor = _floor(results) if log else 0.0
    headline = results.attack(results.headline)
    others = [finding for finding in results.findings if finding.name != results.headline]
    # A straight piece of a curve is bent on logarithmic axes, so points are put in between.
    between = _geometric(1 / max(results.subject.nonmembers, 1)) if log else []
    data = [*_band(headline, floor), _guessing(floor)]
    data += [_line(finding, floor, between, {"color": "var(--other)", "width": 1}) for finding in others]
    data.append(_line(headline, floor, between, {"color": "var(--member)", "width": 2.6}))
    exact = {"type": "log", "range": [math.log10(floor), 0], "dtick": 1} if log else {"range": [0, 1], "dtick": 0.25}
    axis = _axis(tickformat="~%", **exact)
    layout = _layout(
        xaxis={**axis, "title": _title("false alarms (FPR)")},
        yaxis={**axis, "title": _title("members found (TPR)")},
        height=380,
        hovermode="closest",
        showlegend=False,
    )
    return {"data": data, "layout": layout}


def _floor(results: Results) -> float:
    """Where logarithmic axes begin: the power of ten at or below one false alarm."""
    return 10.0 ** math.floor(math.log10(1 / max(results.subject.nonmembers, 10)))


def _geometric(start: float, steps: int = 60) -> list[float]:
    return [start ** (1 - i / steps) for i in range(steps + 1)]


def _line(finding: AttackResult, floor: float, between: list[float], line: dict) -> dict:
    curve = finding.curve
    added = [(x, float(np.interp(x, curve.fpr, curve.tpr))) for x in between if x not in curve.fpr]
    # Sorted by both: where a curve rises upright, its points have one FPR.
    points = sorted([*zip(curve.fpr, curve.tpr, strict=True), *added])
    points = [(x, y) for x, y in points if x >= floor and y >= floor]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text(finding.name),
        "x": [_short(x) for x, _ in points],
        "y": [_short(y) for _, y in points],
        "line": line,
        "hovertemplate": "%{y:.3~%} of members found<br>at %{x:.3~%} false alarms",
    }


def _band(finding: AttackResult, floor: float) -> list[dict]:
    """The pointwise band as two lines with the space between them filled."""
    curve = finding.curve
    inside = [
        i for i, x in enumerate(curve.band_fpr) if x >= floor and not math.isnan(curve.band_low[i] + curve.band_high[i])
    ]
    common = {
        "type": "scatter",
        "mode": "lines",
        "x": [_short(curve.band_fpr[i]) for i in inside],
        "hoverinfo": "skip",
        "showlegend": False,
    }
    # Below the axis there is nothing to draw, and a logarithm has no zero.
    low, high = ([_short(max(ends[i], floor / 10)) for i in inside] for ends in (curve.band_low, curve.band_high))
    hidden = {"color": "var(--band)", "width": 0}
    return [
        {**common, "y": high, "line": hidden},
        {**common, "y": low, "line": hidden, "fill": "tonexty", "fillcolor": "var(--band)"},
    ]


def _guessing(floor: float) -> dict:
    steps = _geometric(floor) if floor else [0.0, 1.0]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "guessing",
        "x": [_short(x) for x in steps],
        "y": [_short(x) for x in steps],
        "line": {"color": "var(--quiet)", "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }


def _scores(headline: AttackResult) -> dict:
    """How the headline attack scores members and non-members, as shares of each."""
    members = _outline(headline.histogram, headline.histogram.members, "members", "member", "solid")
    nonmembers = _outline(headline.histogram, headline.histogram.nonmembers, "non-members", "nonmember", "dash")
    layout = _layout(
        xaxis=_axis(title=_title("score: higher means likelier member"), zeroline=False),
        yaxis=_axis(title=_title("share of records"), tickformat="~%", rangemode="tozero"),
        height=320,
        hovermode="x unified",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return {"data": [nonmembers, members], "layout": layout}


def _outline(histogram: Histogram, shares: tuple[float, ...], name: str, colour: str, dash: str) -> dict:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [_short(edge) for edge in histogram.edges],
        "y": [_short(share) for share in (*shares, *shares[-1:])],
        "line": {"color": f"var(--{colour})", "width": 1.8, "dash": dash, "shape": "hv"},
        "fill": "tozeroy",
        "fillcolor": f"var(--{colour}-fill)",
        "hovertemplate": "%{y:.3~%}",
    }


def _promises(found: tuple[AttackResult, ...]) -> dict:
    """Asked against realised false-positive rates, a mark with its interval for each, and the diagonal of promises."""
    data = [{**_guessing(LEAST_REALISED), "name": "as asked", "showlegend": False}]
    # Marks of one level stand side by side, or they would hide each other.
    data += [
        _marks(finding, 1.07 ** (i - (len(found) - 1) / 2), *MARKS[i % len(MARKS)]) for i, finding in enumerate(found)
    ]
    asked = sorted({level.alpha for finding in found for level in finding.levels})
    axis = _axis(type="log", tickformat="~%")
    around = [math.log10(asked[0] / 2), math.log10(min(2 * asked[-1], 1.0))]
    layout = _layout(
        xaxis={**axis, "range": around, "tickvals": asked, "title": _title("false alarms asked for")},
        yaxis={**axis, "range": [math.log10(LEAST_REALISED), 0], "dtick": 1, "title": _title("false alarms realised")},
        height=380,
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return {"data": data, "layout": layout}


def _marks(finding: AttackResult, beside: float, symbol: str, colour: str) -> dict:
    levels = [level for level in finding.levels if not math.isnan(level.fpr.value)]
    # A logarithm has no zero: what lies below the axis is drawn at its edge, and the hover tells the number.
    at = [max(level.fpr.value, LEAST_REALISED) for level in levels]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": text(finding.name),
        "x": [_short(level.alpha * beside) for level in levels],
        "y": [_short(y) for y in at],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [_short(max(level.fpr.high - y, 0.0)) for level, y in zip(levels, at, strict=True)],
            "arrayminus": [
                _short(y - min(max(level.fpr.low, LEAST_REALISED / 10), y)) for level, y in zip(levels, at, strict=True)
            ],
            "color": f"var({colour})",
            "thickness": 1.2,
            "width": 3,
        },
        "marker": {"symbol": symbol, "size": 9, "color": f"var({colour})"},
        "customdata": [[_short(level.alpha), _short(level.fpr.value)] for level in levels],
        "hovertemplate": "%{customdata[1]:.3~%} false alarms<br>where %{customdata[0]:.3~%} was asked for",
    }


def _short(value: float) -> float | None:
    """A number to six digits, which no screen resolves further; null where JSON has none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _title(words: str) -> dict:
    return {"text": words, "font": {"size": 13}}


def _axis(**more) -> dict:
    grid = {
        "gridcolor": "var(--grid)",
        "linecolor": "var(--rule)",
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "tickcolor": "var(--rule)",
    }
    return {**grid, "fixedrange": True, "automargin": True, **more}


def _layout(**more) -> dict:
    return {
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--ink)"},
        "paper_bgcolor": "var(--none)",
        "plot_bgcolor": "var(--none)",
        "hoverlabel": {
            "bgcolor": "var(--paper)",
            "bordercolor": "var(--rule)",
            "font": {"color": "var(--ink)"},
            "namelength": -1,
        },
        "margin": {"l": 60, "r": 28, "t": 16, "b": 56},
        "dragmode": False,
        **more,
    }
