"""How risks are spread over groups, and whether they rank members alike."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from guestlist.findings.results import Results
from guestlist.findings.risk_spread import Spread
from guestlist.report import charts
from guestlist.report.format import decimal
from guestlist.report.section import Section, filled

MOST = 12  # groups in one chart


@dataclass(frozen=True)
class Chart:
    """One chart: where it is drawn, of which risk, and what it shows for those who do not see it."""

    id: str
    risk: str
    label: str


def section(results: Results) -> Section | None:
    found = results.risk_spread
    if found is None:
        return None
    of_risk = {risk: tuple(rows) for risk, rows in groupby(found.spreads, key=lambda row: row.risk)}
    shown = {f"spread-{i}": _shown(rows) for i, rows in enumerate(of_risk.values())}
    drawn = [Chart(id, rows[0].risk, _label(rows)) for id, rows in shown.items()]
    matrix = [(name, [decimal(value) for value in row]) for name, row in zip(found.names, found.spearman, strict=True)]
    body = filled("risk_spread.html", charts=drawn, matrix=matrix if len(matrix) > 1 else [])
    return Section("spread", "How risks are spread", body, {id: _chart(rows) for id, rows in shown.items()})


def _shown(rows: tuple[Spread, ...]) -> tuple[Spread, ...]:
    """All members, and the groups with most members, in their order."""
    most = sorted(rows[1:], key=lambda row: -row.members)[:MOST]
    return (rows[0], *(row for row in rows[1:] if row in most))


def _name(row: Spread) -> str:
    return ", ".join(f"{column} = {value}" for column, value in row.of.items()) or "all members"


def _label(rows: tuple[Spread, ...]) -> str:
    medians = "; ".join(f"{_name(row)}: {decimal(row.quantiles[2])}" for row in rows)
    return f"Spread of {rows[0].risk}, medians: {medians}."


def _chart(rows: tuple[Spread, ...]) -> dict:
    """A thin line from the 5 % to the 95 % quantile, a thick one over the middle half, a dot at the median."""
    names = [charts.text(_name(row)) for row in rows]
    data = [_line(rows, names, (0, 4), 1.2), _line(rows, names, (1, 3), 7), _medians(rows, names)]
    layout = charts.layout(
        xaxis=charts.axis(title=charts.title("risk: higher means more exposed")),
        yaxis=charts.axis(type="category", categoryorder="array", categoryarray=names[::-1], ticks=""),
        height=110 + 26 * len(rows),
        hovermode="closest",
        showlegend=False,
    )
    return {"data": data, "layout": layout}


def _line(rows: tuple[Spread, ...], names: list[str], ends: tuple[int, int], width: float) -> dict:
    # One trace for all groups: a gap parts one from the next.
    x = [point for row in rows for point in (*(charts.short(row.quantiles[end]) for end in ends), None)]
    y = [point for name in names for point in (name, name, None)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": "var(--member)", "width": width},
        "hoverinfo": "skip",
    }


def _medians(rows: tuple[Spread, ...], names: list[str]) -> dict:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [charts.short(row.quantiles[2]) for row in rows],
        "y": names,
        "marker": {"color": "var(--ink)", "size": 8},
        "customdata": [row.members for row in rows],
        "hovertemplate": "median %{x:.3~g}<br>%{customdata} members<extra></extra>",
    }
