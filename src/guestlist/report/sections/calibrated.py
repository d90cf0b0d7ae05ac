"""Is a risk that claims to be a probability of membership one? Risks against shares of members, and how far they are off."""

from __future__ import annotations

from guestlist.findings.calibrated import CalibratedScore
from guestlist.findings.results import Results
from guestlist.report import charts
from guestlist.report.format import decimal, percent, with_interval
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    found = tuple(one for one in results.calibrated or () if one.calibration.bins)
    if not found:
        return None
    body = filled(
        "calibrated.html",
        said=[said(one) for one in found],
        label=_label(found),
        priors=[one.prior for one in found[0].priors],
        scores=found,
        percent=percent,
    )
    return Section("calibrated", "Are risks probabilities?", body, {"calibration": _chart(found)})


def said(one: CalibratedScore) -> str:
    """How far one score is off."""
    rmse = one.calibration.rmse
    sure = "" if rmse.low > 0 else "; it may be right, and off by chance alone"
    return f"{one.score} is off by {with_interval(rmse)} (root mean square over records){sure}."


def _label(found: tuple[CalibratedScore, ...]) -> str:
    bins = "; ".join(
        f"{one.score}: " + ", ".join(f"{decimal(b.risk)} to {decimal(b.share.value)}" for b in one.calibration.bins)
        for one in found
    )
    return f"Shares of members against the mean risk of records of such risk. {bins}."


def _chart(found: tuple[CalibratedScore, ...]) -> dict:
    """Shares of members over risks; a probability lies on the diagonal."""
    colours = ("member", "nonmember", "other")
    data = [{**charts.guessing(0.0), "name": "a probability"}]
    data += [_points(one, colours[i % len(colours)]) for i, one in enumerate(found)]
    axis = charts.axis(range=[-0.02, 1.02], dtick=0.25)
    layout = charts.layout(
        xaxis={**axis, "title": charts.title("risk")},
        yaxis={**axis, "title": charts.title("share that are members")},
        height=380,
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return {"data": data, "layout": layout}


def _points(one: CalibratedScore, colour: str) -> dict:
    bins = one.calibration.bins
    up = [charts.short(b.share.high - b.share.value) for b in bins]
    down = [charts.short(b.share.value - b.share.low) for b in bins]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": charts.text(one.score),
        "x": [charts.short(b.risk) for b in bins],
        "y": [charts.short(b.share.value) for b in bins],
        "error_y": {"type": "data", "array": up, "arrayminus": down, "color": f"var(--{colour})", "thickness": 1.2},
        "line": {"color": f"var(--{colour})", "width": 1.2},
        "marker": {"color": f"var(--{colour})", "size": 7},
        "customdata": [b.records for b in bins],
        "hovertemplate": "%{customdata} records of risk %{x:.3~f}<br>%{y:.3~%} are members",
    }
