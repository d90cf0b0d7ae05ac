import numpy as np

import oracles
from guestlist._kernels import aucs, flag_counts
from guestlist._kernels.ranks import ecdf_counts_of_others
from guestlist.metrics import auc


def test_each_row_equals_a_loop_over_pairs():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (5, 40)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    scores[0, :3] = np.inf, -np.inf, np.inf
    member = rng.random(scores.shape) < 0.4
    expected = [oracles.auc(row, truth) for row, truth in zip(scores, member, strict=True)]
    np.testing.assert_allclose(aucs(scores, member), expected, rtol=1e-12)
    np.testing.assert_allclose(aucs(scores, member), [auc(*pair).value for pair in zip(scores, member, strict=True)])


def test_one_class_gives_nan_and_a_constant_score_0_5():
    member = np.array([[True, True], [True, False], [True, False]])
    scores = np.array([[1.0, 2.0], [3.0, 3.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(aucs(scores, member), [np.nan, 0.5, np.nan])


def test_counts_among_models_of_other_blocks_equal_a_loop():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 6, (5, 20)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    mask = (rng.random(values.shape) < 0.6) & ~np.isnan(values)
    block = np.array([0, 1, 1, 2, 0])
    computed = ecdf_counts_of_others(values, mask, block)
    for k, i in np.argwhere(~np.isnan(values)):
        others = values[mask & (block != block[k])[:, None]]
        expected = (others < values[k, i]).sum(), (others <= values[k, i]).sum(), len(others)
        assert tuple(computed[:, k, i]) == expected


def test_numbers_of_flags_equal_a_loop():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(5, 20)).round(1)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    member = rng.random(scores.shape) < 0.5
    thresholds = np.array([0.1, 0.0, np.nan, -1.0, np.inf])
    expected = np.zeros((4, 20), dtype=int)
    for k, i in np.argwhere(~np.isnan(scores)):
        row = 2 * int(member[k, i])
        expected[row, i] += scores[k, i] >= thresholds[k]
        expected[row + 1, i] += 1
    np.testing.assert_array_equal(flag_counts(scores, member, thresholds), expected)
