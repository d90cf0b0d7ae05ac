"""How many values of other models are smaller, for every model in turn: one sort of all of them, then one pass.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def ecdf_counts_of_others(values: np.ndarray, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
    """(3, models, records): of the values of models in other blocks, how many are smaller than each, no larger, and all.

    Args:
        values: (models, records); what is said of NaN means nothing.
        mask: (models, records) what counts; false where a value is NaN.
        block: (models,) number of each model's block, from 0.
    """
    found = np.empty((3, *values.shape))
    every = np.ascontiguousarray(values).ravel()
    _count(np.argsort(every), every, np.ascontiguousarray(mask).ravel(), block, found.reshape(3, -1))
    return found


@njit(cache=True)
def _count(order, values, mask, block, found):  # pragma: no cover: compiled
    points, records = len(values), len(values) // max(len(block), 1)
    below, own_below = 0, np.zeros(len(block), dtype=np.int64)  # smaller than where we are: in all, and by block
    start = 0
    while start < points:  # from one run of equal values to the next
        stop, equal = start, 0
        while stop < points and values[order[stop]] == values[order[start]]:
            own = block[order[stop] // records]
            found[0, order[stop]] = below - own_below[own]
            stop += 1
        stop = max(stop, start + 1)  # NaN is not equal to itself
        for i in range(start, stop):
            if mask[order[i]]:
                own_below[block[order[i] // records]] += 1
                equal += 1
        below += equal
        for i in range(start, stop):
            found[1, order[i]] = below - own_below[block[order[i] // records]]
        start = stop
    for i in range(points):
        found[2, i] = below - own_below[block[i // records]]
