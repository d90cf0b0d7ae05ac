"""Scores with many ties."""

import numpy as np
import pytest
from benchmarks.error_rates import ties

from guestlist.metrics import (
    auc,
    clopper_pearson_lower,
    clopper_pearson_upper,
    placements,
    positive_predictive_value,
    proportion_difference,
    tpr_and_ppv_at_fpr,
    tpr_at_fpr,
)
from guestlist.metrics.ranking import ClusterCodes, _interval, auc_variance
from guestlist.testing import interval_coverage
from simulated_cases import ScoreSimulation


def outcome(right, members, right_outside, nonmembers):
    scores = np.concatenate([np.arange(members) < right, np.arange(nonmembers) < right_outside])
    return scores.astype(np.float64), np.arange(members + nonmembers) < members


def test_an_auc_of_binary_scores_is_a_function_of_the_advantage():
    for right, outside in ((0, 3), (5, 3), (59, 30), (60, 7)):
        estimate, wanted = auc(*outcome(right, 60, outside, 30)), proportion_difference(right, 60, outside, 30)
        assert estimate.value == pytest.approx((1 + wanted.value) / 2)
        assert estimate.low <= (1 + wanted.low) / 2 + 1e-12
        assert estimate.high >= (1 + wanted.high) / 2 - 1e-12


@pytest.mark.parametrize("levels", [2, 3, 6])
@pytest.mark.parametrize(("members", "nonmembers"), [(4, 7), (60, 60), (300, 20)])
def test_the_interval_with_known_coverage_is_that_of_auc(members, nonmembers, levels):
    rng, member = np.random.default_rng(0), np.arange(members + nonmembers) < members
    drawn = [rng.multinomial(n, rng.dirichlet(np.full(levels, 0.3), 40)) for n in (members, nonmembers)]
    for inside, outside, low, high in zip(*drawn, *ties.of_levels(*drawn), strict=True):
        scores = np.concatenate([np.repeat(np.arange(levels), counts) for counts in (inside, outside)])
        assert auc(scores, member)[1:] == pytest.approx((low, high), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("members", "nonmembers"), [(10, 10), (20, 20), (60, 60), (10, 100), (5000, 20)])
def test_an_auc_of_two_values_covers_exactly_summed(members, nonmembers):
    result = ties.two_values(members, nonmembers)
    assert result.covered >= 0.95
    assert result.below <= 0.05  # a gate that asks for the upper end passes falsely no more often


@pytest.mark.slow
def test_delongs_interval_would_not_cover_two_values():
    simulation = ties.Levels(
        np.array([0.001, 0.999]), np.array([0.25, 0.75])
    )  # correct predictions of an overfitted model

    def delong(rng):
        scores, member = simulation.draw(rng, 300, 20)
        placed = placements(scores, member)
        return _interval(placed, auc_variance(placed, ClusterCodes(None, None)), 0.05), simulation.auc

    def ours(rng):
        return auc(*simulation.draw(rng, 300, 20)), simulation.auc

    assert interval_coverage(ours, simulations=800) > 0.94
    assert interval_coverage(delong, simulations=800) < 0.93


def test_scores_of_few_values_cover():
    rows = ties.few_values(400, (3, 10), ((60, 20),))
    shares = np.array([row["covered"] for row in rows])
    assert len(rows) == 50
    assert shares.mean() >= 0.96
    assert shares.min() >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / 400)


def test_a_few_ties_hardly_widen_an_interval():
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(0), 300, 300)
    tied = scores.copy()
    tied[:2] = tied[0]
    apart, together = auc(scores, member), auc(tied, member)
    assert together.high - together.low < 1.1 * (apart.high - apart.low)


@pytest.mark.slow
def test_predictive_values_cover_under_ties():
    rows = ties.predictive_values(60, ((200, 200),))
    assert {"table, 0.02 wrong", "half of a table", "10 levels"} <= {row["scores"] for row in rows}
    for row in rows:
        assert row["covered"] >= 0.93 - 4 * np.sqrt(0.93 * 0.07 / 60), row


def test_a_lookup_table_has_its_own_false_positive_rate():
    # All members score 1, and no non-member does: every flagged record is a member at any allowed rate.
    scores, member = outcome(400, 400, 0, 400)
    estimate = positive_predictive_value(scores, member, 0.05, 0.5)
    low = clopper_pearson_lower(400, 400, 0.05 / 8) / (
        clopper_pearson_lower(400, 400, 0.05 / 8) + clopper_pearson_upper(0, 400, 0.05 / 8)
    )
    assert estimate == pytest.approx((1, low, 1))
    assert estimate.low > 0.97
    some = positive_predictive_value(*outcome(400, 400, 8, 400), 0.05, 0.5)
    assert some.value == pytest.approx(1 / 1.02)
    assert some.low < 1 / 1.02 < some.high < 1


def test_no_flagged_record_has_no_predictive_value():
    scores, member = outcome(400, 400, 100, 400)  # a quarter of the non-members are in the highest group of ties
    tpr, ppv = tpr_and_ppv_at_fpr(scores, member, 0.05, 0.5)
    assert tpr == tpr_at_fpr(scores, member, 0.05)
    assert tpr.value == 0
    assert np.isnan(ppv).all()


def test_few_equal_scores_keep_the_rate_close_to_nominal():
    # Rounded to three digits, a score is shared by two or three of 5,000: the FPR is known up to that.
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(1), 5000, 5000)
    apart = positive_predictive_value(scores, member, 0.05, 0.2)
    together = positive_predictive_value(np.round(scores, 3), member, 0.05, 0.2)
    assert together == pytest.approx(apart, abs=0.02)
