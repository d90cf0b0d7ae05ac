"""Values of models in bins, against numpy's histogram."""

import numpy as np
import pytest

from guestlist._kernels import count_and_range, count_in_bins


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("records", [3, 2500])  # more than are compared at once
def test_counts_are_those_of_numpy(kind, records):
    rng = np.random.default_rng(records)
    values = rng.exponential(size=(4, records)).round(1).astype(kind)  # many on an edge, some at 0
    values[rng.random(values.shape) < 0.1] = np.nan
    member, chosen = rng.random(values.shape) < 0.3, np.flatnonzero(rng.random(records) < 0.7)
    sizes, ends = np.zeros(2, dtype=np.int64), np.array([np.inf, -np.inf])
    count_and_range(values, member, chosen, sizes, ends)
    own, inside = values[:, chosen].astype(np.float64), member[:, chosen]
    known = ~np.isnan(own)
    assert sizes.tolist() == [(known & inside).sum(), (known & ~inside).sum()]
    if known.any():
        assert ends.tolist() == [own[known].min(), own[known].max()]
    edges = np.array([0.05, 0.2, 0.5, 1.0, 2.0])
    counts = np.zeros((2, 4), dtype=np.int64)
    count_in_bins(values, member, chosen, edges, 0.05, counts)
    for side, found in zip((inside, ~inside), counts, strict=True):
        assert found.tolist() == np.histogram(np.maximum(own[known & side], 0.05), edges)[0].tolist()


def test_no_record_is_counted_if_none_is_chosen():
    sizes, ends, counts = np.zeros(2, dtype=np.int64), np.array([np.inf, -np.inf]), np.zeros((2, 2), dtype=np.int64)
    values, member, nobody = np.ones((2, 3)), np.ones((2, 3), dtype=bool), np.arange(0)
    count_and_range(values, member, nobody, sizes, ends)
    count_in_bins(values, member, nobody, np.array([0.0, 1.0, 2.0]), 0.0, counts)
    assert sizes.tolist() == [0, 0]
    assert ends.tolist() == [np.inf, -np.inf]
    assert not counts.any()
