"""Count, mean and sum of squares over models, overall or for all models outside a block.

Leaving out each block in turn takes one pass down the models and one pass up.

Imports numba, so it is imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

RECORDS_PER_BATCH = 256  # The values of all models for these records fit in the cache.


@njit(cache=True, error_model="numpy")
def fill_leave_block_out_moments(values, mask, order, blocks, count, mean, squares):  # pragma: no cover: compiled
    """Fill (models, records) moments of the selected values of the models in other blocks.

    Args:
        values, mask: (models, records) Values, and which of them count.
        order: (models,) Models, block by block.
        blocks: (models,) Block number of each model.
    """
    models, records = values.shape
    pivot, n, m, s = np.empty((4, RECORDS_PER_BATCH))
    for first in range(0, records, RECORDS_PER_BATCH):
        last = min(first + RECORDS_PER_BATCH, records)
        size = last - first
        # Row slices let the compiler see that indices stay within bounds.
        pivot[:] = 0.0
        n[:] = np.inf
        for k in range(models):
            _nearest_to_zero(values[k][first:last], mask[k][first:last], pivot, n)  # Huge means would cost digits.
        n[:] = 0.0
        m[:] = 0.0
        s[:] = 0.0
        start = 0
        while start < models:  # moments of the blocks before each block
            stop = start
            while stop < models and blocks[order[stop]] == blocks[order[start]]:
                stop += 1
            for position in range(start, stop):
                k = order[position]
                count[k][first:last] = n[:size]
                mean[k][first:last] = m[:size]
                squares[k][first:last] = s[:size]
            for position in range(start, stop):
                k = order[position]
                _add_model(values[k][first:last], mask[k][first:last], pivot, n, m, s)
            start = stop
        n[:] = 0.0
        m[:] = 0.0
        s[:] = 0.0
        stop = models
        while stop > 0:  # merged with those of the blocks after it, from the other end
            start = stop - 1
            while start > 0 and blocks[order[start - 1]] == blocks[order[stop - 1]]:
                start -= 1
            for position in range(start, stop):
                k = order[position]
                _merge_moments(count[k][first:last], mean[k][first:last], squares[k][first:last], pivot, n, m, s)
            for position in range(start, stop):
                k = order[position]
                _add_model(values[k][first:last], mask[k][first:last], pivot, n, m, s)
            stop = start


@njit(cache=True, inline="always")
def _nearest_to_zero(values, mask, nearest, smallest):  # pragma: no cover: compiled
    """Keep the selected value of smallest magnitude; subtracting it never costs another value a digit."""
    for i in range(len(values)):
        value = np.float64(values[i])
        size = abs(value) if mask[i] else np.inf
        nearest[i] = value if size < smallest[i] else nearest[i]
        smallest[i] = min(size, smallest[i])


@njit(cache=True, inline="always", error_model="numpy")
def _add_model(values, mask, pivot, n, m, s):  # pragma: no cover: compiled
    """Add one model to running moments (Welford 1962)."""
    for i in range(len(values)):  # Without branches, because membership is random and cannot be predicted.
        value = values[i] - pivot[i] if mask[i] else m[i]
        n[i] += 1.0 if mask[i] else 0.0
        deviation = value - m[i]
        m[i] += deviation / max(n[i], 1.0)
        s[i] += deviation * (value - m[i])


@njit(cache=True, inline="always", error_model="numpy")
def _merge_moments(count, mean, squares, pivot, n, m, s):  # pragma: no cover: compiled
    """Merge the moments of two disjoint sets of models (Chan et al. 1979) and add the pivot to the mean.

    The mean is NaN where there is no model.
    """
    for i in range(len(count)):
        total = count[i] + n[i]
        weight = n[i] / max(total, 1.0)
        difference = m[i] - mean[i] if count[i] > 0 and n[i] > 0 else 0.0
        squares[i] = squares[i] + s[i] + difference * difference * count[i] * weight
        merged = mean[i] + weight * difference if count[i] > 0 else m[i]
        mean[i] = merged + pivot[i] if total > 0 else np.nan
        count[i] = total


@njit(cache=True, error_model="numpy")
def fill_in_out_moments(values, member, chosen, count, mean, squares):  # pragma: no cover: compiled
    """Fill (2, records) moments of OUT models and IN models, summed in the order of the models in double precision.

    A second pass makes the mean of equal values exactly that value, and their sum of squares exactly 0. Both sets are
    summed while the values of some records are in the cache.

    Args:
        values, member: (models, records); NaN is ignored.
        chosen: Positions of the models that count.
    """
    models = len(chosen)
    records = values.shape[1]
    selected, counts = np.empty((2, models, RECORDS_PER_BATCH))
    n, first, second, square = np.empty((4, RECORDS_PER_BATCH))
    for start in range(0, records, RECORDS_PER_BATCH):
        stop = min(start + RECORDS_PER_BATCH, records)
        for side in range(2):
            n[:] = 0.0
            first[:] = 0.0
            second[:] = 0.0
            square[:] = 0.0
            for k in range(models):
                row = values[chosen[k]][start:stop]
                trained = member[chosen[k]][start:stop]
                _add_selected(row, trained, side == 1, selected[k], counts[k], n, first)
            for i in range(stop - start):
                first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies.
            for k in range(models):
                for i in range(stop - start):
                    second[i] += selected[k, i] - first[i] if counts[k, i] > 0 else 0.0
            for i in range(stop - start):
                second[i] = first[i] + second[i] / n[i]
            for k in range(models):
                for i in range(stop - start):
                    deviation = selected[k, i] - second[i] if counts[k, i] > 0 else 0.0
                    square[i] += deviation * deviation
            for i in range(stop - start):
                count[side, start + i] = np.int64(n[i])
                mean[side, start + i] = second[i]
                squares[side, start + i] = square[i]


@njit(cache=True, inline="always")
def _add_selected(values, member, inside, selected, counts, n, total):  # pragma: no cover: compiled
    """Select the values of one model for IN or OUT records, 0 for the others, and add their number and sum."""
    for i in range(len(values)):  # Without branches, not even that of "and".
        value = np.float64(values[i])
        counted = 1.0 if (value == value) & (member[i] == inside) else 0.0
        selected[i] = value if counted > 0 else 0.0
        counts[i] = counted
        n[i] += counted
        total[i] += selected[i]
