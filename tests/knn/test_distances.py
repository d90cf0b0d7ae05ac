"""Distances keep the order, and keep equal what is equal, to the last bit."""

import numpy as np
import pytest

from guestlist.knn.distances import canonical_order, squared_distances, zero_self_distances
from guestlist.knn.kernel import nearest, quickselect


def computed(x, tests, precision="exact"):
    distances = squared_distances(np.asarray(x, dtype=float), precision=precision)
    out = np.empty((len(tests), len(x)), distances.dtype)
    distances.fill(np.asarray(tests, dtype=float), out)
    return out


def plainly(x, tests):
    return ((tests[:, None] - x) ** 2).sum(axis=2)


def from_the_first(distances):
    """A product leaves out what is the same for all records."""
    return distances[:, 1:] - distances[:, :1]


@pytest.mark.parametrize("features", [1, 3, 4, 10, 32, 33, 100])
@pytest.mark.parametrize("offset", [0, 1000])
def test_distances_are_those_of_the_definition(features, offset):
    rng = np.random.default_rng(features)
    x, tests = rng.normal(size=(1100, features)) + offset, rng.normal(size=(7, features)) + offset
    expected = plainly(x, tests)
    if features <= 32:
        np.testing.assert_allclose(computed(x, tests), expected, rtol=1e-12)
    for precision, atol in (("exact", 1e-10), ("fast", 1e-3)):
        got = from_the_first(computed(x, tests, precision))
        np.testing.assert_allclose(got, from_the_first(expected), rtol=0, atol=atol)


@pytest.mark.parametrize("features", [3, 10, 33, 100])
@pytest.mark.parametrize("precision", ["exact", "fast"])
def test_equal_records_are_equally_far_wherever_they_stand(features, precision):
    """Odd sizes, so that some copies fall into the remainders of vector loops and matrix panels."""
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(97, features))
    copy_of = rng.integers(0, 97, 1237)
    got = computed(distinct[copy_of], rng.normal(size=(31, features)), precision)
    for record in range(97):
        copies = got[:, copy_of == record]
        assert (copies == copies[:, :1]).all()


@pytest.mark.parametrize("features", [5, 60])
def test_distances_on_a_grid_are_exact(features):
    """One-hot columns and counts tie by the thousand; centring must not take them off their grid."""
    rng = np.random.default_rng(0)
    x, tests = rng.integers(0, 2, (501, features)) * 1.0, rng.integers(0, 2, (33, features)) * 1.0
    x[:, 0], tests[:, 0] = rng.integers(0, 90, 501), rng.integers(0, 90, 33)
    assert (from_the_first(computed(x, tests)) == from_the_first(plainly(x, tests))).all()


def test_canonical_order_depends_only_on_contents():
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (200, 3)) * 1.0
    x[x == 0] *= rng.choice([-1, 1], (x == 0).sum())  # zeros of both signs are equal
    rows = rng.permutation(200)
    assert (x[canonical_order(x)] == x[rows][canonical_order(x[rows])]).all()


def test_a_record_is_at_distance_zero_from_its_equals_only():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 40))
    x[7] = x[3]
    x[20:] = x[3] + 1e-11 * rng.normal(size=(30, 40))  # nearer to each other than a product can tell
    distances = squared_distances(x)
    out = np.empty((50, 50))
    distances.fill(x, out)
    equal = (x[:, None] == x).all(axis=2)
    assert ((out == 0) != equal).any()
    zero_self_distances(out, np.arange(50), distances.distinct)
    assert ((out == 0) == equal).all()
    assert (out >= 0).all()


@pytest.mark.parametrize("n", [1, 5, 40, 41, 1000, 1003])
@pytest.mark.parametrize("radius", [1, 5, 60])
@pytest.mark.parametrize("grid", [1, 30, 10**9])
def test_nearest_finds_all_that_tie_with_the_last(n, radius, grid):
    row = np.random.default_rng([n, radius]).integers(0, grid, n).astype(float)
    index, near = nearest(row, radius)
    last = np.sort(row)[min(radius, n) - 1]
    assert sorted(index.tolist()) == np.flatnonzero(row <= last).tolist()
    assert (near == np.sort(row[row <= last])).all()
    assert (row[index] == near).all()


@pytest.mark.parametrize("values", [3, 1000], ids=["ties", "all different"])
def test_selecting_is_sorting_and_looking(values):
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 17, 200):
        for row in (rng.integers(0, values, size).astype(float), np.arange(size, 0.0, -1)):
            expected = np.sort(row)
            assert [quickselect(row.copy(), rank) for rank in range(size)] == list(expected)
