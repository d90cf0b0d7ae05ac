"""The best threshold of every group of points at once, in one pass over points that are in order.

Imports numba, so it is itself imported only where references teach thresholds.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def threshold_scan(ranked, inside, group, groups):  # pragma: no cover: compiled
    """(groups + 1,) the threshold that maximises TPR - FPR within each group, and over all; the highest among equals.

    Args:
        ranked: (points,) scores from the highest to the lowest, without NaN.
        inside: (points,) the truth.
        group: (points,) number of the group, from 0.

    Returns:
        NaN where there is but one kind.
    """
    sizes = np.zeros((2, groups + 1), dtype=np.int64)
    for i in range(len(ranked)):
        sizes[np.int64(inside[i]), group[i]] += 1
        sizes[np.int64(inside[i]), groups] += 1
    # Counts, not rates, so that equal advantages compare equal.
    gain, most = np.zeros(groups + 1, dtype=np.int64), np.full(groups + 1, np.iinfo(np.int64).min)
    last, best = np.full(groups + 1, np.nan), np.full(groups + 1, np.nan)
    for i in range(len(ranked)):
        for own in (group[i], groups):
            if ranked[i] != last[own] and last[own] == last[own] and gain[own] > most[own]:  # a run of equals is over
                most[own], best[own] = gain[own], last[own]
            gain[own] += sizes[0, own] if inside[i] else -sizes[1, own]
            last[own] = ranked[i]
    for own in range(groups + 1):
        if gain[own] > most[own]:
            best[own] = last[own]
        if sizes[0, own] == 0 or sizes[1, own] == 0:
            best[own] = np.nan
    return best
