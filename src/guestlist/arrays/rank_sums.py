"""Ranks and placements of many targets or many records, in one pass over sorted scores.

Imports numba, so it is imported only for many records.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def doubled_rank_sums(scores, order, inside, scored):  # pragma: no cover: compiled
    """Return twice the sum of the members' mid-ranks, an integer, for each target.

    Args:
        scores, inside: (targets, records).
        order: (targets, records) Positions of the scores of each target, in rising order.
        scored: (targets,) Number of scores that count, from the lowest.
    """
    sums = np.zeros(len(scores), dtype=np.int64)
    for t in range(len(scores)):
        start = 0
        while start < scored[t]:
            value = scores[t, order[t, start]]
            end = start
            members = 0
            while end < scored[t] and scores[t, order[t, end]] == value:
                members += inside[t, order[t, end]]
                end += 1
            sums[t] += members * (start + 1 + end)  # ranks start + 1 to end
            start = end
    return sums


@njit(cache=True)
def fill_placements(scores, order, inside, placements):  # pragma: no cover: compiled
    """Fill (records,) shares of the other class with lower scores; ties count 0.5.

    Args:
        scores: (records,) without NaN.
        order: (records,) Their positions, in rising order.
        inside: (records,) Membership.
    """
    records = len(order)
    members = inside.sum()
    start = 0
    nonmembers_below = 0
    members_below = 0
    while start < records:
        stop = start
        tied_members = 0
        while stop < records and scores[order[stop]] == scores[order[start]]:
            tied_members += inside[order[stop]]
            stop += 1
        tied_nonmembers = stop - start - tied_members
        of_member = (2 * nonmembers_below + tied_nonmembers) / (2 * (records - members))
        of_nonmember = (2 * members_below + tied_members) / (2 * members)
        for i in range(start, stop):
            placements[order[i]] = of_member if inside[order[i]] else of_nonmember
        nonmembers_below += tied_nonmembers
        members_below += tied_members
        start = stop


@njit(cache=True)
def fill_doubled_ranks(scores, order, ranks):  # pragma: no cover: compiled
    """Fill (records,) twice the mid-ranks of the scores in ``order``, which are integers."""
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and scores[order[stop]] == scores[order[start]]:
            stop += 1
        for i in range(start, stop):
            ranks[order[i]] = start + stop + 1
        start = stop
