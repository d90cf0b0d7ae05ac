"""Uses of the values, in simulations with known results."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from guestlist.knn import Knn, knn_shapley, minimisation_curve, neighbour_lists, onion_effect, self_waka, waka_influence


def noisy_data(n=400, tests=300, flipped=0.3, seed=0):
    """Two clouds; a share of the training labels is wrong, and known to be."""
    rng = np.random.default_rng(seed)
    y, y_test = rng.integers(0, 2, n), rng.integers(0, 2, tests)
    x, x_test = rng.normal(size=(n, 2)) + 3 * y[:, None], rng.normal(size=(tests, 2)) + 3 * y_test[:, None]
    wrong = rng.random(n) < flipped
    return x, np.where(wrong, 1 - y, y), x_test, y_test, wrong


def test_removing_the_least_valuable_first_removes_the_wrong_labels():
    x, y, x_test, y_test, wrong = noisy_data()
    values = knn_shapley(x, y, x_test, y_test)
    assert wrong[np.argsort(values)[:60]].mean() > 0.9
    rng = np.random.default_rng(0)
    low = minimisation_curve(x, y, x_test, y_test, values, rng=rng, shares=[0, 0.3, 0.5], repeats=4)
    high = minimisation_curve(x, y, x_test, y_test, values, rng=rng, shares=[0, 0.3, 0.5], repeats=4, first="highest")
    assert low.accuracy[1] > low.random[:, 1].max() + 0.02
    assert high.accuracy[2] < high.random[:, 2].min() - 0.2
    assert low.gain[0] == high.gain[0] == 0
    assert low.random.shape == (4, 3)


def test_the_curve_is_that_of_the_classifier_it_was_given():
    x, y, x_test, y_test, _ = noisy_data()
    values = np.arange(len(x), dtype=float)
    for model, same in (
        (Knn(3), KNeighborsClassifier(3)),
        (Knn(3, "cosine"), KNeighborsClassifier(3, metric="cosine")),
        (LogisticRegression(), LogisticRegression()),
    ):
        curve = minimisation_curve(
            x, y, x_test, y_test, values, model, rng=np.random.default_rng(0), shares=[0.5], repeats=0
        )
        by_hand = same.fit(x[200:], y[200:]).score(x_test, y_test)
        assert curve.accuracy.tolist() == [by_hand]
    few = minimisation_curve(x, y, x_test, y_test, values, rng=np.random.default_rng(0), shares=[0.995], repeats=1)
    assert few.accuracy.shape == (1,)  # two records for five neighbours


def test_equal_values_are_removed_in_random_order():
    x, y, x_test, y_test, _ = noisy_data()
    same = np.zeros(len(x))
    curves = [
        minimisation_curve(
            x, y, x_test, y_test, same, rng=np.random.default_rng(seed), shares=[0.9], repeats=0
        ).accuracy[0]
        for seed in range(6)
    ]
    assert len(set(curves)) > 1


@pytest.mark.parametrize("model", [Knn(1), Knn(4), KNeighborsClassifier(3, algorithm="brute")])
def test_with_nothing_removed_all_orders_give_one_accuracy(model):
    """Equal records with other labels: which of them votes is decided by the order of rows."""
    rng = np.random.default_rng(0)
    x, x_test = rng.integers(0, 3, (300, 2)) * 1.0, rng.integers(0, 3, (200, 2)) * 1.0
    y, y_test = rng.integers(0, 2, 300), rng.integers(0, 2, 200)
    shuffled = rng.permutation(300)
    accuracy = KNeighborsClassifier(1).fit(x, y).score(x_test, y_test)
    assert KNeighborsClassifier(1).fit(x[shuffled], y[shuffled]).score(x_test, y_test) != accuracy
    values = knn_shapley(x, y, x_test, y_test)
    curves = [
        minimisation_curve(x, y, x_test, y_test, values, model, rng=rng, shares=[0.0], first=first, repeats=5)
        for first in ("lowest", "highest")
    ]
    assert len({*curves[0].random[:, 0], *curves[1].random[:, 0], *curves[0].accuracy, *curves[1].accuracy}) == 1


@pytest.mark.slow
def test_onion_effect_agrees_with_the_stored_lists():
    """Two roads: values computed again, and influences from lists."""
    x, y, _, _, _ = noisy_data()
    onion = onion_effect(x, y, self_waka, share=0.1)
    assert onion.removed.sum() == 40
    assert onion.before[onion.removed].min() >= onion.before[~onion.removed].max()
    np.testing.assert_allclose(onion.change, waka_influence(neighbour_lists(x, y), onion.removed), atol=1e-14)
    assert onion.risen == np.mean(onion.change[~onion.removed] > 1e-12)
    assert 0 < onion.risen < 1


def test_wrong_arguments_are_refused():
    x, y, x_test, y_test, _ = noisy_data()
    rng = np.random.default_rng(0)
    values = np.zeros(len(x))
    with pytest.raises(ValueError, match=r"values shaped \(400,\).* \(399,\)"):
        minimisation_curve(x, y, x_test, y_test, values[1:], rng=rng)
    with pytest.raises(ValueError, match="400 NaN"):
        minimisation_curve(x, y, x_test, y_test, values * np.nan, rng=rng)
    with pytest.raises(ValueError, match=r"shares=\[1.0\]"):
        minimisation_curve(x, y, x_test, y_test, values, rng=rng, shares=[1.0])
    with pytest.raises(ValueError, match="first='worst'"):
        minimisation_curve(x, y, x_test, y_test, values, rng=rng, first="worst")
    with pytest.raises(ValueError, match=r"share=1 in \(0, 1\)"):
        onion_effect(x, y, self_waka, share=1)
