"""Empirical distribution counts among other models, for every model in turn: one sort, then one pass.

Imports numba, so it is imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def ecdf_counts_of_others(values: np.ndarray, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Count, for each value, the values of models in other blocks that are smaller, at most as large, and all.

    Args:
        values: (models, records); the counts for NaN have no meaning.
        mask: (models, records) Values that count; false where a value is NaN.
        block: (models,) Block number of each model, from 0.

    Returns:
        (3, models, records).
    """
    counts = np.empty((3, *values.shape))
    flat = np.ascontiguousarray(values).ravel()
    _fill_counts(np.argsort(flat), flat, np.ascontiguousarray(mask).ravel(), block, counts.reshape(3, -1))
    return counts


@njit(cache=True)
def _fill_counts(order, values, mask, block, counts):  # pragma: no cover: compiled
    points = len(values)
    records = len(values) // max(len(block), 1)
    below = 0  # number of smaller values so far, in total and per block
    below_in_block = np.zeros(len(block), dtype=np.int64)
    start = 0
    while start < points:  # from one run of equal values to the next
        stop = start
        equal = 0
        while stop < points and values[order[stop]] == values[order[start]]:
            counts[0, order[stop]] = below - below_in_block[block[order[stop] // records]]
            stop += 1
        stop = max(stop, start + 1)  # NaN is not equal to itself.
        for i in range(start, stop):
            if mask[order[i]]:
                below_in_block[block[order[i] // records]] += 1
                equal += 1
        below += equal
        for i in range(start, stop):
            counts[1, order[i]] = below - below_in_block[block[order[i] // records]]
        start = stop
    for i in range(points):
        counts[2, i] = below - below_in_block[block[i // records]]
