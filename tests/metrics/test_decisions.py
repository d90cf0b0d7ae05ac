import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import oracles_metrics as oracle
from guestlist import Estimate
from guestlist.metrics import (
    CrossFit,
    advantage,
    balanced_accuracy,
    best_threshold,
    flag_members,
    proportion,
    proportion_difference,
)
from guestlist.testing import interval_coverage
from simulated_cases import ScoreSimulation

SHARES = [0.001, 0.01, 0.02, 0.1, 0.3, 0.5, 0.65, 0.9, 0.98, 0.99, 0.999]


@pytest.mark.slow
@given(st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 2.0, np.inf]), min_size=2, max_size=30), st.randoms())
def test_best_threshold_is_the_best_of_all(scores, random):
    scores = np.array(scores)
    member = np.array([random.random() < 0.5 for _ in scores])
    member[:2] = True, False
    threshold = best_threshold(scores, member)
    estimate = advantage(scores, member, threshold)
    assert threshold in scores
    assert estimate.value == pytest.approx(oracle.best_advantage(scores, member), abs=1e-12)
    for fewer in scores[scores > threshold]:
        assert advantage(scores, member, fewer).value < estimate.value - 1e-12


def test_a_record_at_or_above_the_threshold_is_flagged():
    scores, member = np.array([0.0, 1.0, 2.0, np.nan]), np.array([False, True, True, True])
    assert flag_members(scores, member, 1.0).tolist() == [False, True, True, False]
    assert advantage(scores, member, 1.0).value == 1
    assert advantage(scores, member, 1.5).value == 0.5
    assert balanced_accuracy(scores, member, 1.5).value == 0.75


def test_cross_fit_flags_each_half_with_the_threshold_of_the_other():
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(0), 31, 50)
    scores[::9] = np.nan
    called = flag_members(scores, member, CrossFit(seed=4))
    scored = ~np.isnan(scores)
    second = np.zeros(len(scores), dtype=bool)
    second[scored] = CrossFit(seed=4).halves(member[scored])
    first = scored & ~second
    assert abs(second[member].sum() - first[member].sum()) <= 1
    assert abs(second[~member].sum() - first[~member].sum()) <= 1
    for learn, judge in ((first, second), (second, first)):
        threshold = best_threshold(scores[learn], member[learn])
        assert (called[judge] == (scores[judge] >= threshold)).all()
    assert not called[~scored].any()
    expected = called[member & scored].mean() - called[~member & scored].mean()
    assert advantage(scores, member, CrossFit(seed=4)).value == pytest.approx(expected)


def test_cross_fit_finds_no_advantage_where_there_is_none():
    draws = [ScoreSimulation(0.0).draw(np.random.default_rng(k), 30, 30) for k in range(400)]
    advantages = np.array([advantage(*draw).value for draw in draws])
    assert abs(advantages.mean()) < 4 * advantages.std() / np.sqrt(len(advantages))
    # The best threshold on all records would find some in almost every one of these simulations.
    assert np.mean([oracle.best_advantage(*draw) for draw in draws[:50]]) > 0.1


def test_withheld_without_both_kinds():
    scores, member = np.arange(4.0), np.array([True, False, False, False])
    assert np.isnan(advantage(scores, ~member | member, 1.0)).all()
    assert np.isnan(advantage(scores, member)).all()  # one member cannot be used both to fit and to evaluate
    assert not np.isnan(advantage(scores, member, 1.0)).any()
    assert np.isnan(proportion(0, 0)).all()
    with pytest.raises(ValueError, match="found only one"):
        best_threshold(scores, member | True)
    with pytest.raises(ValueError, match="successes=3"):
        proportion(3, 2)


@pytest.mark.parametrize("n", [1, 7, 40, 500])
def test_proportion_covers_exactly_summed(n):
    ends = [proportion(k, n) for k in range(n + 1)]
    low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
    for share in SHARES:
        held = binom.pmf(np.arange(n + 1), n, share)[(low <= share) & (share <= high)].sum()
        assert held >= 0.95 - 1e-12  # exact: up to 100 % where n * share is small


@pytest.mark.parametrize(("members", "nonmembers"), [(20, 20), (10, 100), (60, 60)])
def test_advantage_at_a_fixed_threshold_covers_exactly_summed(members, nonmembers):
    # All outcomes are enumerated, so this is the coverage and no estimate of it.
    intervals = np.array(
        [[proportion_difference(i, members, j, nonmembers) for j in range(nonmembers + 1)] for i in range(members + 1)]
    )
    low, high = intervals[..., 1], intervals[..., 2]
    shares = []
    for tpr in SHARES:
        for fpr in SHARES:
            chance = np.outer(
                binom.pmf(np.arange(members + 1), members, tpr),
                binom.pmf(np.arange(nonmembers + 1), nonmembers, fpr),
            )
            shares.append(chance[(low <= tpr - fpr) & (tpr - fpr <= high)].sum())
    assert min(shares) >= 0.93
    # Where both rates are near 0 or 1 counts are so few that up to 100 % is covered; on average it is 98 %.
    assert np.mean(shares) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 1000])
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_advantage_and_balanced_accuracy_cover_at_a_fixed_threshold(size, step):
    simulation = ScoreSimulation(1.0, step=step)
    tpr, fpr = simulation.rates(0.75)

    def estimate(rng):
        drawn = simulation.draw(rng, size, size)
        wide = balanced_accuracy(*drawn, 0.75)
        assert advantage(*drawn, 0.75) == pytest.approx([2 * end - 1 for end in wide], abs=1e-12)
        return wide, (1 + tpr - fpr) / 2

    assert 0.93 <= interval_coverage(estimate, simulations=1000) <= 0.999


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "size", "step"), [(0.0, 20, 0.0), (1.0, 20, 1.0), (3.0, 200, 0.0)])
@pytest.mark.every_third
def test_cross_fitted_advantage_covers(shift, size, step):
    simulation = ScoreSimulation(shift, step=step)

    def estimate(rng):
        scores, member = simulation.draw(rng, size, size)
        choice = CrossFit(seed=int(rng.integers(2**31)))
        second = choice.halves(member)
        truth = 0.0
        for judge in (second, ~second):
            tpr, fpr = simulation.rates(best_threshold(scores[~judge], member[~judge]))
            truth += tpr * judge[member].mean() - fpr * judge[~member].mean()
        return advantage(scores, member, choice), truth

    assert 0.93 <= interval_coverage(estimate, simulations=1000) <= 0.999


def test_an_estimate_prints_its_interval():
    assert str(Estimate(0.5, 0.4, 0.6)) == "0.500 [0.400, 0.600]"
