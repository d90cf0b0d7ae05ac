import numpy as np

import oracles
from guestlist._kernels import aucs
from guestlist._kernels.ranks import ecdf_counts
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


def test_counts_among_a_row_equal_a_loop():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, (4, 30)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    mask = (rng.random(values.shape) < 0.6) & ~np.isnan(values)
    computed = ecdf_counts(values, mask)
    for row, some, counts in zip(values, mask, np.moveaxis(computed, 1, 0), strict=True):
        for i in np.flatnonzero(~np.isnan(row)):
            expected = (row[some] < row[i]).sum(), (row[some] <= row[i]).sum(), some.sum()
            assert tuple(counts[:, i]) == expected
