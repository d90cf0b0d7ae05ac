"""Weighted non-members: against slow sums over pairs, and in simulations with known weights and results."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from guestlist.metrics import auc, roc, tpr_at_fpr
from oracles_metrics import ordered


@pytest.fixture
def some():
    """Scores with ties, membership, weights, and persons of one to three records in one set each."""
    rng = np.random.default_rng(0)
    member = np.arange(60) < 25
    return rng.integers(12, size=60) + 2.0 * member, member, rng.exponential(size=60), np.arange(60) // 5 * 2 + ~member


def test_the_auc_is_the_weighted_share_of_pairs(some):
    scores, member, weights, _ = some
    pairs = [
        (weights[j] * ordered(scores[i], scores[j]), weights[j])
        for i in np.flatnonzero(member)
        for j in np.flatnonzero(~member)
    ]
    won, every = np.sum(pairs, axis=0)
    assert auc(scores, member, weights=weights).value == pytest.approx(won / every)


def test_weights_are_shares_and_those_of_members_are_not_read(some):
    scores, member, weights, persons = some
    other = np.where(member, 7.0, 3 * weights)
    for known in (None, persons):
        assert auc(scores, member, clusters=known, weights=weights) == pytest.approx(
            auc(scores, member, clusters=known, weights=other)
        )
        first, two = (tpr_at_fpr(scores, member, 0.2, clusters=known, weights=w) for w in (weights, other))
        assert first == pytest.approx(two)


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(1)
    member = np.arange(80) < 40
    scores, persons = rng.normal(size=80) + member, np.arange(80) // 2
    ones = np.full(80, 2.5)
    for known in (None, persons):
        assert auc(scores, member, clusters=known, weights=ones) == pytest.approx(auc(scores, member, clusters=known))
        plain, weighted = (tpr_at_fpr(scores, member, 0.1, clusters=known, weights=w) for w in (None, ones))
        assert weighted == pytest.approx(plain)
    points, same = roc(scores, member), roc(scores, member, weights=ones)
    assert np.allclose(points.fpr, same.fpr)
    assert np.allclose(points.tpr, same.tpr)


def test_a_weight_of_three_is_three_records_of_one_person(some):
    scores, member, _, _ = some
    times = np.where(member, 1, np.arange(60) % 4)
    many, positive = np.repeat(np.arange(60), times), times > 0
    spelt_out, weighted = (scores[many], member[many]), (scores[positive], member[positive])
    weights = times[positive].astype(float)
    assert auc(*weighted, weights=weights) == pytest.approx(auc(*spelt_out, clusters=many))
    for fpr in (0.1, 0.3):
        once, repeated = tpr_at_fpr(*weighted, fpr, weights=weights), tpr_at_fpr(*spelt_out, fpr, clusters=many)
        assert once.value == pytest.approx(repeated.value)
        # Limits under weights are the wider ones of a union bound.
        assert once.low <= repeated.low + 1e-9
        assert once.high >= repeated.high - 1e-9
    by_weight, two = roc(*weighted, weights=weights), roc(*spelt_out)
    assert np.allclose(by_weight.fpr, two.fpr)
    assert np.allclose(by_weight.tpr, two.tpr)


def test_a_nan_score_takes_its_weight_along(some):
    scores, member, weights, persons = some
    lost = np.where(np.arange(60) % 7 == 0, np.nan, scores)
    scored = ~np.isnan(lost)
    assert auc(lost, member, clusters=persons, weights=weights) == pytest.approx(
        auc(scores[scored], member[scored], clusters=persons[scored], weights=weights[scored])
    )
    assert np.array_equal(
        roc(lost, member, weights=weights).fpr, roc(scores[scored], member[scored], weights=weights[scored]).fpr
    )


def test_few_heavy_nonmembers_resolve_little():
    member = np.arange(300) < 100
    scores, weights = np.arange(300.0), np.where(np.arange(300) < 104, 1.0, 1e-6)
    assert not np.isnan(tpr_at_fpr(scores, member, 0.05).value)
    assert np.isnan(tpr_at_fpr(scores, member, 0.05, weights=weights).value)


def test_weights_of_another_shape_are_refused(some):
    scores, member, weights, _ = some
    with pytest.raises(ValueError, match=r"weights \(60,\), one per record, found \(59,\)"):
        auc(scores, member, weights=weights[1:])


@pytest.mark.slow
def test_intervals_hold_the_truth_where_weights_are_known():
    """x is one larger for members; the score follows x and a leak of 1, so that without the shift the AUC is Φ(1 / 2)."""
    rng, held, unweighted = np.random.default_rng(4), [], []
    for _ in range(300):
        member = np.arange(300) < 120
        x = rng.normal(size=300) + member
        scores, weights = x + member + rng.normal(size=300), np.exp(x - 0.5)
        estimates = [auc(scores, member, weights=weights), tpr_at_fpr(scores, member, 0.1, weights=weights)]
        truth = ndtr(0.5), ndtr(ndtri(0.1) + 1 / np.sqrt(2))
        held.append([estimate.low <= true <= estimate.high for estimate, true in zip(estimates, truth, strict=True)])
        unweighted.append(auc(scores, member).low <= truth[0])
    ranked, called = np.mean(held, axis=0)
    assert ranked > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 300)
    assert called > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(unweighted) < 0.1  # the shift alone does it


def test_rates_hold_where_those_with_the_highest_scores_have_most_of_the_weight():
    """Non-members represent people with higher scores: by chance, one of the few influential records is missing."""
    rng, simulations, shift = np.random.default_rng(5), 400, 1.0
    member, truth = np.arange(400) < 200, ndtr(ndtri(0.05) + 0.5)
    below = above = 0
    for _ in range(simulations):
        kind = rng.normal(size=400) + shift * member
        scores = 0.5 * np.sqrt(2) * member + kind + rng.normal(size=400)
        estimate = tpr_at_fpr(scores, member, 0.05, weights=np.exp(shift * kind - shift**2 / 2))
        below, above = below + (truth < estimate.low), above + (truth > estimate.high)
    # Each end may fail in 2.5 %; were the unseen one of average weight, the lower end would fail in 5 %.
    assert max(below, above) <= simulations * 0.025 + 3 * np.sqrt(simulations * 0.025 * 0.975)


def test_without_scored_nonmembers_the_tpr_is_withheld():
    member = np.array([True, True, False])
    scores = np.array([0.0, 1.0, np.nan])
    assert np.isnan(tpr_at_fpr(scores, member, 0.1, weights=np.ones(3))).all()
