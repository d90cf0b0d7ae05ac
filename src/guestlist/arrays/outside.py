"""Loop behind :func:`guestlist.arrays.outsiders.out_model_stats`.

Imports numba, so it is imported only where stand-in targets were scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

OUT_RECORDS_PER_BATCH = 256  # The scores of all models for these records fit in the cache.


@njit(cache=True, error_model="numpy")
def fill_out_model_stats(target, scores, member, count, n_at_least, mean, squares):  # pragma: no cover: compiled
    """Fill (records,) statistics of the models that did not train on a record and have a score.

    A second pass makes the mean of equal scores exactly that score, and their sum of squares exactly 0.
    """
    models, records = scores.shape
    values, counts = np.empty((2, models, OUT_RECORDS_PER_BATCH))
    n, high, first, second, square = np.empty((5, OUT_RECORDS_PER_BATCH))
    for start in range(0, records, OUT_RECORDS_PER_BATCH):
        stop = min(start + OUT_RECORDS_PER_BATCH, records)
        n[:] = 0.0
        high[:] = 0.0
        first[:] = 0.0
        second[:] = 0.0
        square[:] = 0.0
        for k in range(models):
            row = scores[k][start:stop]
            trained = member[k][start:stop]
            _add_out_scores(target[start:stop], row, trained, values[k], counts[k], n, high, first)
        for i in range(stop - start):
            first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies.
        for k in range(models):
            for i in range(stop - start):
                second[i] += values[k, i] - first[i] if counts[k, i] > 0 else 0.0
        for i in range(stop - start):  # For infinite scores only the first pass has a meaning.
            second[i] = first[i] + second[i] / n[i] if abs(first[i]) < np.inf else first[i]
        for k in range(models):
            for i in range(stop - start):
                deviation = values[k, i] - second[i] if counts[k, i] > 0 else 0.0
                square[i] += deviation * deviation
        for i in range(stop - start):
            count[start + i] = np.int64(n[i])
            n_at_least[start + i] = np.int64(high[i])
            mean[start + i] = second[i]
            squares[start + i] = square[i]


@njit(cache=True, inline="always")
def _add_out_scores(target, scores, member, values, counts, n, high, total):  # pragma: no cover: compiled
    # Without branches, not even that of "and": membership is random, so a processor cannot predict it.
    for i in range(len(scores)):
        score = np.float64(scores[i])
        counted = 1.0 if (score == score) & (not member[i]) else 0.0
        values[i] = score if counted > 0 else 0.0
        counts[i] = counted
        n[i] += counted
        high[i] += counted if score >= target[i] else 0.0
        total[i] += values[i]
