"""Sections on risks: predictive value, distribution and calibration."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, groupby

from guestlist._findings import REPORT, CalibratedScore, GroupRisks, Results, RiskQuantiles, contradictions
from guestlist._report import (
    Axis,
    Chart,
    Section,
    Series,
    diagonal,
    fill_section,
    interval_chart,
    interval_ends,
    prose,
    sentences,
    slice_name,
)
from guestlist._util import decimal, with_interval
from guestlist.risks import RECOMMENDED, PredictiveValue


def risks_section(results: Results) -> Section | None:
    """Render the predictive value of each risk; None without risks."""
    if not results.risks:
        return None
    ranked = [row for row in results.risks if not math.isnan(row.auc.value)]
    charts = {}
    if ranked:
        names = tuple(row.risk for row in ranked)
        charts["risk-value"] = interval_chart("AUC for flagged members", names, [row.auc for row in ranked], guess=0.5)
    label = "; ".join(f"{row.risk} {with_interval(row.auc)}" for row in ranked)
    return fill_section(
        "risks",
        "How well do risks predict the attack?",
        "risks.html",
        charts=charts,
        appendix=True,
        summary=risk_value_sentence(results.risks),
        with_shapr=any(row.risk.startswith("shapr") for row in results.risks),
        label=f"AUC with which each risk ranks flagged members above others: {label}.",
    )


def risk_value_sentence(rows: tuple[PredictiveValue, ...]) -> str:
    """Name the risk that best ranks the flagged members, and compare with flagging every member."""
    everyone, *others = rows
    return prose("risks.value", everyone, [row for row in others if not math.isnan(row.auc.value)])


def ranking_disagreements(pairs: Sequence[tuple[str, str, float]]) -> list[str]:
    """Report the rankings of members that differ, and by how much."""
    from_report = [f"{name} ({decimal(value)})" for first, name, value in pairs if first == REPORT]
    return sentences("risks.disagreements", [pair for pair in pairs if pair[0] != REPORT], from_report)


def group_contradictions(group_risks: GroupRisks) -> list[str]:
    """Name the groups with more of one risk and less of another than the other members."""
    return [
        prose("risks.contradiction", slice_name(part), higher, lower, RECOMMENDED)
        for part, higher, lower in contradictions(group_risks)
    ]


MAX_GROUPS = 12  # groups in one chart


def risk_distribution_section(results: Results) -> Section | None:
    """Render the distribution of each risk and their rank correlations; None without risks."""
    distribution = results.risk_distribution
    if distribution is None:
        return None
    of_risk = {risk: tuple(rows) for risk, rows in groupby(distribution.quantiles, key=lambda row: row.risk)}
    displayed = {f"spread-{i}": _largest_groups(rows) for i, rows in enumerate(of_risk.values())}
    return fill_section(
        "spread",
        "Distribution of risks",
        "risk_spread.html",
        charts={id: _chart(rows) for id, rows in displayed.items()},
        appendix=True,
        risk_charts=[(id, rows[0].risk, _label(rows)) for id, rows in displayed.items()],
        matrix=list(zip(distribution.names, distribution.spearman, strict=True)),
    )


def _largest_groups(rows: tuple[RiskQuantiles, ...]) -> tuple[RiskQuantiles, ...]:
    """Return all members and the groups with the most members, in their order."""
    largest = sorted(rows[1:], key=lambda row: -row.members)[:MAX_GROUPS]
    return (rows[0], *(row for row in rows[1:] if row in largest))


def _name(row: RiskQuantiles) -> str:
    return ", ".join(f"{column} = {value}" for column, value in row.values.items()) or "all members"


def _label(rows: tuple[RiskQuantiles, ...]) -> str:
    medians = "; ".join(f"{_name(row)}: {decimal(row.quantiles[2])}" for row in rows)
    return f"Distribution of {rows[0].risk}, medians: {medians}."


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


def calibrated_section(results: Results) -> Section | None:
    """Render the calibration of each risk; None without such risks."""
    scores = tuple(score for score in results.calibrated or () if score.calibration.bins)
    if not scores:
        return None
    bins = "; ".join(
        f"{score.score}: "
        + ", ".join(f"{decimal(bin.risk)} to {decimal(bin.share.value)}" for bin in score.calibration.bins)
        for score in scores
    )
    return fill_section(
        "calibrated",
        "Are risk scores calibrated probabilities?",
        "calibrated.html",
        charts={"calibration": _calibration_chart(scores)},
        appendix=True,
        sentences=[prose("risks.calibration", score) for score in scores],
        label=f"Shares of members against the mean risk of records of such risk. {bins}.",
    )


def _calibration_chart(scores: tuple[CalibratedScore, ...]) -> Chart:
    """Draw shares of members over risks; a calibrated probability is on the diagonal."""
    axis = Axis("risk", (-0.02, 1.02), ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    styles = cycle((("member", "circle"), ("nonmember", "square"), ("other", "diamond")))
    points = [
        Series(
            score.score,
            tuple(bin.risk for bin in score.calibration.bins),
            tuple(bin.share.value for bin in score.calibration.bins),
            colour,
            line=1.2,
            mark=mark,
            y_ends=interval_ends([bin.share for bin in score.calibration.bins]),
        )
        for score, (colour, mark) in zip(scores, styles, strict=False)
    ]
    return Chart(
        axis, replace(axis, title="share that are members"), (diagonal("a probability"), *points), full_width=True
    )
