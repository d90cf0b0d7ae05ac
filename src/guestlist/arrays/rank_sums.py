"""Ranks of many targets or of many records, in one pass over scores that are in order.

Imports numba, so it is itself imported only where there are many.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def doubled_rank_sums(scores, order, inside, scored):  # pragma: no cover: compiled
    """(targets,) twice the sum of the mid-ranks of those inside: whole numbers.

    Args:
        scores, inside: (targets, records).
        order: (targets, records) positions of the scores of each target, upwards.
        scored: (targets,) how many of them count, from the lowest.
    """
    found = np.zeros(len(scores), dtype=np.int64)
    for t in range(len(scores)):
        start = 0
        while start < scored[t]:
            value, end, members = scores[t, order[t, start]], start, 0
            while end < scored[t] and scores[t, order[t, end]] == value:
                members += inside[t, order[t, end]]
                end += 1
            found[t] += members * (start + 1 + end)  # from rank start + 1 to rank end
            start = end
    return found


@njit(cache=True)
def fill_placements(scores, order, inside, place):  # pragma: no cover: compiled
    """Fill (records,) share of the other side that has lower scores, equals counting one half.

    Args:
        scores: (records,) without NaN.
        order: (records,) their positions, upwards.
        inside: (records,) the side of each.
    """
    records, members = len(order), inside.sum()
    start, below, members_below = 0, 0, 0  # of the other side of members; of the other side of non-members
    while start < records:
        stop, equal = start, 0
        while stop < records and scores[order[stop]] == scores[order[start]]:
            equal += inside[order[stop]]
            stop += 1
        others = stop - start - equal
        of_member = (2 * below + others) / (2 * (records - members))
        of_nonmember = (2 * members_below + equal) / (2 * members)
        for i in range(start, stop):
            place[order[i]] = of_member if inside[order[i]] else of_nonmember
        below, members_below, start = below + others, members_below + equal, stop


@njit(cache=True)
def fill_doubled_ranks(scores, order, ranks):  # pragma: no cover: compiled
    """Fill (records,) twice the mid-ranks of the scores in ``order``, which are whole numbers."""
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and scores[order[stop]] == scores[order[start]]:
            stop += 1
        for i in range(start, stop):
            ranks[order[i]] = start + stop + 1
        start = stop
