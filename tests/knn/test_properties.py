"""Test the axioms of every K-NN value on arbitrary records with ties, repeats and few classes."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from guestlist.knn import (
    Knn,
    knn_banzhaf,
    knn_banzhaf_blocks,
    knn_loo,
    knn_loo_blocks,
    knn_shapley,
    knn_shapley_blocks,
    stack_blocks,
)

VALUES = [knn_shapley, knn_banzhaf, knn_loo]
BLOCKS = [knn_shapley_blocks, knn_banzhaf_blocks, knn_loo_blocks]


@st.composite
def grid_data(draw):
    """Records on a small grid, so that ties and repeats are common; from one feature to a matrix product."""
    n, tests = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    features, classes = draw(st.sampled_from([1, 2, 40])), draw(st.integers(1, 5))
    grid = draw(st.sampled_from([2, 5, 1000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x, x_test = rng.integers(0, grid, (n, features)) / 4, rng.integers(0, grid, (tests, features)) / 4
    return x, rng.integers(0, classes, n), x_test, rng.integers(0, classes, tests)


def expected_worth(x, y, x_test, y_test, k):
    """Mean share of right neighbours, random among the records that tie for the last places."""
    total = 0.0
    for at, label in zip(x_test, y_test, strict=True):
        distances = ((x - at) ** 2).sum(axis=1)
        last = np.sort(distances)[min(k, len(x)) - 1]
        surely, maybe = distances < last, distances == last
        places = min(k, len(x)) - surely.sum()
        total += ((y[surely] == label).sum() + places * (y[maybe] == label).mean()) / k
    return total / len(x_test)


@pytest.mark.slow
@settings(max_examples=60)
@given(grid_data(), st.integers(1, 12))
def test_shapley_values_add_up_to_the_value_of_all_records(records, k):
    assert knn_shapley(*records, Knn(k)).sum() == pytest.approx(expected_worth(*records, k), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES)
@settings(max_examples=30)
@given(grid_data(), st.integers(1, 8), st.integers(0, 2**32))
def test_rows_may_come_in_any_order_and_equal_records_get_equal_values(value, records, k, seed):
    x, y, x_test, y_test = records
    x, y = np.concatenate([x, x[:3]]), np.concatenate([y, y[:3]])
    got = value(x, y, x_test, y_test, Knn(k))
    assert (got[len(records[0]) :] == got[: len(x) - len(records[0])]).all()
    rows = np.random.default_rng(seed).permutation(len(x))
    assert (value(x[rows], y[rows], x_test, y_test, Knn(k)) == got[rows]).all()


@pytest.mark.parametrize("blocks", BLOCKS)
@settings(max_examples=30)
@given(grid_data(), st.integers(1, 8))
def test_a_right_label_never_hurts_and_a_wrong_one_never_helps(blocks, records, k):
    _, y, _, y_test = records
    got = stack_blocks(blocks(*records, Knn(k)))
    match = y == y_test[:, None]
    assert (got[match] >= -1e-15).all()
    assert (got[~match] <= 1e-15).all()


@pytest.mark.parametrize("blocks", BLOCKS)
@settings(max_examples=30)
@given(grid_data(), st.integers(1, 8))
def test_among_right_labels_the_nearer_has_the_larger_value(blocks, records, k):
    x, y, x_test, y_test = records
    got = stack_blocks(blocks(*records, Knn(k)))
    for t in range(len(x_test)):
        for match in (y == y_test[t], y != y_test[t]):
            distances = ((x[match] - x_test[t]) ** 2).sum(axis=1)
            sizes = np.abs(got[t, match][np.argsort(distances)])
            assert (np.diff(sizes) <= 1e-14).all()


@pytest.mark.parametrize("saturated", [0.44, 0.95, 1.0])
@pytest.mark.parametrize("value", VALUES)
def test_saturated_softmax_outputs_do_not_feel_the_order_of_rows(value, saturated):
    """float32 probabilities, most of them exactly one-hot: ties by the thousand, and near ties at 1e-9."""
    rng = np.random.default_rng(0)
    n, tests, classes = 2000, 100, 5

    def outputs(rows):
        logits = rng.normal(size=(rows, classes)) * np.where(rng.random(rows) < saturated, 1000, 3)[:, None]
        p = np.exp(logits - logits.max(axis=1, keepdims=True)).astype(np.float32)
        return p / p.sum(axis=1, keepdims=True)

    x, x_test = outputs(n), outputs(tests)
    y = np.where(rng.random(n) < 0.8, x.argmax(axis=1), rng.integers(0, classes, n))
    y_test = x_test.argmax(axis=1)
    assert (x.max(axis=1) == 1).mean() > 0.9 * saturated
    expected = value(x, y, x_test, y_test)
    rows = rng.permutation(n)
    moved = value(x[rows], y[rows], x_test, y_test)
    assert (moved == expected[rows]).all()
    by_index = [value(a, b, x_test, y_test, Knn(ties="index")) for a, b in ((x, y), (x[rows], y[rows]))]
    assert np.abs(by_index[1] - by_index[0][rows]).max() > 1e-4 * expected.std()
