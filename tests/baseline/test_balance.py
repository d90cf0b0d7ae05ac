"""Weights that balance means: against shares that are counted, loops, and differences that chance explains."""

import numpy as np
import pytest
from benchmarks.error_rates.baseline import TRUE_AUC, weighted_result
from scipy.stats import ttest_ind

from guestlist._baseline.regression import log_odds, standard_errors


def test_of_two_kinds_weights_are_the_ratio_of_their_shares():
    kind = np.r_[np.repeat([1.0, 0.0], [600, 200]), np.repeat([1.0, 0.0], [200, 600])]
    member = np.arange(1600) < 800
    weights = np.exp(log_odds(kind[:, None], member, np.arange(1600)))
    assert weights[~member & (kind == 1)] == pytest.approx(3.0, rel=0.01)
    assert weights[~member & (kind == 0)] == pytest.approx(1 / 3, rel=0.02)
    assert weights[~member].sum() == pytest.approx(800)


def test_standard_errors_are_those_of_welch_and_count_persons_once():
    rng = np.random.default_rng(0)
    member, x = np.arange(90) < 40, rng.normal(size=(90, 3))
    errors = standard_errors(x, member, np.arange(90))
    assert errors == pytest.approx(ttest_ind(x[member], x[~member], equal_var=False).statistic, rel=0.02)
    twice = np.tile(np.arange(90), 2)  # every person has two equal records
    assert standard_errors(x[twice], member[twice], twice) == pytest.approx(errors)
    assert standard_errors(x[twice], member[twice], np.arange(180)) == pytest.approx(errors * np.sqrt(2))


def test_differences_within_a_standard_error_are_left_and_large_ones_made_up_for():
    rng = np.random.default_rng(1)
    member, x = np.arange(600) < 300, rng.normal(size=(600, 20))
    x[member, 0] += 1.0
    weights = np.exp(log_odds(x, member, np.arange(600)))[~member]
    difference = np.average(x[~member], weights=weights, axis=0) - x[member].mean(axis=0)
    assert abs(difference[0]) < 0.02
    plain = np.exp(log_odds(x[:, :1], member, np.arange(600)))[~member]
    assert np.corrcoef(weights, plain)[0, 1] > 0.9  # the other columns hardly move them


def test_sets_that_nothing_can_balance_are_separated_by_their_odds():
    member = np.arange(200) < 100
    kinds = np.c_[member * 1.0, np.random.default_rng(2).normal(size=200)]
    odds = log_odds(kinds, member, np.arange(200))
    assert odds[member].min() > odds[~member].max() + 10
    assert np.exp(odds[~member]).sum() == pytest.approx(100)
    assert np.isfinite(log_odds(np.zeros((200, 2)), member, np.arange(200))).all()  # nothing to balance


@pytest.mark.slow
def test_weighted_nonmembers_give_back_what_the_model_gives_away():
    """Few simulations here; bias, absolute error and coverage of many are in benchmarks/error_rates."""
    simulations = [weighted_result(200, 1.0, [69, k]) for k in range(5)]
    off = np.array([simulation.adjusted.auc.value - TRUE_AUC for simulation in simulations])
    assert abs(off.mean()) < 0.045  # three standard errors
    assert all(simulation.adjusted.auc.low <= TRUE_AUC <= simulation.adjusted.auc.high for simulation in simulations)
    assert all(simulation.baseline.significant for simulation in simulations)
    assert not any(simulation.adjusted.refused for simulation in simulations)
    apart = weighted_result(100, 3.0, [69, 9])
    assert (apart.adjusted.refused, apart.adjusted.auc) == ("few", None)
