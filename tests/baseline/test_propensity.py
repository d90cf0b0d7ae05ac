"""Membership probabilities that weight non-members: scores fitted on other folds, and the effective sample size."""

import numpy as np
import pytest

from guestlist._baseline.regression import effective_share, odds, propensity_scores, tree_scores


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    member = np.arange(800) < 400
    x = rng.normal(size=(800, 3))
    x[member, 1] += 1
    return x, np.arange(800) % 5, member


def weights_of(x, fold, member):
    """With a score that adds no information to the columns."""
    nothing = np.zeros(len(member))
    return odds(
        propensity_scores(
            x, nothing[:, None], np.empty((len(member), 0)), nothing, fold, member, np.arange(len(member))
        ),
        member,
    )


def test_no_record_is_scored_by_a_model_fitted_on_it(shifted):
    x, fold, member = shifted
    other = np.where(fold == 2, ~member, member)
    scores, changed = (tree_scores(x, fold, truth) for truth in (member, other))
    assert np.array_equal(scores[fold == 2], changed[fold == 2])
    assert not np.array_equal(scores[fold == 1], changed[fold == 1])


def test_weighted_nonmembers_have_the_mean_of_members(shifted):
    x, fold, member = shifted
    weights = weights_of(x, fold, member)
    assert (weights[member] == 1).all()
    weighted = np.average(x[~member], weights=weights[~member], axis=0)
    assert weighted == pytest.approx(x[member].mean(axis=0), abs=0.1)
    assert weighted[1] == pytest.approx(x[member, 1].mean(), abs=0.03)
    assert x[~member, 1].mean() < 0.2
    assert effective_share(weights[~member]) == pytest.approx(np.exp(-1), abs=0.12)


def test_people_with_a_larger_variance_are_balanced_too(shifted):
    x, fold, member = shifted
    wide = np.where(member[:, None], 1.3, 1.0) * x[:, :1]
    weights = weights_of(wide, fold, member)[~member]
    assert np.average(wide[~member, 0] ** 2, weights=weights) == pytest.approx((wide[member] ** 2).mean(), abs=0.1)
    assert (wide[~member] ** 2).mean() < 1.2 < (wide[member] ** 2).mean()


def test_labels_that_fit_their_features_better_are_balanced_too(shifted):
    """Neither the feature nor the label differs; members have the label that the feature's sign says more often."""
    x, fold, member = shifted
    fits = np.random.default_rng(1).random(800) < np.where(member, 0.8, 0.6)
    label = np.where(fits, 1, -1) * np.sign(x[:, 0])
    chance = propensity_scores(
        x[:, :1], label[:, None], np.empty((800, 0)), np.zeros(800), fold, member, np.arange(800)
    )
    together, weights = x[:, 0] * label, odds(chance, member)[~member]
    assert together[~member].mean() < together[member].mean() - 0.2
    assert np.average(together[~member], weights=weights) == pytest.approx(together[member].mean(), abs=0.06)


def test_what_goes_together_is_balanced_by_trees_in_part():
    """Each of two columns has the same distribution in both sets; members have both large, or both small."""
    rng = np.random.default_rng(2)
    member, x = np.arange(1200) < 600, rng.normal(size=(1200, 2))
    alike = x[:, 0] * x[:, 1] > 0
    x[member & ~alike & (rng.random(1200) < 0.6), 0] *= -1
    alike = x[:, 0] * x[:, 1] > 0
    weights = weights_of(x, np.arange(1200) % 5, member)[~member]
    assert alike[~member].mean() < 0.55 < 0.75 < alike[member].mean()
    assert np.average(alike[~member], weights=weights) > 0.62  # what trees see of it, they see with noise


def test_sets_that_do_not_overlap_have_finite_weights(shifted):
    x, fold, member = shifted
    weights = weights_of(np.where(member[:, None], 9.0, -9.0) + x, fold, member)
    assert np.isfinite(weights).all()


def test_a_fold_that_the_others_cannot_predict_has_finite_scores():
    member, fold = np.array([True, False, False, False]), np.array([0, 0, 1, 1])
    assert np.isfinite(tree_scores(np.arange(4.0)[:, None], fold, member)).all()
    assert np.isfinite(weights_of(np.arange(4.0)[:, None], fold, member)).all()
