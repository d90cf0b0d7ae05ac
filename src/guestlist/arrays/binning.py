"""How many values of models lie in each bin, members and non-members apart, over some of the records.

Imports numba, so it is itself imported only where references teach a histogram.
"""

from __future__ import annotations

import numpy as np
from numba import njit

AT_ONCE = 1024  # values, which are compared with one edge after the other


@njit(cache=True)
def count_and_range(values, member, records, sizes, ends):  # pragma: no cover: compiled
    """Add to (2,) sizes how many members and non-members there are, and widen (2,) ends to the smallest and largest value.

    Args:
        values, member: (models, all records) NaN is left out.
        records: which of the records count.
    """
    low, high = ends[0], ends[1]
    for k in range(len(values)):
        own, trained, inside, known = values[k], member[k], 0, 0
        for i in records:  # without branches, as none of this can be foreseen
            value = np.float64(own[i])
            there = value == value
            known += there
            inside += there & trained[i]
            low, high = value if value < low else low, value if value > high else high
        sizes[0] += inside
        sizes[1] += known - inside
    ends[0], ends[1] = low, high


@njit(cache=True)
def count_in_bins(values, member, records, edges, smallest, counts):  # pragma: no cover: compiled
    """Add to (2, bins) counts of members and non-members; the last bin has both of its edges, as in ``numpy.histogram``.

    Args:
        edges: (bins + 1,) rising.
        smallest: what smaller values count as.
    """
    bins, said = len(edges) - 1, np.empty(AT_ONCE)
    trained = np.empty(AT_ONCE, dtype=np.bool_)
    for k in range(len(values)):
        for start in range(0, len(records), AT_ONCE):
            many = min(AT_ONCE, len(records) - start)
            for i in range(many):
                value = np.float64(values[k, records[start + i]])
                said[i] = smallest if value < smallest else value
                trained[i] = member[k, records[start + i]]
            beyond = _from(said, trained, many, edges[0])
            for bin in range(bins):
                last = bin == bins - 1
                upper = _above(said, trained, many, edges[bins]) if last else _from(said, trained, many, edges[bin + 1])
                counts[0, bin] += beyond[0] - upper[0]
                counts[1, bin] += beyond[1] - upper[1]
                beyond = upper


@njit(cache=True, inline="always")
def _from(values, member, many, edge):  # pragma: no cover: compiled
    """How many members and non-members are no smaller."""
    inside, every = 0, 0
    for i in range(many):
        inside += (values[i] >= edge) & member[i]
        every += values[i] >= edge
    return inside, every - inside


@njit(cache=True, inline="always")
def _above(values, member, many, edge):  # pragma: no cover: compiled
    """How many members and non-members are larger."""
    inside, every = 0, 0
    for i in range(many):
        inside += (values[i] > edge) & member[i]
        every += values[i] > edge
    return inside, every - inside
