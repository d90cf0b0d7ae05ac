import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binom

import oracles_evaluate as oracle
from guestlist.evaluate import (
    Resolution,
    positive_predictive_value,
    proportion,
    records_needed,
    resolution,
    roc_band,
    smallest_detectable_tpr,
    threshold_at_fpr,
    tpr_at_fpr,
)
from guestlist.evaluate.intervals import lower_share, upper_share
from worlds_evaluate import World, coverage

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
def test_tpr_is_that_of_the_first_threshold_that_meets_the_fpr(world):
    scores, member, fpr = world
    found = tpr_at_fpr(scores, member, fpr)
    assert found.value == oracle.tpr_at_fpr(scores, member, fpr)
    assert 0 <= found.low <= found.value <= found.high <= 1
    called = scores >= threshold_at_fpr(scores[~member], fpr)
    assert called[member].mean() == found.value
    assert called[~member].mean() <= fpr + 1e-12


def test_limits_are_order_statistics_and_clopper_pearson():
    scores, member = World(1.5).draw(np.random.default_rng(1), 300, 700)
    found = tpr_at_fpr(scores, member, 0.05, confidence=0.9)
    descending = np.sort(scores[~member])[::-1]
    # Every rank is tried: the lower end takes the largest j with P(Bin <= j) <= 0.025, the upper the
    # smallest j with P(Bin > j) <= 0.025, and q lies between the (j + 1)-th largest non-members.
    strict = max(j for j in range(700) if binom.cdf(j, 700, 0.05) <= 0.025)
    lenient = min(j for j in range(700) if binom.sf(j, 700, 0.05) <= 0.025)
    low = lower_share(np.sum(scores[member] > descending[strict]), 300, 0.025)
    high = upper_share(np.sum(scores[member] > descending[lenient]), 300, 0.025)
    assert found[1:] == pytest.approx((float(low), float(high)), abs=1e-12)


def test_everyone_is_called_at_fpr_one_and_nobody_above_infinity():
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
    scores, member = World(1.0).draw(np.random.default_rng(0), 500, 999)
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
    scores, member = World(1.0, step=0.1).draw(np.random.default_rng(0), 400, 600)
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
    world = World.of_auc(auc, step=step)
    truth = world.tpr(fpr)
    return lambda rng: (tpr_at_fpr(*world.draw(rng, members, nonmembers), fpr), truth)


@pytest.mark.slow
@pytest.mark.parametrize("world", CONTINUOUS + LATTICES)
def test_tpr_interval_covers(world):
    # No upper limit: two bounds that must both be met cover more than either, from 97.4 % (the last lattice)
    # to 100 % (where few non-members leave the lower end at 0). What is given away for it is measured by
    # smallest_detectable_tpr.
    assert coverage(interval_at(*world), worlds=1000) >= 0.95


@pytest.mark.slow
def test_an_interval_that_takes_the_threshold_for_granted_would_fail_here():
    world = World.of_auc(0.95)

    def naive(rng):
        scores, member = world.draw(rng, 5000, 5000)
        called = scores[member] >= threshold_at_fpr(scores[~member], 0.001)
        return proportion(called.sum(), len(called)), world.tpr(0.001)

    assert coverage(naive, worlds=500) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_predictive_value_interval_covers(step):
    world, fpr, prior = World.of_auc(0.8, step=step), 0.02, 0.1
    truth = prior * world.tpr(fpr) / (prior * world.tpr(fpr) + (1 - prior) * fpr)

    def found(rng):
        return positive_predictive_value(*world.draw(rng, 500, 500), fpr, prior), truth

    assert coverage(found, worlds=1000) >= 0.95  # the TPR's interval on another scale, as wide as that


def test_predictive_value_is_bayes_rule():
    scores, member = World(1.0).draw(np.random.default_rng(0), 400, 600)
    tpr = tpr_at_fpr(scores, member, 0.05)
    for part, share in zip(positive_predictive_value(scores, member, 0.05, 0.2), tpr, strict=True):
        assert part == pytest.approx(0.2 * share / (0.2 * share + 0.8 * 0.05))
    assert positive_predictive_value(scores, member, 0.05, 1.0) == (1, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("fpr", "members", "nonmembers"), [(0.01, 500, 1000), (0.001, 2000, 10_000)])
def test_smallest_detectable_tpr_is_found_in_four_of_five_audits(fpr, members, nonmembers):
    smallest = smallest_detectable_tpr(fpr, members, nonmembers)
    world = World(shift=ndtri(smallest) - ndtri(fpr))
    assert world.tpr(fpr) == pytest.approx(smallest)
    draws = (world.draw(np.random.default_rng(k), members, nonmembers) for k in range(1000))
    assert 0.76 < np.mean([tpr_at_fpr(*draw, fpr).low > fpr for draw in draws]) < 0.84


def test_nothing_is_detectable_where_the_lower_limit_is_always_zero():
    assert np.isnan(smallest_detectable_tpr(0.001, 1000, 2000))
    assert np.isnan(smallest_detectable_tpr(0.9, 3, 2000))
