"""Calibration of risks that claim to be probabilities of membership."""

from __future__ import annotations

from guestlist.findings.calibrated import CalibratedScore
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.charts import Axis, Chart, Series, diagonal, interval_ends
from guestlist.report.format import decimal, percent, with_interval
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the calibration of each risk; None without such risks."""
    scores = tuple(score for score in results.calibrated or () if score.calibration.bins)
    if not scores:
        return None
    charts = {"calibration": _chart(scores)}
    body = fill_template(
        "calibrated.html",
        charts=charts,
        said=[calibration_sentence(score) for score in scores],
        label=_label(scores),
        priors=[score.prior for score in scores[0].priors],
        scores=scores,
        percent=percent,
    )
    return Section("calibrated", "Are risks probabilities?", body, charts, appendix=True)


def calibration_sentence(score: CalibratedScore) -> str:
    """Report the calibration error of one risk."""
    rmse = score.calibration.rmse
    caveat = words.only_if(rmse.low <= 0, "; it may be right, and off by chance alone")
    return f"{score.score} is off by {with_interval(rmse)} (root mean square over records){caveat}."


def _label(scores: tuple[CalibratedScore, ...]) -> str:
    bins = "; ".join(
        f"{score.score}: "
        + ", ".join(f"{decimal(bin.risk)} to {decimal(bin.share.value)}" for bin in score.calibration.bins)
        for score in scores
    )
    return f"Shares of members against the mean risk of records of such risk. {bins}."


def _chart(scores: tuple[CalibratedScore, ...]) -> Chart:
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
