"""Values against enumeration over all subsets, published recursions, and each other."""

import numpy as np
import pytest

import oracles_neighbours as oracles
from guestlist.knn import (
    Knn,
    knn_banzhaf,
    knn_banzhaf_blocks,
    knn_loo,
    knn_loo_blocks,
    knn_shapley,
    knn_shapley_blocks,
    self_shapley,
    self_waka,
    stack_blocks,
    waka,
)
from guestlist.knn.pool import banzhaf_weights, loo_weights, shapley_weights

GAMES = {
    "shapley": (knn_shapley_blocks, {}, oracles.shapley_chance),
    "banzhaf": (knn_banzhaf_blocks, {}, oracles.banzhaf_chance(0.5)),
    "banzhaf, p=0.3": (knn_banzhaf_blocks, {"p": 0.3}, oracles.banzhaf_chance(0.3)),
    "banzhaf, p=1": (knn_banzhaf_blocks, {"p": 1.0}, oracles.loo_chance),
    "leave one out": (knn_loo_blocks, {}, oracles.loo_chance),
}
VALUES = {
    "shapley": (knn_shapley, knn_shapley_blocks, shapley_weights),
    "banzhaf": (knn_banzhaf, knn_banzhaf_blocks, banzhaf_weights),
    "leave one out": (knn_loo, knn_loo_blocks, loo_weights),
}


def grid_data(n, classes, grid, seed, tests=2):
    """Few records on a line; ``grid`` numbers them coarsely, so that distances tie and records repeat."""
    rng = np.random.default_rng([n, classes, grid, seed])
    x = rng.integers(0, grid, size=(n, 1)).astype(float)
    x_test = rng.integers(0, grid, size=(tests, 1)).astype(float)
    return x, rng.integers(0, classes, n), x_test, rng.integers(0, classes, tests)


@pytest.fixture(scope="module")
def data_sets():
    """Small data sets with, per test record, distances and matches."""
    shapes = [(1, 2, 5), (2, 2, 1), (3, 2, 2), (4, 3, 50), (5, 5, 3), (6, 2, 100), (7, 4, 3), (8, 2, 4)]
    return [grid_data(*shape, seed) for shape in shapes for seed in (0, 1)] + [grid_data(10, 3, 5, 0, tests=1)]


