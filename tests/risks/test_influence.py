"""Influence: equal to plain loops, and p-values that are even where nothing moves anything."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from guestlist.risks.influence import membership_influence, privacy_influence
from guestlist.testing import bernoulli


def simulated_models(models=14, records=12, seed=0):
    rng = np.random.default_rng(seed)
    values, member = rng.normal(5, 1, (models, records)), bernoulli(models, records, rng)[0]
    values[rng.random(values.shape) < 0.1] = np.nan
    member[:, 3] = True  # every model was trained on it
    values[:, 4] = 0.1  # all models agree
    return values, member


def test_equal_to_plain_loops():
    values, member = simulated_models()
    chosen = np.array([3, 0, 7])
    influences = membership_influence(values, member, chosen)
    for i in range(12):
        for at, j in enumerate(chosen):
            sides = [
                np.array([values[k, i] for k in range(14) if member[k, j] == side and values[k, i] == values[k, i]])
                for side in (True, False)
            ]
            if not all(map(len, sides)):
                assert np.isnan(influences.raised[i, at])
                assert np.isnan(influences.p_value[i, at])
                continue
            assert influences.raised[i, at] == pytest.approx(sides[0].mean() - sides[1].mean(), abs=1e-12)
            if i == 4:
                assert np.isnan(influences.p_value[i, at])
            else:
                assert influences.p_value[i, at] == pytest.approx(ttest_ind(*sides).pvalue, rel=1e-9)


def test_privacy_influence_is_that_on_right_calls():
    values, member = simulated_models()
    called = np.where(np.isnan(values), np.nan, values > 5)
    influences = privacy_influence(called, member, np.arange(12))
    right = np.array([[called[k, i] == member[k, i] for i in range(12)] for k in range(14)], dtype=float)
    right[np.isnan(values)] = np.nan
    for got, wanted in zip(influences, membership_influence(right, member, np.arange(12)), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_p_values_are_even_where_nothing_moves_anything():
    rng = np.random.default_rng(1)
    influences = membership_influence(rng.normal(size=(40, 400)), bernoulli(40, 400, rng)[0], np.arange(50))
    for level in (0.01, 0.05, 0.5):
        assert (influences.p_value <= level).mean() == pytest.approx(level, rel=0.15)


def test_a_record_that_covers_for_another_is_found():
    """Once record 0 leaves, an attack is right about record 1, and only about that."""
    rng = np.random.default_rng(2)
    member = bernoulli(64, 30, rng)[0]
    called = (rng.random((64, 30)) < 0.5).astype(float)
    called[~member[:, 0], 1] = member[~member[:, 0], 1]
    influences = privacy_influence(called, member, np.array([0]))
    assert influences.raised[:, 0].argmin() == 1
    assert influences.raised[1, 0] == pytest.approx(-0.5, abs=0.25)
    assert influences.p_value[:, 0].argmin() == 1
