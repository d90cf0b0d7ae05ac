"""Calibration of risks that claim to be probabilities of membership."""

from __future__ import annotations

from guestlist.findings.calibrated import CalibratedScore
from guestlist.findings.results import Results
from guestlist.report.charts import Axis, Chart, Series, diagonal, interval_ends
from guestlist.report.format import decimal, percent, with_interval
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the calibration of each risk; None without such risks."""
    found = tuple(one for one in results.calibrated or () if one.calibration.bins)
    if not found:
        return None
    drawn = {"calibration": _chart(found)}
    body = fill_template(
        "calibrated.html",
        charts=drawn,
        said=[calibration_sentence(one) for one in found],
        label=_label(found),
        priors=[one.prior for one in found[0].priors],
        scores=found,
        percent=percent,
    )
    return Section("calibrated", "Are risks probabilities?", body, drawn, appendix=True)


def calibration_sentence(one: CalibratedScore) -> str:
    """Report the calibration error of one risk."""
    rmse = one.calibration.rmse
    sure = "" if rmse.low > 0 else "; it may be right, and off by chance alone"
    return f"{one.score} is off by {with_interval(rmse)} (root mean square over records){sure}."


def _label(found: tuple[CalibratedScore, ...]) -> str:
    bins = "; ".join(
        f"{one.score}: " + ", ".join(f"{decimal(b.risk)} to {decimal(b.share.value)}" for b in one.calibration.bins)
        for one in found
    )
    return f"Shares of members against the mean risk of records of such risk. {bins}."


def _chart(found: tuple[CalibratedScore, ...]) -> Chart:
    """Draw shares of members over risks; a calibrated probability is on the diagonal."""
    shares = (-0.02, 1.02), (0.0, 0.25, 0.5, 0.75, 1.0)
    points = (_points(one, i) for i, one in enumerate(found))
    return Chart(
        Axis("risk", shares[0], ticks=shares[1]),
        Axis("share that are members", shares[0], ticks=shares[1]),
        (diagonal("a probability"), *points),
        full_width=True,
    )


def _points(one: CalibratedScore, number: int) -> Series:
    bins, colours, marks = one.calibration.bins, ("member", "nonmember", "other"), ("circle", "square", "diamond")
    return Series(
        one.score,
        tuple(b.risk for b in bins),
        tuple(b.share.value for b in bins),
        colours[number % len(colours)],
        line=1.2,
        mark=marks[number % len(marks)],
        y_ends=interval_ends([b.share for b in bins]),
    )
