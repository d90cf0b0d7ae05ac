"""Attack minus cross-fitted classifier: pairs within folds, and an interval that knows what cross-fitting adds."""

import numpy as np
import pytest

from guestlist.metrics import auc_difference, auc_gain_within_folds
from oracles_metrics import ordered


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    member = rng.random(60) < 0.5
    return rng.normal(size=60) + member, rng.integers(5, size=60).astype(float), member, np.arange(60) % 3


def test_it_is_the_mean_over_pairs_of_one_fold(data):
    scores, fitted, member, fold = data
    gaps = [
        ordered(scores[i], scores[j]) - ordered(fitted[i], fitted[j])
        for i in np.flatnonzero(member)
        for j in np.flatnonzero(~member)
        if fold[i] == fold[j]
    ]
    assert auc_gain_within_folds(scores, fitted, member, fold).value == pytest.approx(np.mean(gaps))


def test_one_fold_is_a_paired_difference(data):
    scores, fitted, member, _ = data
    whole, persons = np.zeros(60, int), np.arange(60) // 2
    for known in (None, persons):
        plain = auc_difference(scores, fitted, member, clusters=known)
        assert auc_gain_within_folds(scores, fitted, member, whole, clusters=known) == pytest.approx(plain)


def test_the_permutation_variance_widens_it_and_never_narrows_it(data):
    alone, narrow, wide = (auc_gain_within_folds(*data, baseline_sd=spread) for spread in (0.0, 0.01, 0.3))
    assert alone == narrow
    assert wide.low < alone.low < alone.high < wide.high


def test_what_has_no_partner_is_left_out(data):
    scores, fitted, member, fold = data
    lost = np.where(np.arange(60) == 4, np.nan, scores)
    others = np.arange(60) != 4
    assert auc_gain_within_folds(lost, fitted, member, fold) == auc_gain_within_folds(*(part[others] for part in data))
    alone = np.where(member & (fold == 1), np.nan, scores)  # a fold of non-members
    training = fold != 1
    assert auc_gain_within_folds(alone, fitted, member, fold) == auc_gain_within_folds(
        *(part[training] for part in data)
    )
    assert np.isnan(auc_gain_within_folds(scores, fitted, np.ones(60, bool), fold).value)


def test_a_baseline_auc_below_0_5_counts_as_chance(data):
    scores, _, member, fold = data
    against = -(member + np.arange(60) % 2 / 2)  # ranks every member below every non-member
    guessing = np.zeros(60)
    gain = auc_gain_within_folds(scores, guessing, member, fold)
    assert auc_gain_within_folds(scores, against, member, fold).value == pytest.approx(gain.value + 0.5)
    assert auc_gain_within_folds(scores, against, member, fold, at_least=0.5) == pytest.approx(gain)
    good = scores + member
    assert auc_gain_within_folds(scores, good, member, fold, at_least=0.5).value == pytest.approx(
        auc_gain_within_folds(scores, good, member, fold).value
    )
