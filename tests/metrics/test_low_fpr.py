import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import oracles_metrics as oracle
from guestlist.metrics import (
    Resolution,
    clopper_pearson_lower,
    clopper_pearson_upper,
    positive_predictive_value,
    proportion,
    records_needed,
    resolution,
    roc_band,
    smallest_detectable_tpr,
    threshold_at_fpr,
    tpr_at_fpr,
)
from guestlist.testing import interval_coverage
from simulated_cases import ScoreSimulation

lattice = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, np.inf])


@st.composite
def resolved(draw):
    """``(scores, member, fpr)`` with just enough non-members, or more, to resolve the FPR."""
    fpr = draw(st.sampled_from([0.05, 0.1, 0.25, 0.29, 0.5, 0.9]))
    fewest = math.ceil(1 / fpr)
    outside = draw(st.lists(lattice, min_size=fewest, max_size=fewest + 20))
    inside = draw(st.lists(lattice, min_size=1, max_size=20))
    return np.array(inside + outside), np.arange(len(inside) + len(outside)) < len(inside), fpr


@pytest.mark.slow
@given(resolved())
def test_tpr_is_that_of_the_first_threshold_that_meets_the_fpr(scored):
    scores, member, fpr = scored
    estimate = tpr_at_fpr(scores, member, fpr)
    assert estimate.value == oracle.tpr_at_fpr(scores, member, fpr)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    called = scores >= threshold_at_fpr(scores[~member], fpr)
    assert called[member].mean() == estimate.value
    assert called[~member].mean() <= fpr + 1e-12


def test_limits_pair_every_threshold_with_clopper_pearson_limits_by_squares():
    scores, member = ScoreSimulation(1.5).draw(np.random.default_rng(1), 300, 700)
    estimate = tpr_at_fpr(scores, member, 0.05, confidence=0.9)
    descending = np.sort(scores[~member])[::-1]
    above = [np.sum(scores[member] > value) for value in descending]
    z = ndtri(0.95)

    # The threshold lies above the (j + 1)-th largest non-member with chance P(Bin <= j), and below it with P(Bin > j).
    def interpolated(a, z_scores):
        return np.interp(a, z_scores[np.argsort(z_scores)], np.array(above)[np.argsort(z_scores)])

    ranks = np.arange(15, 60)
    stricter = -ndtri(binom.cdf(ranks, 700, 0.05))
    lenienter = -ndtri(binom.sf(ranks, 700, 0.05))
    above = above[15:60]
    steps = np.linspace(0, z, 13)
    low = min(clopper_pearson_lower(interpolated(a, stricter), 300, ndtr(-np.sqrt(z**2 - a**2 + 1e-12))) for a in steps)
    high = max(
        clopper_pearson_upper(interpolated(a, lenienter), 300, ndtr(-np.sqrt(z**2 - a**2 + 1e-12))) for a in steps
    )
    assert estimate[1:] == pytest.approx((float(low), float(high)), abs=1e-6)


def test_limits_of_separate_persons_are_those_of_records():
    scores, member = ScoreSimulation(1.5, step=0.01).draw(np.random.default_rng(1), 300, 700)
    for fpr in (0.01, 0.05, 0.5):
        alone = tpr_at_fpr(scores, member, fpr)
        assert tpr_at_fpr(scores, member, fpr, clusters=np.arange(1000)) == pytest.approx(alone, abs=1e-9)


def test_perfect_separation_has_a_lower_limit_where_the_nonmembers_support_the_rate():
    for n, fpr, supported in ((400, 0.01, True), (360, 0.01, False), (100, 0.05, True), (100, 0.01, False)):
        estimate = tpr_at_fpr(np.arange(2.0 * n), np.arange(2 * n) >= n, fpr)
        assert (estimate.low > 0.9) == supported


def test_all_are_flagged_at_fpr_one_and_none_above_infinity():
    scores, member = np.array([-np.inf, 0.0, np.inf, -np.inf, np.inf]), np.array([1, 1, 1, 0, 0], dtype=bool)
    assert tpr_at_fpr(scores, member, 1.0).value == 1
    assert tpr_at_fpr(scores, member, 0.5).value == 2 / 3
    assert tpr_at_fpr(np.full(5, np.inf), member, 0.5).value == 0
    assert np.isnan(threshold_at_fpr(np.full(5, np.inf), 0.5))
    assert (scores >= threshold_at_fpr(scores[~member], 1.0)).all()


def test_threshold_keeps_the_precision_of_the_scores():
    scores = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    threshold = threshold_at_fpr(scores, 0.01)
    assert threshold.dtype == np.float32
    assert (scores >= threshold).sum() == 10
    assert threshold_at_fpr(np.arange(10), 0.2) > 7


def test_withheld_below_one_expected_false_positive():
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(0), 500, 999)
    assert np.isnan(tpr_at_fpr(scores, member, 0.001)).all()
    assert np.isnan(positive_predictive_value(scores, member, 0.001, 0.5)).all()
    assert not np.isnan(tpr_at_fpr(np.append(scores, 0), np.append(member, False), 0.001)).any()
    assert np.isnan(tpr_at_fpr(np.append(scores, np.nan), np.append(member, False), 0.001)).all()
    assert np.isnan(tpr_at_fpr(scores[~member], member[~member], 0.1)).all()
    assert np.isnan(roc_band(scores[member], member[member], [0.1])).all()
    kinds = [resolution(0.001, n) for n in (999, 1000, 9999, 10_000)]
    assert kinds == [Resolution.WITHHELD, Resolution.WEAK, Resolution.WEAK, Resolution.GOOD]
    assert [records_needed(fpr) for fpr in (0.001, 0.01, 0.07)] == [10_000, 1000, 143]
    with pytest.raises(ValueError, match=r"Expected fpr=1.2 in \[0, 1\]"):
        tpr_at_fpr(scores, member, 1.2)


