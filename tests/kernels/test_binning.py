"""Values of models in bins, against numpy's histogram."""

import numpy as np
import pytest

from guestlist._kernels import count_and_range, count_in_bins


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("records", [3, 2500])
def test_counts_are_those_of_numpy(kind, records):
    rng = np.random.default_rng(records)
    values = rng.exponential(size=(4, records)).round(1).astype(kind)  # many on an edge, some at 0
    values[rng.random(values.shape) < 0.1] = np.nan
    member, chosen = rng.random(values.shape) < 0.3, np.flatnonzero(rng.random(records) < 0.7)
    sizes, ends = count_and_range(values, member, chosen)
    columns, inside = values[:, chosen].astype(np.float64), member[:, chosen]
    known = ~np.isnan(columns)
    assert sizes.tolist() == [(known & inside).sum(), (known & ~inside).sum()]
    if known.any():
        assert ends.tolist() == [columns[known].min(), columns[known].max()]
    edges = np.array([0.05, 0.2, 0.5, 1.0, 2.0])
    counts = count_in_bins(values, member, chosen, edges, 0.05)
    for side, histogram in zip((inside, ~inside), counts, strict=True):
        assert histogram.tolist() == np.histogram(np.maximum(columns[known & side], 0.05), edges)[0].tolist()


def test_no_record_is_counted_if_none_is_chosen():
    values, member, none = np.ones((2, 3)), np.ones((2, 3), dtype=bool), np.arange(0)
    sizes, ends = count_and_range(values, member, none)
    counts = count_in_bins(values, member, none, np.array([0.0, 1.0, 2.0]), 0.0)
    assert sizes.tolist() == [0, 0]
    assert ends.tolist() == [np.inf, -np.inf]
    assert not counts.any()
