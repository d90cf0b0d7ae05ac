"""Probabilities of membership: calibrated, learnt on other folds, finite; and what weights by them are worth."""

import numpy as np
import pytest
from scipy.special import expit

from guestlist.blind.propensity import chances, effective_share, odds, unasked_scores


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    member = np.arange(800) < 400
    x = rng.normal(size=(800, 3))
    x[member, 1] += 1
    return x, np.arange(800) % 5, member


def test_a_score_that_knows_the_odds_becomes_the_probability():
    rng = np.random.default_rng(1)
    logit = rng.normal(size=20_000)
    member, fold = rng.random(20_000) < expit(logit), np.arange(20_000) % 5
    assert chances(3 * logit[None], fold, member) == pytest.approx(expit(logit), abs=0.03)


@pytest.mark.slow
def test_nobody_teaches_their_own_probability(shifted):
    x, fold, member = shifted
    other = np.where(fold == 2, ~member, member)
    scores, changed = (unasked_scores(x, fold, truth) for truth in (member, other))
    assert np.array_equal(scores[:, fold == 2], changed[:, fold == 2])
    assert not np.array_equal(scores[:, fold == 1], changed[:, fold == 1])
    one, two = (chances(scores, fold, truth)[fold == 2] for truth in (member, other))
    assert np.array_equal(one, two)


@pytest.mark.slow
def test_weighted_nonmembers_have_the_mean_of_members(shifted):
    x, fold, member = shifted
    weights = odds(chances(unasked_scores(x, fold, member), fold, member), member)
    assert (weights[member] == 1).all()
    weighted = np.average(x[~member], weights=weights[~member], axis=0)
    assert weighted == pytest.approx(x[member].mean(axis=0), abs=0.2)
    assert x[~member, 1].mean() < 0.2
    assert effective_share(weights[~member]) == pytest.approx(np.exp(-1), abs=0.15)


@pytest.mark.slow
def test_sides_that_do_not_overlap_have_finite_weights(shifted):
    x, fold, member = shifted
    scores = unasked_scores(np.where(member[:, None], 9.0, -9.0) + x, fold, member)
    found = chances(scores, fold, member)
    assert found[member].min() > 0.9
    assert 0 < found[~member].max() < 0.1
    assert np.isfinite(odds(found, member)).all()


def test_a_fold_that_others_cannot_teach_says_nothing():
    member = np.array([True, False, False, False])
    scores = unasked_scores(np.arange(4.0)[:, None], np.array([0, 0, 1, 1]), member)
    assert np.isfinite(scores).all()
    assert np.isfinite(chances(scores, np.array([0, 0, 1, 1]), member)).all()
