"""Curves show what the table says, whatever ties."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist._report import wording
from guestlist._report.page import page_charts
from guestlist.testing import case_of, evaluate_case, gaussian_simulation


@pytest.mark.slow
@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("which", ["roc-linear", "roc-log"])
def test_the_chart_shows_the_metrics_of_the_table_under_ties(which, digits):
    """At each FPR of the table the curve has the table's TPR, and between them it does not leave its own band."""
    case = case_of(rounded_simulation(digits), ("loss", "lira_bayes"))
    results = evaluate_case(case)
    attack, series = wording.headline_attack(results), page_charts(results)[which].series
    band, line_ = series[0], next(drawn for drawn in series if drawn.line and drawn.name == attack.name)
    assert line_.step
    assert band.band
    assert band.step
    rates = [rate for rate in attack.rates if rate.resolution != "withheld"]
    assert len(rates) == 2
    for rate in rates:
        assert stairs(line_.x, line_.y, rate.fpr) == pytest.approx(rate.tpr.value, rel=1e-5)
    inside, (low, high) = np.geomspace(min(band.x), 1, 500), zip(*band.y_ends, strict=True)
    assert (stairs(band.x, low, inside) <= stairs(line_.x, line_.y, inside)).all()
    assert (stairs(line_.x, line_.y, inside) <= stairs(band.x, high, inside, early=True)).all()


def rounded_simulation(digits):
    simulation = gaussian_simulation(1.5, records=600, models=9, seed=1)
    margin = np.round(simulation.values["margin"], digits)
    return replace(
        simulation, values={**simulation.values, "margin": margin, "loss": np.round(np.logaddexp(0, -margin), digits)}
    )


def stairs(x, y, at, *, early=False):
    """Return the heights of a step function: each height holds until the next point, or from the last one on if ``early``."""
    return np.array(y)[np.searchsorted(x, at, "left" if early else "right") - (not early)]
