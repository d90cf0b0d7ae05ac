"""Count, mean and sum of squares over models: of all of them, or of all but some, for each of these in turn.

The second takes one pass down the models and one up.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

AT_ONCE = 256  # records: what all models say of them stays in the cache


@njit(cache=True, error_model="numpy")
def fill_leave_block_out_moments(values, mask, order, blocks, count, mean, squares):  # pragma: no cover: compiled
    """Fill (models, records) moments of the selected values of the models in other blocks.

    Args:
        values, mask: (models, records), and what counts.
        order: (models,) models, those of one block after another.
        blocks: (models,) number of each one's block.
    """
    models, records = values.shape
    pivot, n, m, s = np.empty((4, AT_ONCE))
    for first in range(0, records, AT_ONCE):
        last = min(first + AT_ONCE, records)
        # Rows of their own: with places counted from a first one, a compiler does not know that they stay within bounds.
        pivot[:], n[:] = 0.0, np.inf
        for k in range(models):
            _nearest_to_zero(values[k][first:last], mask[k][first:last], pivot, n)  # huge means would cost digits
        n[:], m[:], s[:] = 0.0, 0.0, 0.0
        start = 0
        while start < models:  # what the blocks before each have added up to
            stop = start
            while stop < models and blocks[order[stop]] == blocks[order[start]]:
                stop += 1
            for at in range(start, stop):
                k, many = order[at], last - first
                count[k][first:last], mean[k][first:last], squares[k][first:last] = n[:many], m[:many], s[:many]
            for at in range(start, stop):
                _add(values[order[at]][first:last], mask[order[at]][first:last], pivot, n, m, s)
            start = stop
        n[:], m[:], s[:] = 0.0, 0.0, 0.0
        stop = models
        while stop > 0:  # ... and, from the other end, the blocks after it
            start = stop - 1
            while start > 0 and blocks[order[start - 1]] == blocks[order[stop - 1]]:
                start -= 1
            for at in range(start, stop):
                k = order[at]
                _merge(count[k][first:last], mean[k][first:last], squares[k][first:last], pivot, n, m, s)
            for at in range(start, stop):
                _add(values[order[at]][first:last], mask[order[at]][first:last], pivot, n, m, s)
            stop = start


@njit(cache=True, inline="always")
def _nearest_to_zero(values, mask, found, least):  # pragma: no cover: compiled
    """Keep the selected value of smallest size; subtracting it never costs another one a digit it has."""
    for i in range(len(values)):
        value = np.float64(values[i])
        size = abs(value) if mask[i] else np.inf
        found[i] = value if size < least[i] else found[i]
        least[i] = min(size, least[i])


@njit(cache=True, inline="always", error_model="numpy")
def _add(values, mask, pivot, n, m, s):  # pragma: no cover: compiled
    """One model joins (Welford 1962)."""
    for i in range(len(values)):  # without branches: who trained on what is a coin, which no processor foresees
        value = values[i] - pivot[i] if mask[i] else m[i]
        n[i] += 1.0 if mask[i] else 0.0
        deviation = value - m[i]
        m[i] += deviation / max(n[i], 1.0)
        s[i] += deviation * (value - m[i])


@njit(cache=True, inline="always", error_model="numpy")
def _merge(count, mean, squares, pivot, n, m, s):  # pragma: no cover: compiled
    """Two disjoint sets of models become one (Chan et al. 1979); the mean gets its pivot back, NaN where there is no model."""
    for i in range(len(count)):
        total = count[i] + n[i]
        weight = n[i] / max(total, 1.0)
        apart = m[i] - mean[i] if count[i] > 0 and n[i] > 0 else 0.0
        squares[i] = squares[i] + s[i] + apart * apart * count[i] * weight
        merged = mean[i] + weight * apart if count[i] > 0 else m[i]
        mean[i] = merged + pivot[i] if total > 0 else np.nan
        count[i] = total


@njit(cache=True, error_model="numpy")
def fill_in_out_moments(values, member, chosen, count, mean, squares):  # pragma: no cover: compiled
    """Fill (2, records) moments of non-members and members, added up in the order of the models, in double precision.

    A second round makes the mean of equal values exactly that value, and their sum of squares exactly 0. Both sides are
    summed up while what is said of some records is in the cache.

    Args:
        values, member: (models, records); a value that is NaN does not count.
        chosen: the models that count.
    """
    models, records = len(chosen), values.shape[1]
    own, counts = np.empty((2, models, AT_ONCE))
    n, first, more, square = np.empty((4, AT_ONCE))
    for start in range(0, records, AT_ONCE):
        stop = min(start + AT_ONCE, records)
        for side in range(2):
            n[:], first[:], more[:], square[:] = 0.0, 0.0, 0.0, 0.0
            for k in range(models):
                said, trained = values[chosen[k]][start:stop], member[chosen[k]][start:stop]
                _choose(said, trained, side == 1, own[k], counts[k], n, first)
            for i in range(stop - start):
                first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies
            for k in range(models):
                for i in range(stop - start):
                    more[i] += own[k, i] - first[i] if counts[k, i] > 0 else 0.0
            for i in range(stop - start):
                more[i] = first[i] + more[i] / n[i]
            for k in range(models):
                for i in range(stop - start):
                    away = own[k, i] - more[i] if counts[k, i] > 0 else 0.0
                    square[i] += away * away
            for i in range(stop - start):
                count[side, start + i], mean[side, start + i] = np.int64(n[i]), more[i]
                squares[side, start + i] = square[i]


@njit(cache=True, inline="always")
def _choose(values, member, inside, own, counts, n, total):  # pragma: no cover: compiled
    """What one model says of the records of one side, 0 of the others; add up how many count and their sum."""
    for i in range(len(values)):  # without branches, not even that of "and"
        value = np.float64(values[i])
        one = 1.0 if (value == value) & (member[i] == inside) else 0.0
        own[i], counts[i] = value if one > 0 else 0.0, one
        n[i] += one
        total[i] += own[i]
