"""How the headline attack scores members and non-members."""

from __future__ import annotations

from guestlist.findings.attacks import AttackResult, Histogram
from guestlist.findings.results import Results
from guestlist.report import charts, words
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    headline = words.headline(results)
    if headline is None:
        return None
    drawn = {"scores": _scores(headline)}
    return Section("distribution", "Scores of members and non-members", filled("scores.html", headline=headline), drawn)


def _scores(headline: AttackResult) -> dict:
    """How the headline attack scores members and non-members, as shares of each."""
    members = _outline(headline.histogram, headline.histogram.members, "members", "member", "solid")
    nonmembers = _outline(headline.histogram, headline.histogram.nonmembers, "non-members", "nonmember", "dash")
    layout = charts.layout(
        xaxis=charts.axis(title=charts.title("score: higher means likelier member"), zeroline=False),
        yaxis=charts.axis(title=charts.title("share of records"), tickformat="~%", rangemode="tozero"),
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
        "x": [charts.short(edge) for edge in histogram.edges],
        "y": [charts.short(share) for share in (*shares, *shares[-1:])],
        "line": {"color": f"var(--{colour})", "width": 1.8, "dash": dash, "shape": "hv"},
        "fill": "tozeroy",
        "fillcolor": f"var(--{colour}-fill)",
        "hovertemplate": "%{y:.3~%}",
    }
