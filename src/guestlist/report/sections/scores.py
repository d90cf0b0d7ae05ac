"""Distribution of the headline attack's scores for members and non-members."""

from __future__ import annotations

from guestlist.findings.attacks import AttackResult, Histogram
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.charts import Axis, Chart, Series
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the two distributions; None without a headline attack."""
    headline = words.headline_attack(results)
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
