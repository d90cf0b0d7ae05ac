"""Compiled loops over ranks: permutations and true positives."""

import numpy as np
from numba import njit


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
