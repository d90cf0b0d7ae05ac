"""The errata's own claims, each against a slow or independent computation."""

import numpy as np
import pytest
from papers.errata import data_dependencies, hypothesis_tests, page, shapr, systematic_evaluation, waka
from papers.systematic_evaluation.data import PREDICTIONS

from guestlist.knn import Knn, knn_shapley, self_waka


def test_the_difference_of_the_bounds_is_ours_and_not_the_printed_one():
    epsilon, delta = np.meshgrid(np.linspace(0, 10, 60), np.linspace(0, 1, 30))
    gap = data_dependencies.humphries(epsilon, delta) - data_dependencies.erlingsson(epsilon, delta)
    np.testing.assert_allclose(data_dependencies.difference(epsilon, delta), gap, atol=1e-14)
    assert (gap <= 1e-14).all()
    assert np.abs(data_dependencies.printed_difference(epsilon, delta) - gap).max() > 0.9


def test_the_best_gain_is_where_its_derivative_vanishes():
    *_, gains, where, _ = data_dependencies.gains()
    assert where == pytest.approx(np.log(1 + np.sqrt(2)), abs=1e-3)
    assert gains == pytest.approx(3 - 2 * np.sqrt(2), abs=1e-4)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_enumeration_is_the_library_s_shapley_value(k):
    match = (1, 0, 0, 1, 1)
    labels, x = np.array(match), np.arange(5.0)[:, None]
    expected = knn_shapley(x, labels, [[-1.0]], [1], Knn(k))
    np.testing.assert_allclose(shapr.enumerated(match, k), expected, atol=1e-12)


def test_brackets_and_base_mend_the_recursion_everywhere():
    assert shapr.wrong_cases(brackets=True, base=True, small=False)[0] == 0
    assert shapr.wrong_cases(brackets=True, base=True, small=True)[0] == 0
    assert shapr.wrong_cases(brackets=False, base=True, small=False)[0] > 0
    assert shapr.wrong_cases(brackets=True, base=False, small=True)[0] > 0


def test_one_recall_was_copied_from_the_wrong_column():
    assert shapr.other_recalls() == ["USPS"]
    assert shapr.TABLE_7["USPS"] == shapr.TABLE_5["USPS"][0]


def test_the_printed_accuracy_of_location_needs_more_records(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    accuracies = shapr.linear_accuracies()
    assert accuracies[1000] < shapr.SONG_LOCATION_TEST < accuracies[2000]
    assert abs(accuracies[4000] - shapr.LOCATION[0]) < 3


def test_the_text_is_not_the_table():
    rows = hypothesis_tests.errata()
    assert "0.874 and 0.948" in rows[0].correction
    assert "0.968 and 0.822" in rows[1].correction
    assert "at most 0.672" in rows[2].correction


def test_one_row_does_not_fit_its_accuracies():
    off = [row.model for row in systematic_evaluation.ROWS if abs(row.correctness - row.expected) > 0.2]
    assert off == ["Location30"]


def test_the_distance_by_probabilities_is_another():
    nearest, five = waka.distance(1), waka.distance(5)
    assert (nearest.lowest, nearest.highest, nearest.swapped) == (pytest.approx(2), pytest.approx(2), 0)
    assert five.swapped > 0
    assert five.highest > 1.5 * five.lowest


def test_the_distance_by_distribution_functions_is_self_waka():
    inside, outside = waka.knn_loss_distributions(*waka.pool(), Knn(3))
    by_cdf = np.abs(np.cumsum(inside - outside, axis=1)).sum(axis=1) / 3
    np.testing.assert_allclose(by_cdf, self_waka(*waka.pool(), Knn(3)), atol=1e-12)


def test_influences_of_a_set_do_not_add_up():
    error, largest = waka.summed_influence(3)
    assert 0.01 < error < largest


def test_the_column_makes_sense_in_one_order_alone():
    from itertools import permutations

    printed = list(waka.FULL_AUC.values())
    fits = {order: waka.misplaced(dict(zip(order, printed, strict=True))) for order in permutations(waka.FULL_AUC)}
    assert min(fits, key=fits.get) == waka.ORDER


def test_the_page_is_what_is_computed(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data(PREDICTIONS).parent))
    assert page.PAGE.read_text("utf-8") == page.text(), "run: python -m papers.errata page"
