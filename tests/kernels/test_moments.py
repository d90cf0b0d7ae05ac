from itertools import product

import numpy as np
import pytest

import oracles
from guestlist._kernels import in_out_moments, leave_block_out_moments
from guestlist._kernels.moments import moments


def _values(kind: str, models: int = 7, records: int = 12) -> np.ndarray:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(models, records))
    if kind == "huge mean":
        values += 1e8
    if kind == "saturated":
        values[:, ::2] = 0.1
    if kind == "all saturated":
        values[:] = 1 / 3
    if kind == "far target":
        values[2] = 1e7
    if kind == "not asked":
        values[rng.random(values.shape) < 0.4] = np.nan
    return values


KINDS = ["plain", "huge mean", "saturated", "all saturated", "far target", "not asked"]


@pytest.mark.parametrize("together", [None, np.array([0, 0, 1, 1, 2, 2, 3]), np.array([1, 0, 2, 0, 1, 2, 3])])
@pytest.mark.parametrize("kind", KINDS)
def test_all_targets_at_once_equal_a_loop(kind, together):
    values = _values(kind)
    mask = (np.random.default_rng(0).random(values.shape) < 0.5) & ~np.isnan(values)
    moments_by_block = leave_block_out_moments(values, mask, together)
    count, mean, squares = oracles.moments_of_others(values, mask, together)
    np.testing.assert_array_equal(moments_by_block.count, count)
    np.testing.assert_allclose(moments_by_block.mean, mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments_by_block.squares, squares, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_records_give_the_same_bits(kind, monkeypatch):
    values = _values(kind, records=13)
    mask = (np.random.default_rng(0).random(values.shape) < 0.5) & ~np.isnan(values)
    at_once = leave_block_out_moments(values, mask)
    monkeypatch.setattr("guestlist._kernels.moments.RECORDS_PER_BLOCK", 4)
    in_blocks = leave_block_out_moments(values, mask)
    for name in ("count", "mean", "squares"):
        np.testing.assert_array_equal(getattr(in_blocks, name), getattr(at_once, name))


@pytest.mark.parametrize("kind", KINDS)
def test_one_target_equals_a_loop(kind):
    values = _values(kind)
    mask = (np.random.default_rng(0).random(values.shape) < 0.5) & ~np.isnan(values)
    padded = np.vstack([np.zeros(values.shape[1]), values])  # the oracle leaves a model out: one that never counts
    count, mean, squares = oracles.moments_of_others(padded, np.vstack([np.zeros(values.shape[1], bool), mask]))
    result = moments(values, mask)
    np.testing.assert_array_equal(result.count, count[0])
    np.testing.assert_allclose(result.mean, mean[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(result.squares, squares[0], rtol=1e-10, atol=1e-10)


def test_models_that_agree_have_exactly_no_variance():
    values = np.full((6, 3), 0.1) * np.array([1.0, 7.0, 1e5])
    mask = np.ones(values.shape, bool)
    assert (moments(values, mask).squares == 0).all()
    assert (leave_block_out_moments(values, mask).squares == 0).all()
    assert (moments(values, mask).mean == values[0]).all()
    assert (leave_block_out_moments(values, mask).mean == values[0]).all()


def test_a_single_model_has_no_others():
    alone = leave_block_out_moments(np.ones((1, 4)), np.ones((1, 4), bool))
    assert (alone.count == 0).all()
    assert np.isnan(alone.mean).all()
    assert np.isnan(alone.variance).all()
    assert np.isnan(alone.pooled_variance).all()


def test_pooled_variance_excludes_the_variance_between_records():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(40, 500)) + 100 * rng.normal(size=500)
    mask = np.ones(values.shape, bool)
    assert moments(values, mask).pooled_variance == pytest.approx(1.0, abs=0.05)
    within = [np.var(values[:, i], ddof=1) for i in range(500)]
    assert moments(values, mask).pooled_variance == pytest.approx(np.mean(within))


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_code_has_the_same_bits(kind, monkeypatch):
    values = _values(kind, records=600)  # more than are worked on at once
    member = np.random.default_rng(4).random(values.shape) < 0.5
    member[:, 3] = False
    for matrix in (values, values.astype(np.float32)):
        monkeypatch.setattr("guestlist._kernels.moments.MANY_CELLS", values.size)
        plain = in_out_moments(matrix.astype(np.float64), member)
        for side, kind_of in zip(plain, (member, ~member), strict=True):
            alone = moments(matrix.astype(np.float64), kind_of & ~np.isnan(matrix))
            np.testing.assert_array_equal(side.squares, alone.squares)
        monkeypatch.setattr("guestlist._kernels.moments.MANY_CELLS", 0)
        compiled = in_out_moments(matrix, member)
        for side, name in product(("inside", "outside"), ("count", "mean", "squares")):
            expected, other = (getattr(getattr(sides, side), name) for sides in (plain, compiled))
            np.testing.assert_array_equal(expected, other)
            assert expected.dtype == other.dtype
        some, alone = in_out_moments(matrix, member, slice(1, None, 2)), in_out_moments(matrix[1::2], member[1::2])
        np.testing.assert_array_equal(some.inside.squares, alone.inside.squares)
