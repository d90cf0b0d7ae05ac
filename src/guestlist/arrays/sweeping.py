"""Threshold scan: the best threshold of every group of points, in one pass over sorted points.

Imports numba, so it is imported only where thresholds are estimated from reference models.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def threshold_scan(ranked, inside, group, groups):  # pragma: no cover: compiled
    """Find the threshold that maximises TPR - FPR within each group, and over all points; the highest among equals.

    Args:
        ranked: (points,) Scores from the highest to the lowest, without NaN.
        inside: (points,) Membership.
        group: (points,) Group number, from 0.
        groups: Number of groups.

    Returns:
        (groups + 1,) thresholds, the last of all points; NaN without both members and non-members.
    """
    sizes = np.zeros((2, groups + 1), dtype=np.int64)
    for i in range(len(ranked)):
        sizes[np.int64(inside[i]), group[i]] += 1
        sizes[np.int64(inside[i]), groups] += 1
    # Counts instead of rates, so that equal advantages compare equal.
    gain = np.zeros(groups + 1, dtype=np.int64)
    best_gain = np.full(groups + 1, np.iinfo(np.int64).min)
    last = np.full(groups + 1, np.nan)
    best = np.full(groups + 1, np.nan)
    for i in range(len(ranked)):
        for g in (group[i], groups):
            if ranked[i] != last[g] and last[g] == last[g] and gain[g] > best_gain[g]:  # A run of ties has ended.
                best_gain[g] = gain[g]
                best[g] = last[g]
            gain[g] += sizes[0, g] if inside[i] else -sizes[1, g]
            last[g] = ranked[i]
    for g in range(groups + 1):
        if gain[g] > best_gain[g]:
            best[g] = last[g]
        if sizes[0, g] == 0 or sizes[1, g] == 0:
            best[g] = np.nan
    return best
