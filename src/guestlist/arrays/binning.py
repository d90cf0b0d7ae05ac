"""Histograms of values over models, separately for members and non-members.

Imports numba, so it is imported only where reference models define a histogram.
"""

from __future__ import annotations

import numpy as np
from numba import njit

VALUES_PER_BATCH = 1024  # values that are compared with one edge after the other


@njit(cache=True)
def count_and_range(values, member, records, sizes, ends):  # pragma: no cover: compiled
    """Add the numbers of members and non-members to (2,) sizes, and widen (2,) ends to the range of the values.

    Args:
        values, member: (models, all records) NaN is ignored.
        records: Positions of the records that count.
    """
    low = ends[0]
    high = ends[1]
    for k in range(len(values)):
        row = values[k]
        trained = member[k]
        n_members = 0
        n_known = 0
        for i in records:  # Without branches, because membership is random and cannot be predicted.
            value = np.float64(row[i])
            known = value == value
            n_known += known
            n_members += known & trained[i]
            low = value if value < low else low
            high = value if value > high else high
        sizes[0] += n_members
        sizes[1] += n_known - n_members
    ends[0] = low
    ends[1] = high


@njit(cache=True)
def count_in_bins(values, member, records, edges, smallest, counts):  # pragma: no cover: compiled
    """Add to (2, bins) counts of members and non-members; the last bin is closed, as in ``numpy.histogram``.

    Args:
        values, member: (models, all records) NaN is ignored.
        records: Positions of the records that count.
        edges: (bins + 1,) in rising order.
        smallest: Smaller values are raised to this value.
    """
    bins = len(edges) - 1
    batch = np.empty(VALUES_PER_BATCH)
    trained = np.empty(VALUES_PER_BATCH, dtype=np.bool_)
    for k in range(len(values)):
        for start in range(0, len(records), VALUES_PER_BATCH):
            size = min(VALUES_PER_BATCH, len(records) - start)
            for i in range(size):
                value = np.float64(values[k, records[start + i]])
                batch[i] = smallest if value < smallest else value
                trained[i] = member[k, records[start + i]]
            lower = _count_at_least(batch, trained, size, edges[0])
            for bin in range(bins):
                if bin == bins - 1:
                    upper = _count_above_edge(batch, trained, size, edges[bins])
                else:
                    upper = _count_at_least(batch, trained, size, edges[bin + 1])
                counts[0, bin] += lower[0] - upper[0]
                counts[1, bin] += lower[1] - upper[1]
                lower = upper


@njit(cache=True, inline="always")
def _count_at_least(values, member, size, edge):  # pragma: no cover: compiled
    """Return the numbers of members and non-members with at least this value."""
    n_members = 0
    total = 0
    for i in range(size):
        n_members += (values[i] >= edge) & member[i]
        total += values[i] >= edge
    return n_members, total - n_members


@njit(cache=True, inline="always")
def _count_above_edge(values, member, size, edge):  # pragma: no cover: compiled
    """Return the numbers of members and non-members with a larger value."""
    n_members = 0
    total = 0
    for i in range(size):
        n_members += (values[i] > edge) & member[i]
        total += values[i] > edge
    return n_members, total - n_members
