"""Distributions of a K-NN model's loss at a record, over all training subsets of the other records.

Walk outward from the record, and keep each other record with probability p. Of those passed so far, the
numbers of matching and of mismatching ones kept are binomial and independent: ``right`` and ``wrong``
below, grown by one Pascal step per record. The next record is the last of the K to be found with
probability p times the chance that K - 1 were kept before it, and the split of these is a product of the
two. So all K + 1 chances cost O(K) per record passed, and every term is positive: nothing cancels and
nothing overflows.

In a tie with both kinds, the t places it fills go to a uniform t-subset of its members: a hypergeometric
split, with the chance that at least t of them are kept. The record itself, when it is in the training
set, stands in a tie with its equals, usually none.
"""

from __future__ import annotations

import numba
import numpy as np

from guestlist.neighbours.nearest import nearest


@numba.njit(nogil=True, cache=True)
def fill_loss_distributions(distances, low, high, self_rows, radius, k, p, inside, outside):
    """Fill (tests, k + 1) probabilities of 0, …, k matches, for models trained with and without the record.

    Args:
        distances: (tests, n) from each record to all, exactly 0 to itself and its equals.
        low, high: where the records of its class stand.
        own: (tests,) where it stands itself.
        radius: neighbours to walk; what lies beyond is left out, unless all are walked.
    """
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius + 1)
        others = index != self_rows[t]
        near = near[others]
        match = ((index >= low) & (index < high))[others]
        complete = len(near) == distances.shape[1] - 1
        inside[t] = 0.0
        outside[t] = 0.0
        _distribution_without(near, match, complete, k, p, outside[t])
        _distribution_with(near, match, complete, k, p, inside[t])


@numba.njit(nogil=True, cache=True)
def _distribution_without(near, match, complete, k, p, distribution):
    _walk(near, match, 0, k, _nothing_kept(k), _nothing_kept(k), p, complete, distribution)


@numba.njit(nogil=True, cache=True)
def _distribution_with(near, match, complete, k, p, distribution):
    """The record is always kept, and tied with its equals: it has a place unless k of them come before it."""
    equals = 0
    while equals < len(near) and near[equals] == 0:
        equals += 1
    matching = match[:equals].sum()
    placed, displaced = _places_of_one(equals, k, p)
    split = _nothing_kept(k)
    for drawn in range(min(k, equals) + 1):
        if drawn == k - 1:
            for hits in range(k):
                distribution[hits + 1] += placed * split[hits]
        if drawn == k:
            for hits in range(k + 1):
                distribution[hits] += displaced * split[hits]
        elif drawn < equals:
            _draw(split, matching, equals, drawn)
    if k > 1:  # fewer than k - 1 equals are kept: they and the record all have places, and the walk goes on
        right = _nothing_kept(k)
        wrong = _nothing_kept(k)
        _pass(right, matching, p)
        _pass(wrong, equals - matching, p)
        _walk(near, match, equals, k - 1, right, wrong, p, complete, distribution[1:])


@numba.njit(nogil=True, cache=True)
def _walk(near, match, first, n_places, right, wrong, p, complete, distribution):
    """Add the chances of matches among the ``places`` nearest kept, the last of them not before ``first``."""
    start = first
    while start < len(near):
        stop = start + 1
        while stop < len(near) and near[stop] == near[start]:
            stop += 1
        matching = match[start:stop].sum()
        members = stop - start
        if 0 < matching < members:
            _fill_from_tie(matching, members, n_places, right, wrong, p, distribution)
            _pass(right, matching, p)
            _pass(wrong, members - matching, p)
        else:  # alike: in any order
            for _ in range(members):
                hit = int(matching > 0)
                for a in range(n_places):
                    distribution[a + hit] += p * right[a] * wrong[n_places - 1 - a]
                _pass(right if hit else wrong, 1, p)
        start = stop
    if complete:  # places that stay empty
        for a in range(n_places):
            for b in range(n_places - a):
                distribution[a] += right[a] * wrong[b]


@numba.njit(nogil=True, cache=True)
def _fill_from_tie(matching, members, n_places, right, wrong, p, distribution):
    """Add the chances that the last 1, 2, … places are filled from a tie."""
    at_least, _ = _at_least(members, n_places, p)
    split = _nothing_kept(n_places)
    for drawn in range(min(n_places, members)):
        _draw(split, matching, members, drawn)
        n_before = n_places - drawn - 1  # found before the tie
        for a in range(n_before + 1):
            before = right[a] * wrong[n_before - a] * at_least[drawn + 1]
            for hits in range(drawn + 2):
                distribution[a + hits] += before * split[hits]


@numba.njit(nogil=True, cache=True)
def _draw(split, matching, members, drawn):
    """Update the distribution of matches for one more member, drawn without replacement."""
    remaining = members - drawn
    for hits in range(min(drawn + 1, len(split) - 1), -1, -1):
        stay = split[hits] * max(remaining - (matching - hits), 0) / remaining
        rise = split[hits - 1] * max(matching - hits + 1, 0) / remaining if hits > 0 else 0.0
        split[hits] = stay + rise


@numba.njit(nogil=True, cache=True)
def _pass(binomial, steps, p):
    """Extend a truncated binomial distribution by ``steps`` records."""
    for _ in range(steps):
        for a in range(len(binomial) - 1, 0, -1):
            binomial[a] = binomial[a] * (1 - p) + binomial[a - 1] * p
        binomial[0] *= 1 - p


@numba.njit(nogil=True, cache=True)
def _at_least(members, largest, p):
    """Chances that at least 0, …, most of ``members`` are kept; and for most, the sum over fewer members."""
    binomial = _nothing_kept(largest)
    at_least = _nothing_kept(largest)
    over_fewer = 0.0
    for _ in range(members):
        over_fewer += at_least[largest]
        for t in range(1, largest + 1):
            at_least[t] += p * binomial[t - 1]
        _pass(binomial, 1, p)
    return at_least, over_fewer


@numba.njit(nogil=True, cache=True)
def _places_of_one(equals, k, p):
    """Chances that k places are filled within a tie, with and without one sure member of it.

    It comes after 0, …, equals others with the same chance, and has no place if k of those are kept.
    """
    at_least, over_fewer = _at_least(equals + 1, k, p)
    return k * at_least[k] / ((equals + 1) * p), over_fewer / (equals + 1)


@numba.njit(nogil=True, cache=True)
def _nothing_kept(largest):
    distribution = np.zeros(largest + 1)
    distribution[0] = 1.0
    return distribution
