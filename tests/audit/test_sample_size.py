"""Compare the estimated sample size with the intervals themselves on larger samples of the same distribution."""

import numpy as np
import pytest
from scipy.special import ndtri

from guestlist import Estimate
from guestlist._audit.gate import sample_size_factor
from guestlist._findings import Limit
from guestlist.metrics import WITHHELD, advantage, auc, tpr_at_fpr

SHIFT = 0.3


def sample(members: int, nonmembers: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of two normals: a sample of any size with the same value."""
    sides = [ndtri((np.arange(n) + 0.5) / n) + shift for n, shift in ((members, SHIFT), (nonmembers, 0.0))]
    return np.concatenate(sides), np.arange(members + nonmembers) < members


MEASURES = {
    "auc": (lambda *arguments: auc(*arguments), None, 1.1),
    # Calls are whole records, so that with a hundred of them the value itself moves by a step when there are more.
    "advantage": (lambda *arguments: advantage(*arguments, SHIFT / 2), None, 1.25),
    # Its ends are order statistics, which move in steps too.
    "tpr": (lambda *arguments: tpr_at_fpr(*arguments, 0.05), 0.05, 1.5),
}


@pytest.mark.parametrize("room", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("sizes", [(100, 100), (400, 400), (300, 2000), (2000, 300)])
@pytest.mark.parametrize("measure", MEASURES)
def test_so_many_records_bring_the_upper_end_to_the_limit(measure, sizes, room):
    interval, fpr, factor = MEASURES[measure]
    estimate = interval(*sample(*sizes))
    most = estimate.value + room * (estimate.high - estimate.value)
    times = sample_size_factor(estimate, Limit(most, measure, fpr))

    def high(times: float) -> float:
        return interval(*sample(*(round(times * n) for n in sizes))).high

    assert high(times / factor) > most > high(times * factor)


def test_a_value_beyond_the_limit_is_settled_by_no_number():
    assert sample_size_factor(Estimate(0.61, 0.55, 0.65), Limit(0.6)) == np.inf
    assert sample_size_factor(Estimate(0.6, 0.55, 0.65), Limit(0.6)) == np.inf


def test_an_uninformative_interval_has_no_sample_size():
    assert np.isnan(sample_size_factor(WITHHELD, Limit(0.6)))
    assert np.isnan(sample_size_factor(Estimate(0.5, 0.0, 1.0), Limit(0.6)))


def test_without_flagged_records_the_upper_limit_falls_as_one_over_n():
    assert sample_size_factor(Estimate(0.0, 0.0, 0.04), Limit(0.01, "tpr", 0.01)) == pytest.approx(4, rel=0.05)
