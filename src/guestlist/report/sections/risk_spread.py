"""Distribution of risks over groups, and rank correlations between risks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from guestlist.findings.results import Results
from guestlist.findings.risk_spread import RiskQuantiles
from guestlist.report.charts import Axis, Chart, Series
from guestlist.report.format import decimal
from guestlist.report.section import Section, fill_template

MAX_GROUPS = 12  # groups in one chart


@dataclass(frozen=True)
class RiskChart:
    """One chart: the element it is drawn into, its risk and its text alternative."""

    id: str
    risk: str
    label: str


def section(results: Results) -> Section | None:
    """Render the distribution of each risk and their rank correlations; None without risks."""
    distribution = results.risk_distribution
    if distribution is None:
        return None
    of_risk = {risk: tuple(rows) for risk, rows in groupby(distribution.quantiles, key=lambda row: row.risk)}
    displayed = {f"spread-{i}": _largest_groups(rows) for i, rows in enumerate(of_risk.values())}
    charts = {id: _chart(rows) for id, rows in displayed.items()}
    labelled = [RiskChart(id, rows[0].risk, _label(rows)) for id, rows in displayed.items()]
    matrix = [
        (name, [decimal(value) for value in row])
        for name, row in zip(distribution.names, distribution.spearman, strict=True)
    ]
    body = fill_template("risk_spread.html", charts=charts, shown=labelled, matrix=matrix if len(matrix) > 1 else [])
    return Section("spread", "How risks are spread", body, charts, appendix=True)


def _largest_groups(rows: tuple[RiskQuantiles, ...]) -> tuple[RiskQuantiles, ...]:
    """Return all members and the groups with the most members, in their order."""
    largest = sorted(rows[1:], key=lambda row: -row.members)[:MAX_GROUPS]
    return (rows[0], *(row for row in rows[1:] if row in largest))


def _name(row: RiskQuantiles) -> str:
    return ", ".join(f"{column} = {value}" for column, value in row.values.items()) or "all members"


def _label(rows: tuple[RiskQuantiles, ...]) -> str:
    medians = "; ".join(f"{_name(row)}: {decimal(row.quantiles[2])}" for row in rows)
    return f"RiskQuantiles of {rows[0].risk}, medians: {medians}."


def _chart(rows: tuple[RiskQuantiles, ...]) -> Chart:
    """Draw a thin line from the 5% to the 95% quantile, a thick one over the middle half and a dot at the median."""
    positions = tuple(map(float, range(len(rows))))
    medians = tuple(row.quantiles[2] for row in rows)

    def line(name: str, low: int, high: int, bar: float) -> Series:
        ends = tuple((row.quantiles[low], row.quantiles[high]) for row in rows)
        return Series(name, medians, positions, "member", x_ends=ends, bar=bar, hover=False)

    return Chart(
        Axis("risk: higher means more exposed"),
        Axis("", names=tuple(_name(row) for row in rows)),
        (
            line("nine in ten", 0, 4, 1.2),
            line("the middle half", 1, 3, 7),
            Series("median", medians, positions, "ink", mark="circle"),
        ),
        height=80 + 26 * len(rows),
    )
