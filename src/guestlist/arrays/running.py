"""Count, mean and sum of squares over all models but some, for each of them in turn: one pass down the models and one up.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def before_and_after(values, mask, order, blocks, pivot, count, mean, squares):  # pragma: no cover: compiled
    """Fill (models, records) moments of the selected values of the models in other blocks.

    Args:
        values, mask: (models, records), and what counts.
        order: (models,) models, those of one block after another.
        blocks: (models,) number of each one's block.
        pivot: (records,) subtracted from the values while they are added up.
    """
    models, records = values.shape
    n, m, s = np.zeros(records), np.zeros(records), np.zeros(records)
    start = 0
    while start < models:  # what the blocks before each have added up to
        stop = start
        while stop < models and blocks[order[stop]] == blocks[order[start]]:
            stop += 1
        for at in range(start, stop):
            k = order[at]
            for i in range(records):
                count[k, i], mean[k, i], squares[k, i] = n[i], m[i], s[i]
        for at in range(start, stop):
            _add(values, mask, order[at], pivot, n, m, s)
        start = stop
    n[:], m[:], s[:] = 0.0, 0.0, 0.0
    stop = models
    while stop > 0:  # ... and, from the other end, the blocks after it
        start = stop - 1
        while start > 0 and blocks[order[start - 1]] == blocks[order[stop - 1]]:
            start -= 1
        for at in range(start, stop):
            k = order[at]
            for i in range(records):
                _merge(count, mean, squares, k, i, n[i], m[i], s[i], pivot[i])
        for at in range(start, stop):
            _add(values, mask, order[at], pivot, n, m, s)
        stop = start


@njit(cache=True, inline="always")
def _add(values, mask, k, pivot, n, m, s):  # pragma: no cover: compiled
    """One model joins (Welford 1962)."""
    for i in range(len(n)):
        if mask[k, i]:
            value = values[k, i] - pivot[i]
            n[i] += 1
            deviation = value - m[i]
            m[i] += deviation / n[i]
            s[i] += deviation * (value - m[i])


@njit(cache=True, inline="always")
def _merge(count, mean, squares, k, i, n, m, s, pivot):  # pragma: no cover: compiled
    """Two disjoint sets of models become one (Chan et al. 1979); the mean gets its pivot back, NaN where there is no model."""
    total = count[k, i] + n
    weight = n / max(total, 1.0)
    apart = m - mean[k, i] if count[k, i] > 0 and n > 0 else 0.0
    squares[k, i] = squares[k, i] + s + apart * apart * count[k, i] * weight
    merged = mean[k, i] + weight * apart if count[k, i] > 0 else m
    mean[k, i] = merged + pivot if total > 0 else np.nan
    count[k, i] = total
