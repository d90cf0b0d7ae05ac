"""Count, mean and sum of squares over models: of all of them, or of all but some, for each of these in turn.

The second takes one pass down the models and one up.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

AT_ONCE = 256  # records: what all models say of them stays in the cache


@njit(cache=True, error_model="numpy")
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


@njit(cache=True)
def nearest_to_zero(values, mask):  # pragma: no cover: compiled
    """(records,) the selected value of smallest size, 0 without any; subtracting it never costs another one a digit it has."""
    models, records = values.shape
    found, least = np.zeros(records), np.full(records, np.inf)
    for k in range(models):
        for i in range(records):
            size = np.float64(abs(values[k, i])) if mask[k, i] else np.inf
            found[i] = values[k, i] if size < least[i] else found[i]
            least[i] = min(size, least[i])
    return found


@njit(cache=True, inline="always", error_model="numpy")
def _add(values, mask, k, pivot, n, m, s):  # pragma: no cover: compiled
    """One model joins (Welford 1962)."""
    for i in range(len(n)):  # without branches: who trained on what is a coin, which no processor foresees
        counts = mask[k, i]
        value = values[k, i] - pivot[i] if counts else m[i]
        n[i] += 1.0 if counts else 0.0
        deviation = value - m[i]
        m[i] += deviation / max(n[i], 1.0)
        s[i] += deviation * (value - m[i])


@njit(cache=True, inline="always", error_model="numpy")
def _merge(count, mean, squares, k, i, n, m, s, pivot):  # pragma: no cover: compiled
    """Two disjoint sets of models become one (Chan et al. 1979); the mean gets its pivot back, NaN where there is no model."""
    total = count[k, i] + n
    weight = n / max(total, 1.0)
    apart = m - mean[k, i] if count[k, i] > 0 and n > 0 else 0.0
    squares[k, i] = squares[k, i] + s + apart * apart * count[k, i] * weight
    merged = mean[k, i] + weight * apart if count[k, i] > 0 else m
    mean[k, i] = merged + pivot if total > 0 else np.nan
    count[k, i] = total


@njit(cache=True, error_model="numpy")
def down_the_models(values, member, count, mean, squares):  # pragma: no cover: compiled
    """Fill (2, records) moments of non-members and members, added up in the order of the models, in double precision.

    A second round makes the mean of equal values exactly that value, and their sum of squares exactly 0. Both sides are
    summed up while what is said of some records is in the cache.

    Args:
        values, member: (models, records); a value that is NaN does not count.
    """
    models, records = values.shape
    own, counts = np.empty((models, AT_ONCE)), np.empty((2, models, AT_ONCE))
    n, first, more, square = np.empty((4, 2, AT_ONCE))
    for start in range(0, records, AT_ONCE):
        many = min(AT_ONCE, records - start)
        n[:], first[:], more[:], square[:] = 0.0, 0.0, 0.0, 0.0
        for k in range(models):
            for i in range(many):
                value = np.float64(values[k, start + i])
                known = value == value
                own[k, i] = value if known else 0.0
                counts[0, k, i] = 1.0 if known and not member[k, start + i] else 0.0
                counts[1, k, i] = 1.0 if known and member[k, start + i] else 0.0
        for side in range(2):
            for k in range(models):
                for i in range(many):
                    n[side, i] += counts[side, k, i]
                    first[side, i] += own[k, i] if counts[side, k, i] > 0 else 0.0
            for i in range(many):
                first[side, i] = first[side, i] / n[side, i]  # 0 / 0 is NaN: no model applies
            for k in range(models):
                for i in range(many):
                    more[side, i] += own[k, i] - first[side, i] if counts[side, k, i] > 0 else 0.0
            for i in range(many):
                more[side, i] = first[side, i] + more[side, i] / n[side, i]
            for k in range(models):
                for i in range(many):
                    away = own[k, i] - more[side, i] if counts[side, k, i] > 0 else 0.0
                    square[side, i] += away * away
            for i in range(many):
                count[side, start + i], mean[side, start + i] = np.int64(n[side, i]), more[side, i]
                squares[side, start + i] = square[side, i]
