"""The loop behind :func:`guestlist.arrays.outsiders.outsiders`.

Imports numba, so it is itself imported only where mock targets were scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

AT_ONCE = 256  # records: what all models say of them stays in the cache


@njit(cache=True, error_model="numpy")
def fill_out_model_stats(own, scores, member, count, as_high, mean, squares):  # pragma: no cover: compiled
    """Fill (records,) figures of the models that did not train on a record and have a score.

    A second round makes the mean of equal scores exactly that score, and their sum of squares exactly 0.
    """
    models, records = scores.shape
    said, counts = np.empty((2, models, AT_ONCE))
    n, high, first, more, square = np.empty((5, AT_ONCE))
    for start in range(0, records, AT_ONCE):
        stop = min(start + AT_ONCE, records)
        n[:], high[:], first[:], more[:], square[:] = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(models):
            row, trained = scores[k][start:stop], member[k][start:stop]
            _tally(own[start:stop], row, trained, said[k], counts[k], n, high, first)
        for i in range(stop - start):
            first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies
        for k in range(models):
            for i in range(stop - start):
                more[i] += said[k, i] - first[i] if counts[k, i] > 0 else 0.0
        for i in range(stop - start):  # of infinite scores the first round is all that can be said
            more[i] = first[i] + more[i] / n[i] if abs(first[i]) < np.inf else first[i]
        for k in range(models):
            for i in range(stop - start):
                away = said[k, i] - more[i] if counts[k, i] > 0 else 0.0
                square[i] += away * away
        for i in range(stop - start):
            count[start + i], as_high[start + i] = np.int64(n[i]), np.int64(high[i])
            mean[start + i], squares[start + i] = more[i], square[i]


@njit(cache=True, inline="always")
def _tally(own, scores, member, said, counts, n, high, total):  # pragma: no cover: compiled
    # Without branches, not even that of "and": who trained on what is a coin, which no processor foresees.
    for i in range(len(scores)):
        score = np.float64(scores[i])
        one = 1.0 if (score == score) & (not member[i]) else 0.0
        said[i], counts[i] = score if one > 0 else 0.0, one
        n[i] += one
        high[i] += one if score >= own[i] else 0.0
        total[i] += said[i]
