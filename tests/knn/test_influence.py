"""Removal influences from stored lists, against computing self-WaKA again without the removed records."""

import numpy as np
import pytest

from guestlist.knn import Knn, NeighbourLists, neighbour_lists, self_waka, waka_influence, waka_influence_of_each


def grid_records(n, grid, seed=0, features=2):
    """Records on a grid with repeats, some of them under another label."""
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(n, features)) * grid) / grid, rng.integers(0, 3, n)


def again(x, y, gone, k, p=0.5):
    change = np.full(len(x), np.nan)
    change[~gone] = self_waka(x[~gone], y[~gone], Knn(k), p=p) - self_waka(x, y, Knn(k), p=p)[~gone]
    return change


# Of many features distances are a matrix product, whose last bits depend on the other records: there ties need numbers that are
# exact in binary, thirds are for few features.
@pytest.mark.parametrize(
    ("n", "grid", "features"),
    [(6, 1, 2), (40, 2, 2), (900, 3, 2), (900, 1000, 2), (6, 1, 40), (40, 2, 40), (900, 4, 40), (900, 1000, 40)],
)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_removing_a_set_equals_computing_again(n, grid, k, features):
    x, y = grid_records(n, grid, features=features)
    gone = np.random.default_rng(1).random(n) < 0.1
    gone[0] = True
    lists = neighbour_lists(x, y, Knn(k))
    expected = again(x, y, gone, k)
    np.testing.assert_allclose(waka_influence(lists, gone), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(waka_influence(lists, np.flatnonzero(gone)), expected, rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "grid"), [(7, 1), (60, 2), (400, 1000)])
@pytest.mark.parametrize("k", [1, 3])
def test_removing_each_neighbour_equals_computing_again(n, grid, k):
    x, y = grid_records(n, grid)
    lists = neighbour_lists(x, y, Knn(k), spare=1)
    got = waka_influence_of_each(lists)
    owner = np.repeat(np.arange(n), np.diff(lists.starts))
    for neighbour in range(0, n, 5):
        expected = again(x, y, np.arange(n) == neighbour, k)
        here = lists.index == neighbour
        np.testing.assert_allclose(got[here], expected[owner[here]], rtol=0, atol=1e-14)
        beyond = np.setdiff1d(np.arange(n), np.append(owner[here], neighbour))
        np.testing.assert_allclose(expected[beyond], 0, atol=2.0**-52)


@pytest.mark.slow
def test_single_influences_do_not_add_up():
    """A published sum of single influences assumes additivity, which does not hold."""
    x, y = grid_records(200, 1000)
    lists = neighbour_lists(x, y, Knn(3))
    gone = np.random.default_rng(0).random(200) < 0.3
    each, exact = waka_influence_of_each(lists), waka_influence(lists, gone)
    owner = np.repeat(np.arange(200), np.diff(lists.starts))
    added = np.bincount(owner, np.where(gone[lists.index], each, 0))
    assert np.abs(added - exact)[~gone].max() > 0.1 * np.nanmax(np.abs(exact))


def test_lists_name_the_rows_that_came_in():
    x, y = np.array([[3.0], [0.0], [1.0], [7.0]]), np.array(["b", "a", "a", "b"])
    lists = neighbour_lists(x, y, Knn(1))
    assert lists.index[lists.starts[0] : lists.starts[1]].tolist() == [2, 1, 3]
    assert lists.distance[lists.starts[0] : lists.starts[1]].tolist() == [4, 9, 16]
    assert lists.agree[lists.starts[0] : lists.starts[1]].tolist() == [False, False, True]


def test_lists_can_be_stored(tmp_path):
    lists = neighbour_lists(*grid_records(60, 5), Knn(3))
    np.savez(tmp_path / "lists.npz", **vars(lists))
    with np.load(tmp_path / "lists.npz") as stored:
        again = NeighbourLists(**stored)
    np.testing.assert_array_equal(waka_influence(again, [1, 2]), waka_influence(lists, [1, 2]))


def test_lists_that_lost_too_much_are_refused():
    x, y = grid_records(900, 1000)
    lists = neighbour_lists(x, y, spare=2)
    assert np.diff(lists.starts).min() == 74
    with pytest.raises(ValueError, match="larger spare"):
        waka_influence(lists, np.arange(300))


@pytest.mark.parametrize(
    ("removed", "words"),
    [
        (np.zeros(5, bool), r"mask removed shaped \(40,\)"),
        ([40], r"rows in \[0, 40\), found \[40, 40\]"),
        ([-1], "rows in"),
        ([1.0], "row numbers or a mask, found float64"),
        (np.ones(40, bool), "All records are removed"),
    ],
)
def test_wrong_removals_are_refused(removed, words):
    lists = neighbour_lists(*grid_records(40, 5))
    with pytest.raises(ValueError, match=words):
        waka_influence(lists, removed)


def test_removing_nothing_changes_nothing():
    lists = neighbour_lists(*grid_records(40, 5))
    assert not waka_influence(lists, []).any()