def test_band_is_the_interval_of_each_point():
    scores, member = ScoreSimulation(1.0, step=0.1).draw(np.random.default_rng(0), 400, 600)
    fprs = np.array([0.0, 0.001, 0.002, 0.01, 0.1, 0.5, 1.0])
    low, high = roc_band(scores, member, fprs)
    for k in range(2, len(fprs)):
        assert (low[k], high[k]) == tpr_at_fpr(scores, member, fprs[k])[1:]
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert low[0] == 0
    assert high[-1] == 1


CONTINUOUS = [  # members, non-members, fpr, AUC, step
    (250, 250, 0.01, 0.95, 0.0),
    (1000, 1000, 0.01, 0.5, 0.0),
    (1000, 1000, 0.01, 0.8, 0.0),
    (1000, 1000, 0.01, 0.99, 0.0),
    (5000, 5000, 0.001, 0.8, 0.0),
    (500, 5000, 0.001, 0.95, 0.0),
    (1000, 1000, 0.001, 0.9, 0.0),
]
LATTICES = [
    (1000, 1000, 0.01, 0.8, 0.5),
    (250, 250, 0.01, 0.95, 2.0),
    (5000, 5000, 0.001, 0.9, 0.5),
    (2000, 2000, 0.05, 0.9, 1.0),
]


def interval_at(members, nonmembers, fpr, auc, step):
    simulation = ScoreSimulation.of_auc(auc, step=step)
    truth = simulation.tpr(fpr)
    return lambda rng: (tpr_at_fpr(*simulation.draw(rng, members, nonmembers), fpr), truth)


@pytest.mark.slow
@pytest.mark.parametrize("setting", CONTINUOUS + LATTICES)
@pytest.mark.every_third
def test_tpr_interval_covers(setting):
    # 94% within three standard errors; benchmarks/error_rates/low_fpr.py has more simulations and more repeats.
    assert interval_coverage(interval_at(*setting), simulations=1000) >= 0.94 - 0.0225


EDGES = [  # probabilities of the values 0, 1, … for non-members and members; a group of ties ends just at the FPR of 5%
    ([0.6, 0.35, 0.05], [0.3, 0.3, 0.4]),
    ([0.95, 0.05], [0.1, 0.9]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("outside", "inside"), EDGES)
def test_tpr_interval_covers_where_a_group_of_ties_ends_just_at_the_rate(outside, inside):
    member = np.arange(1000) < 500
    held = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        scores = np.append(rng.choice(len(inside), 500, p=inside), rng.choice(len(outside), 500, p=outside))
        estimate = tpr_at_fpr(scores.astype(float), member, 0.05)
        held += estimate.low <= inside[-1] <= estimate.high
    assert held >= 1000 * (0.94 - 0.0225)


@pytest.mark.slow
def test_tpr_interval_excludes_guessing_where_a_permutation_test_does():
    # A power test: an interval that always covers because it is wide is no use. The union bound excluded 1% in 0.2 of runs.
    simulation = ScoreSimulation(shift=0.5)
    draws = (simulation.draw(np.random.default_rng(seed), 900, 900) for seed in range(300))
    assert np.mean([tpr_at_fpr(*draw, 0.01).low > 0.01 for draw in draws]) >= 0.5


@pytest.mark.slow
def test_an_interval_that_takes_the_threshold_for_granted_would_fail_here():
    simulation = ScoreSimulation.of_auc(0.95)

    def naive(rng):
        scores, member = simulation.draw(rng, 5000, 5000)
        called = scores[member] >= threshold_at_fpr(scores[~member], 0.001)
        return proportion(called.sum(), len(called)), simulation.tpr(0.001)

    assert interval_coverage(naive, simulations=500) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_predictive_value_interval_covers(step):
    simulation, fpr, prior = ScoreSimulation.of_auc(0.8, step=step), 0.02, 0.1
    truth = prior * simulation.tpr(fpr) / (prior * simulation.tpr(fpr) + (1 - prior) * fpr)

    def estimate(rng):
        return positive_predictive_value(*simulation.draw(rng, 500, 500), fpr, prior), truth

    assert interval_coverage(estimate, simulations=1000) >= 0.95  # the TPR's interval on another scale, as wide as that


def test_predictive_value_is_bayes_rule():
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(0), 400, 600)
    tpr = tpr_at_fpr(scores, member, 0.05)
    for part, share in zip(positive_predictive_value(scores, member, 0.05, 0.2), tpr, strict=True):
        assert part == pytest.approx(0.2 * share / (0.2 * share + 0.8 * 0.05))
    assert positive_predictive_value(scores, member, 0.05, 1.0) == (1, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("fpr", "members", "nonmembers"), [(0.01, 500, 1000), (0.001, 2000, 10_000)])
def test_smallest_detectable_tpr_is_detected_in_four_of_five_audits(fpr, members, nonmembers):
    smallest = smallest_detectable_tpr(fpr, members, nonmembers)
    simulation = ScoreSimulation(shift=ndtri(smallest) - ndtri(fpr))
    assert simulation.tpr(fpr) == pytest.approx(smallest)
    draws = (simulation.draw(np.random.default_rng(k), members, nonmembers) for k in range(1000))
    assert 0.76 < np.mean([tpr_at_fpr(*draw, fpr).low > fpr for draw in draws]) < 0.84


def test_nothing_is_detectable_where_the_lower_limit_is_always_zero():
    assert np.isnan(smallest_detectable_tpr(0.001, 1000, 2000))
    assert np.isnan(smallest_detectable_tpr(0.9, 3, 2000))
