"""The section on calibration: how far scores are off, and a chart that the diagonal judges."""

from dataclasses import replace

import pytest

from example_results import HOSTILE
from guestlist import Estimate
from guestlist._report import prose
from guestlist._report.page import report_page
from guestlist._report.sections import risks
from guestlist.testing import evaluate_case, leaking_case


@pytest.fixture(scope="module")
def results():
    return evaluate_case(leaking_case(records=2000))


def test_the_chart_holds_every_bin_with_its_interval(results):
    drawn = risks.calibrated_section(results).charts["calibration"].series
    (calibrated,) = results.calibrated
    assert calibrated.score == "risk_score"
    diagonal, points = drawn
    assert diagonal.x == diagonal.y
    assert points.x == tuple(b.risk for b in calibrated.calibration.bins)
    assert points.y == tuple(b.share.value for b in calibrated.calibration.bins)
    assert points.y_ends == tuple((b.share.low, b.share.high) for b in calibrated.calibration.bins)
    assert len(points.x) > 3


def test_the_page_reports_the_calibration_error(results, snapshot):
    (calibrated,) = results.calibrated
    made = report_page(results)
    assert prose("risks.calibration", calibrated) in made
    assert f"risk_score: calibration error {calibrated.calibration.rmse.value:.3f}" in made
    sure = replace(calibrated, calibration=replace(calibrated.calibration, rmse=Estimate(0.2, 0.15, 0.25)))
    snapshot(prose("risks.calibration", sure))
    chance = replace(calibrated, calibration=replace(calibrated.calibration, rmse=Estimate(0.02, 0.0, 0.05)))
    snapshot(prose("risks.calibration", chance))


def test_names_are_escaped_and_the_text_is_empty_without_a_score(results):
    hostile = replace(results, calibrated=tuple(replace(row, score=HOSTILE) for row in results.calibrated))
    assert "<img src=x" not in report_page(hostile)
    assert risks.calibrated_section(replace(results, calibrated=None)) is None
