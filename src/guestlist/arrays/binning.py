"""How many values of models lie in each bin, members and non-members apart, over some of the records.

Imports numba, so it is itself imported only where references teach a histogram.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def sizes_and_ends(values, member, records, sizes, ends):  # pragma: no cover: compiled
    """Add to (2,) sizes how many members and non-members there are, and widen (2,) ends to the smallest and largest value.

    Args:
        values, member: (models, all records) NaN is left out.
        records: which of the records count.
    """
    for k in range(len(values)):
        own, trained = values[k], member[k]
        for i in records:
            value = np.float64(own[i])
            if value == value:
                sizes[1 - np.int64(trained[i])] += 1
                ends[0], ends[1] = min(ends[0], value), max(ends[1], value)


@njit(cache=True)
def count_in_bins(values, member, records, edges, smallest, counts):  # pragma: no cover: compiled
    """Add to (2, bins) counts of members and non-members; the last bin has both of its edges, as in ``numpy.histogram``.

    Args:
        edges: (bins + 1,) rising.
        smallest: what smaller values count as.
    """
    bins = len(edges) - 1
    for k in range(len(values)):
        own, trained = values[k], member[k]
        for i in records:
            value = max(np.float64(own[i]), smallest)
            if value >= edges[0] and value <= edges[bins]:  # not NaN
                at = 0
                for bin in range(1, bins):
                    at += value >= edges[bin]
                counts[1 - np.int64(trained[i]), at] += 1
