import numpy as np
import pytest

from guestlist.metrics import proportion, rates_at_level
from guestlist.testing import interval_coverage


def test_rates_are_shares_of_p_values_up_to_the_level():
    rng = np.random.default_rng(0)
    member = rng.random(300) < 0.5
    p_values = np.round(rng.random(300), 1)  # many equal the level
    p_values[::9] = np.nan
    for rate, kind in zip(rates_at_level(p_values, member, 0.1, confidence=0.9), (~member, member), strict=True):
        side = [p for p, counts in zip(p_values, kind, strict=True) if counts and not np.isnan(p)]
        assert rate == proportion(sum(p <= 0.1 for p in side), len(side), confidence=0.9)


def test_withheld_without_p_values_of_a_kind():
    fpr, tpr = rates_at_level([0.1, np.nan], [True, False], 0.5)
    assert np.isnan(fpr).all()
    assert tpr.value == 1
    with pytest.raises(ValueError, match=r"alpha=-1 in \[0, 1\]"):
        rates_at_level([0.1], [True], -1)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "power"), [(0.01, 1.0), (0.05, 1.0), (0.05, 1.3), (0.3, 0.8)])
def test_the_interval_of_the_realised_rate_covers(alpha, power):
    """p = U ** power: P(p <= alpha) is alpha ** (1 / power), which is alpha for a valid test."""

    def estimate(rng):
        p_values = rng.random(400) ** power
        return rates_at_level(p_values, np.zeros(400, dtype=bool), alpha)[0], alpha ** (1 / power)

    assert (
        0.94 <= interval_coverage(estimate, simulations=1000) <= 0.995
    )  # exact, so cautious: 99 % where four calls are expected
