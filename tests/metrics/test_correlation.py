"""Correlations: intervals that hold the truth, and what is withheld."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from guestlist.metrics import pearson, spearman


@pytest.mark.slow
@pytest.mark.parametrize(
    "rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.5, pytest.param(0.8, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("correlation", "truth"), [(pearson, lambda r: r), (spearman, lambda r: 6 / np.pi * np.arcsin(r / 2))]
)
def test_the_interval_holds_the_truth(correlation, truth, rho):
    rng, held = np.random.default_rng(5), []
    for _ in range(600):
        a = rng.normal(size=100)
        interval = correlation(a, rho * a + np.sqrt(1 - rho**2) * rng.normal(size=100))
        held.append(interval.low <= truth(rho) <= interval.high)
    assert 0.93 <= np.mean(held) <= 0.98


@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_a_line_is_no_proof_and_constants_have_none(correlation):
    line = np.arange(6.0)
    estimate = correlation(line, line)
    assert estimate.value == pytest.approx(1)
    assert estimate.low < 1
    assert np.isnan(correlation(line[:3], line[:3]).value)
    assert np.isnan(correlation(line, np.ones(6)).value)


def test_persons_count_once():
    a = np.random.default_rng(0).normal(size=(2, 40))
    alone, of_ten = spearman(*a), spearman(*a, clusters=np.arange(40) // 4)
    assert of_ten.value == alone.value
    assert of_ten.high - of_ten.low > 1.5 * (alone.high - alone.low)


def test_differences_by_rounding_are_withheld():
    rng = np.random.default_rng(0)
    a, b = 0.5 + 1e-15 * rng.normal(size=20), rng.normal(size=20)
    assert np.isnan(pearson(a, b).value)
    assert np.isnan(spearman(b, a).value)
    assert not np.isnan(pearson(1e-15 * rng.normal(size=20), b).value)
    assert not np.isnan(spearman(np.r_[np.inf, b[1:]], b).value)


def test_spearman_is_scipys():
    rng = np.random.default_rng(0)
    a, b = np.round(rng.normal(size=(2, 200)), 1)
    b[:50] += a[:50]
    b[7] = np.inf
    assert spearman(a, b).value == spearmanr(a, b).statistic