@pytest.mark.parametrize("k", range(1, 8))
@pytest.mark.parametrize("name", GAMES)
def test_values_equal_enumeration(data_sets, name, k):
    function, options, chance = GAMES[name]
    for x, y, x_test, y_test in data_sets:
        got = stack_blocks(function(x, y, x_test, y_test, Knn(k), **options))
        for t in range(len(x_test)):
            distances = np.abs(x - x_test[t])[:, 0]
            expected = oracles.value_by_enumeration(distances, y == y_test[t], k, chance)
            np.testing.assert_allclose(got[t], expected, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_self_values_equal_enumeration(data_sets, k):
    for x, y, _, _ in data_sets[:-1]:
        for function, chance in (
            (self_shapley, oracles.shapley_chance),
            (self_waka, oracles.banzhaf_chance(0.5)),
        ):
            got = function(x, y, Knn(k))
            for i in range(len(x)):
                expected = oracles.value_by_enumeration(np.abs(x - x[i])[:, 0], y == y[i], k, chance)[i]
                assert got[i] == pytest.approx(expected, abs=1e-12)


def test_waka_is_the_distance_between_the_distributions_of_the_loss(data_sets):
    for x, y, x_test, y_test in data_sets[:-1]:
        got = stack_blocks(knn_banzhaf_blocks(x, y, x_test, y_test, Knn(3)))
        for t in range(len(x_test)):
            distances, match = np.abs(x - x_test[t])[:, 0], y == y_test[t]
            for i in range(len(x)):
                laws = oracles.losses_by_enumeration(distances, match, 3, i)
                sign = 1 if match[i] else -1
                assert got[t, i] == pytest.approx(sign * oracles.wasserstein(*laws), abs=1e-12)


def clouds(n, tests, classes=4, features=6, seed=0):
    rng = np.random.default_rng(seed)
    y, y_test = rng.integers(0, classes, n), rng.integers(0, classes, tests)
    x = rng.normal(size=(n, features)) + 0.4 * y[:, None]
    return x, y, rng.normal(size=(tests, features)) + 0.4 * y_test[:, None], y_test


@pytest.mark.parametrize("k", [1, 5, 40])
def test_index_ties_give_the_published_recursion(k):
    x, y, x_test, y_test = clouds(300, 40)
    x, x_test = np.round(x), np.round(x_test)  # plenty of ties
    expected = oracles.in_row_order(x, y, x_test, y_test, lambda m: oracles.knn_shapley_recursion(m, k))
    knn = Knn(k, ties="index")
    got = stack_blocks(knn_shapley_blocks(x, y, x_test, y_test, knn))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(knn_shapley(x, y, x_test, y_test, knn), expected.mean(axis=0), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("k", [1, 5, 400])
@pytest.mark.parametrize("features", [1, 6, 40])
@pytest.mark.parametrize("ties", ["none", "some", "all"])
def test_index_ties_equal_a_full_sort_to_the_last_bit(name, k, features, ties):
    function, blocks, weights_of = VALUES[name]
    x, y, x_test, y_test = clouds(300, 40, features=features)
    grid = {"none": 2.0**20, "some": 1.0, "all": 0.0}[ties]
    x, x_test = (np.round(part * grid) for part in (x, x_test))  # exact in both ways to compute distances
    y_test[-3:] = 9, -1, 0  # two labels that no record has
    distances = ((x_test[:, None] - x) ** 2).sum(axis=2)
    expected = oracles.values_by_rank(distances, y, y_test, weights_of(300, k))
    np.testing.assert_array_equal(stack_blocks(blocks(x, y, x_test, y_test, Knn(k, ties="index"))), expected)
    mean = function(x, y, x_test, y_test, Knn(k, ties="index"), n_jobs=2)
    np.testing.assert_array_equal(mean, expected.sum(axis=0) / 40)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("grid", [2.0**20, 1.0])
def test_index_ties_among_so_many_that_only_the_nearest_count_equal_a_full_sort(name, grid):
    """Weights that fade are ranked as far as they count: beyond, nothing above 2^-53 is left out."""
    _, blocks, weights_of = VALUES[name]
    x, y, x_test, y_test = clouds(1000, 30, features=2)
    x, x_test = np.round(x * grid), np.round(x_test * grid)
    y_test[-1] = 9
    distances = ((x_test[:, None] - x) ** 2).sum(axis=2)
    expected = oracles.values_by_rank(distances, y, y_test, weights_of(1000, 5))
    got = stack_blocks(blocks(x, y, x_test, y_test, Knn(5, ties="index")))
    np.testing.assert_allclose(got, expected, rtol=0, atol=2.0**-52)
    assert (got[-1] == 0).all()
    if name != "shapley":
        assert ((got != 0).sum(axis=1) < 400).all(), "the far ones are not ranked at all"


@pytest.mark.parametrize("function", [knn_shapley, knn_banzhaf, knn_loo])
@pytest.mark.parametrize("features", [1, 6, 40])
@pytest.mark.parametrize("precision", ["exact", "fast"])
def test_without_ties_the_gap_kernel_equals_the_full_sort(function, features, precision):
    x, y, x_test, y_test = clouds(3000, 50, features=features)
    fast = function(x, y, x_test, y_test, Knn(precision=precision))
    full = function(x, y, x_test, y_test, Knn(ties="index"))
    if precision == "exact":
        np.testing.assert_allclose(fast, full, rtol=0, atol=1e-13)
    else:  # float32 may swap two records whose distances agree to six digits: rarely
        assert np.abs(fast - full).mean() < 2e-3 * full.std()


@pytest.mark.parametrize("blocks", [knn_shapley_blocks, knn_banzhaf_blocks])
@pytest.mark.parametrize("features", [6, 40])
def test_records_beyond_the_farthest_of_the_class_have_the_value_of_the_full_sort(blocks, features):
    x, y, x_test, y_test = clouds(3000, 50, features=features)
    y_test[-1] = 9
    apart = 10.0 * (np.arange(4)[:, None] > 1)  # classes 0 and 1 overlap, as do 2 and 3
    x, x_test = x + apart[y], x_test + apart[y_test.clip(max=3)]
    got = stack_blocks(blocks(x, y, x_test, y_test))
    full = stack_blocks(blocks(x, y, x_test, y_test, Knn(ties="index")))
    np.testing.assert_allclose(got, full, rtol=0, atol=1e-13)
    assert (full[y_test < 2][:, y > 1] == 0).all(), "the far classes are beyond"


@pytest.mark.slow
def test_a_tie_is_the_mean_over_orders_of_its_rows():
    """Shuffled rows with index ties average to averaged ties: the two tie rules meet by another road."""
    x, y, x_test, y_test = clouds(30, 3, features=1)
    x, x_test = np.round(x), np.round(x_test)
    rng = np.random.default_rng(0)
    total, repeats = np.zeros(len(x)), 3000
    for _ in range(repeats):
        rows = rng.permutation(len(x))
        total[rows] += knn_shapley(x[rows], y[rows], x_test, y_test, Knn(ties="index"))
    expected = knn_shapley(x, y, x_test, y_test)
    assert np.ptp(total / repeats - expected) < 0.01 < np.ptp(expected)


def test_why_art_differs_its_shapr_ignores_k():
    """ART's recursion divides by the rank, never by max(K, rank): it is K = 1 whatever K was meant."""
    x, y, x_test, y_test = clouds(200, 30)
    art = oracles.in_row_order(x, y, x_test, y_test, oracles.art_recursion).mean(axis=0)
    np.testing.assert_allclose(knn_shapley(x, y, x_test, y_test, Knn(1)), art, rtol=0, atol=1e-13)
    assert np.abs(knn_shapley(x, y, x_test, y_test, Knn(5)) - art).max() > 0.1 * np.abs(art).max()


def test_waka_equals_algorithm_1():
    x, y, x_test, y_test = clouds(300, 5)
    expected = oracles.waka_algorithm(x, y, x_test, y_test, k=3, neighbours=80)
    np.testing.assert_allclose(waka(x, y, x_test, y_test, Knn(3)), expected, rtol=0, atol=1e-13)


def test_cosine_is_the_order_of_angles():
    x, y, x_test, y_test = clouds(200, 10)
    lengths = np.random.default_rng(0).uniform(0.1, 10, size=(200, 1))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    got = knn_shapley(x * lengths, y, x_test * 7, y_test, Knn(metric="cosine"))
    expected = np.zeros(200)
    for at, label in zip(x_test, y_test, strict=True):
        order = np.argsort(-(unit @ at))
        expected[order] += oracles.knn_shapley_recursion((y[order] == label).astype(float), 5)
    np.testing.assert_allclose(got, expected / 10, rtol=0, atol=1e-12)


@pytest.mark.parametrize("features", [4, 40])
def test_results_do_not_depend_on_threads_blocks_or_label_types(features, monkeypatch):
    x, y, x_test, y_test = clouds(500, 90, features=features)
    expected = knn_shapley(x, y, x_test, y_test)
    computed = []

    def progress(blocks):
        computed.extend(blocks)
        return blocks

    names = np.array(["ash", "birch", "cedar", "dogwood"])
    named = knn_shapley(x, names[y], x_test, names[y_test].astype(object), n_jobs=2, progress=progress)
    assert (named == expected).all()
    monkeypatch.setattr("guestlist.knn.distances.BLOCK_BYTES", 1)
    many = knn_shapley(x, y, x_test, y_test, n_jobs=2, progress=progress)
    np.testing.assert_allclose(many, expected, rtol=0, atol=1e-15)
    assert len(computed) == 1 + 3
    blocks = list(knn_shapley_blocks(x, y, x_test, y_test))
    assert [block for block, _ in blocks] == [slice(0, 32), slice(32, 64), slice(64, 90)]
    np.testing.assert_allclose(stack_blocks(blocks).mean(axis=0), expected, rtol=0, atol=1e-15)


def test_a_label_that_no_record_has_gives_zeros():
    x, y, x_test, _ = clouds(50, 3)
    assert not knn_shapley(x, y, x_test, [9, 9, 9]).any()
    assert not waka(x, y, x_test, [9, -1, 9], Knn(1)).any()


def test_far_records_get_zero_and_near_ones_the_full_value(monkeypatch):
    x, y, x_test, y_test = clouds(2000, 20)
    near = waka(x, y, x_test, y_test)
    monkeypatch.setattr("guestlist.knn.pool.LARGEST_SHARE_NEAR", 0.0)
    np.testing.assert_allclose(near, waka(x, y, x_test, y_test), rtol=0, atol=2.0**-52)
