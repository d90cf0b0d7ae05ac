"""Sections on risks: predictive value, distribution and calibration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from guestlist._findings import REPORT, CalibratedScore, GroupRisks, Results, RiskQuantiles, contradictions
from guestlist._report import (
    Axis,
    Chart,
    Section,
    Series,
    diagonal,
    fill_template,
    interval_chart,
    interval_ends,
    slice_name,
    wording,
)
from guestlist._util import count, decimal, with_interval
from guestlist.risks import RECOMMENDED, PredictiveValue


def risks_section(results: Results) -> Section | None:
    """Render the predictive value of each risk; None without risks."""
    if not results.risks:
        return None
    ranked = [row for row in results.risks if not math.isnan(row.auc.value)]
    charts = {}
    label = ""
    if ranked:
        names = tuple(row.risk for row in ranked)
        charts["risk-value"] = interval_chart("AUC for flagged members", names, [row.auc for row in ranked], guess=0.5)
        label = "; ".join(f"{row.risk} {with_interval(row.auc)}" for row in ranked)
    text = fill_template(
        "risks.html",
        summary=risk_value_sentence(results.risks),
        caveat=shapr_caveat(results.risks),
        charts=charts,
        label=f"AUC with which each risk ranks flagged members above others: {label}.",
    )
    return Section("risks", "How well do risks predict the attack?", text, charts, appendix=True)


def shapr_caveat(rows: tuple[PredictiveValue, ...]) -> str:
    """Return the caveat that goes with SHAPr; empty where it is not shown."""
    if not any(row.risk.startswith("shapr") for row in rows):
        return ""
    return (
        "SHAPr is the Shapley value of a member for a K-NN model. Its mean over all members is that model's accuracy, so it "
        "measures utility. A memorised outlier can have a low value."
    )


def risk_value_sentence(rows: tuple[PredictiveValue, ...]) -> str:
    """Name the risk that best ranks the flagged members, and compare with flagging every member."""
    everyone, *others = rows
    ranked = [row for row in others if not math.isnan(row.auc.value)]
    start = f"At an FPR of 5%, {everyone.attack} flags {count(everyone.flagged)} of {wording.counted(everyone.members, 'member')}"
    if not ranked:
        return f"{start}. No risk can rank them."
    best = max(ranked, key=lambda row: row.auc.value)
    caveat = wording.only_if(best.auc.low <= 0.5, ", which is not significantly better than chance")
    return (
        f"{start}. Of {wording.counted(len(ranked), 'risk')}, {best.risk} ranks flagged members best (AUC "
        f"{with_interval(best.auc)}{caveat}). Only the model owner can compute these risks."
    )


def ranking_disagreements(pairs: Sequence[tuple[str, str, float]]) -> list[str]:
    """Report the rankings of members that differ, and by how much."""
    from_report = [f"{name} ({decimal(value)})" for first, name, value in pairs if first == REPORT]
    sentences = [
        f"{first} and {second} rank members differently (Spearman correlation {decimal(value)}): they measure different things."
        for first, second, value in pairs
        if first != REPORT
    ]
    if from_report:
        sentences.append(
            "These risks rank members differently from the report's list of exposed records (Spearman correlation in brackets): "
            f"{wording.and_joined(from_report)}."
        )
    return sentences


def group_contradictions(group_risks: GroupRisks) -> list[str]:
    """Name the groups with more of one risk and less of another than the other members."""
    sentences = []
    for part, higher, lower in contradictions(group_risks):
        advice = wording.only_if(RECOMMENDED in (*higher, *lower), f" {RECOMMENDED} is the recommended risk.")
        sentences.append(
            f"Risks contradict each other for {slice_name(part)}: more {wording.and_joined(higher)}, but less "
            f"{wording.and_joined(lower)} than the rest. They measure different things.{advice}"
        )
    return sentences


MAX_GROUPS = 12  # groups in one chart


@dataclass(frozen=True)
class RiskChart:
    """One chart: the element it is drawn into, its risk and its text alternative."""

    id: str
    risk: str
    label: str


def risk_distribution_section(results: Results) -> Section | None:
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
    body = fill_template(
        "risk_spread.html", charts=charts, risk_charts=labelled, matrix=matrix if len(matrix) > 1 else []
    )
    return Section("spread", "Distribution of risks", body, charts, appendix=True)


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
    charts = {"calibration": _calibration_chart(scores)}
    body = fill_template(
        "calibrated.html",
        charts=charts,
        sentences=[calibration_sentence(score) for score in scores],
        label=_calibration_label(scores),
    )
    return Section("calibrated", "Are risk scores calibrated probabilities?", body, charts, appendix=True)


def calibration_sentence(score: CalibratedScore) -> str:
    """Report the calibration error of one risk."""
    rmse = score.calibration.rmse
    caveat = wording.only_if(rmse.low <= 0, "; this is consistent with calibrated scores")
    return f"{score.score}: calibration error {with_interval(rmse)} (root mean square){caveat}."


def _calibration_label(scores: tuple[CalibratedScore, ...]) -> str:
    bins = "; ".join(
        f"{score.score}: "
        + ", ".join(f"{decimal(bin.risk)} to {decimal(bin.share.value)}" for bin in score.calibration.bins)
        for score in scores
    )
    return f"Shares of members against the mean risk of records of such risk. {bins}."


def _calibration_chart(scores: tuple[CalibratedScore, ...]) -> Chart:
    """Draw shares of members over risks; a calibrated probability is on the diagonal."""
    shares = (-0.02, 1.02), (0.0, 0.25, 0.5, 0.75, 1.0)
    points = (_points(score, i) for i, score in enumerate(scores))
    return Chart(
        Axis("risk", shares[0], ticks=shares[1]),
        Axis("share that are members", shares[0], ticks=shares[1]),
        (diagonal("a probability"), *points),
        full_width=True,
    )


def _points(score: CalibratedScore, number: int) -> Series:
    bins = score.calibration.bins
    colours = ("member", "nonmember", "other")
    marks = ("circle", "square", "diamond")
    return Series(
        score.score,
        tuple(bin.risk for bin in bins),
        tuple(bin.share.value for bin in bins),
        colours[number % len(colours)],
        line=1.2,
        mark=marks[number % len(marks)],
        y_ends=interval_ends([bin.share for bin in bins]),
    )
