"""Compiled loops over ranks: rank sums, counts, permutations and true positives."""

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


@njit(cache=True)
def fill_counts_of_others(order, values, mask, block, counts):  # pragma: no cover: compiled
    """Fill (3, points) counts of the values of models in other blocks that are smaller, at most as large, and all.

    Args:
        order: (points,) Positions of the values, in rising order.
        values, mask: (points,) Values of all models, model by model, and which of them count.
        block: (models,) Block number of each model, from 0.
    """
    points = len(values)
    records = len(values) // max(len(block), 1)
    below = 0  # number of smaller values so far, in total and per block
    below_in_block = np.zeros(len(block), dtype=np.int64)
    start = 0
    while start < points:  # from one run of equal values to the next
        stop = start
        equal = 0
        while stop < points and values[order[stop]] == values[order[start]]:
            counts[0, order[stop]] = below - below_in_block[block[order[stop] // records]]
            stop += 1
        stop = max(stop, start + 1)  # NaN is not equal to itself.
        for i in range(start, stop):
            if mask[order[i]]:
                below_in_block[block[order[i] // records]] += 1
                equal += 1
        below += equal
        for i in range(start, stop):
            counts[1, order[i]] = below - below_in_block[block[order[i] // records]]
        start = stop
    for i in range(points):
        counts[2, i] = below - below_in_block[block[i // records]]


@njit(cache=True)
def partial_shuffle(uniforms, positions, out, label):  # pragma: no cover: compiled
    """Run the first steps of a shuffle (Durstenfeld 1964); each draw starts from the order of the draw before."""
    order = positions.copy()
    size = len(positions)
    for d in range(len(uniforms)):
        for position in positions:
            out[d, position] = not label
        for i in range(uniforms.shape[1]):
            j = i + int(uniforms[d, i] * (size - i))
            order[i], order[j] = order[j], order[i]
            out[d, order[i]] = label


@njit(cache=True)
def true_positives_at(labels, starts, positions, ties, allowed, begin, passed, above):  # pragma: no cover: compiled
    """Count members strictly above the first non-member that exceeds the allowed number of false positives.

    Args:
        labels: 1 for members, 0 for non-members; in draw d, the record of rank i has ``labels[starts[d] + positions[i]]``.
        starts: (draws,).
        positions: (ranks,).
        ties: (ranks,) First rank with an equal score.
        allowed: (rates, draws) Allowed false positives, rising with the rate.
        begin: (rates,) Rank at which the scan for a rate may begin; 0 is the top.
        passed: (rates, draws) Non-members above that rank; if they exceed the allowed number, the scan begins earlier.
        above: (rates, draws) Members above the first record that ties with that rank.

    Returns:
        (rates, draws) numbers; all members where there are fewer non-members than allowed.
    """
    rates, draws = allowed.shape
    counts = np.empty((rates, draws))
    ranks = len(positions)
    for d in range(draws):
        false = 0
        before = 0
        rate = 0
        i = 0
        while rate < rates:
            limit = allowed[rate, d]
            if begin[rate] > i and passed[rate, d] <= limit:
                i = begin[rate]
                false = passed[rate, d]
                before = above[rate, d]
            while i < ranks and false <= limit:
                before = i - false if ties[i] == i else before
                false += 1 - labels[starts[d] + positions[i]]  # No branch: labels are random and cannot be predicted.
                i += 1
            if false <= limit:
                break
            while rate < rates and false > allowed[rate, d]:
                counts[rate, d] = before
                rate += 1
        for remaining in range(rate, rates):
            counts[remaining, d] = ranks - false
    return counts
