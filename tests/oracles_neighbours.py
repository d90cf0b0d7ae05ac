"""Slow and obvious: K-NN values by listing all subsets, and the published recursions as they are published.

A tie is broken at random, so the worth of a set is an expectation over the orders of equally distant records.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, factorial

import numpy as np


def law_of_matches(members, distances, match, k):
    """(k + 1,) chance of 0, …, k matches among the k nearest of ``members``, ties broken at random."""
    law = np.zeros(k + 1)
    places, sure = k, 0
    for distance in sorted({distances[i] for i in members}):
        tied = [i for i in members if distances[i] == distance]
        matching = sum(bool(match[i]) for i in tied)
        if len(tied) > places:
            for drawn in range(places + 1):
                if drawn <= matching and places - drawn <= len(tied) - matching:
                    ways = comb(matching, drawn) * comb(len(tied) - matching, places - drawn)
                    law[sure + drawn] += ways / comb(len(tied), places)
            return law
        places -= len(tied)
        sure += matching
    law[sure] = 1.0
    return law


def worth(members, distances, match, k):
    """Expected share of matching records among the k nearest; a missing one counts as a mismatch."""
    return law_of_matches(members, distances, match, k) @ np.arange(k + 1) / k


def subsets(members):
    for size in range(len(members) + 1):
        yield from combinations(members, size)


def value_by_enumeration(distances, match, k, chance):
    """(n,) what each record adds to a set of others, weighted by ``chance(size of set, others)``."""
    n = len(distances)
    worths = {frozenset(s): worth(s, distances, match, k) for s in subsets(range(n))}
    values = np.zeros(n)
    for i in range(n):
        for others in subsets([j for j in range(n) if j != i]):
            gain = worths[frozenset(others) | {i}] - worths[frozenset(others)]
            values[i] += chance(len(others), n - 1) * gain
    return values


def shapley_chance(size, others):
    return factorial(size) * factorial(others - size) / factorial(others + 1)


def banzhaf_chance(p):
    return lambda size, others: p**size * (1 - p) ** (others - size)


def loo_chance(size, others):
    return float(size == others)


def losses_by_enumeration(distances, match, k, i, p=0.5):
    """Distributions of the loss over 0, 1/k, …, 1 with and without record i, over all subsets of the others."""
    inside, outside = np.zeros(k + 1), np.zeros(k + 1)
    others = [j for j in range(len(distances)) if j != i]
    for members in subsets(others):
        chance = p ** len(members) * (1 - p) ** (len(others) - len(members))
        inside += chance * law_of_matches((*members, i), distances, match, k)[::-1]
        outside += chance * law_of_matches(members, distances, match, k)[::-1]
    return inside, outside


def wasserstein(inside, outside):
    """W1 between two distributions on 0, 1/k, …, 1: the area between their distribution functions."""
    return np.abs(np.cumsum(inside - outside))[:-1].sum() / (len(inside) - 1)


def knn_shapley_recursion(match_by_rank, k):
    """(n,) Shapley values by rank from the farthest record in: the published recursion, for n >= k."""
    n = len(match_by_rank)
    values = np.zeros(n)
    values[n - 1] = match_by_rank[n - 1] / n
    for i in range(n - 1, 0, -1):  # rank i, counted from 1
        step = (match_by_rank[i - 1] - match_by_rank[i]) / k * min(k, i) / i
        values[i - 1] = values[i] + step
    return values


def art_recursion(match_by_rank):
    """(n,) the recursion of ART's SHAPr: each step is divided by the rank alone, and K appears nowhere."""
    n = len(match_by_rank)
    values = np.zeros(n)
    values[n - 1] = match_by_rank[n - 1] / n
    for i in range(n - 1, 0, -1):
        values[i - 1] = values[i] + (match_by_rank[i - 1] - match_by_rank[i]) / i
    return values


def in_row_order(x, y, x_test, y_test, recursion):
    """(tests, n) values by a recursion over ranks, equally distant records in row order."""
    out = np.empty((len(x_test), len(x)))
    for t, (at, label) in enumerate(zip(x_test, y_test, strict=True)):
        order = np.argsort(((x - at) ** 2).sum(axis=1), kind="stable")
        out[t, order] = recursion((y[order] == label).astype(float))
    return out


def values_by_rank(distances, y, y_test, weights):
    """(tests, n) values by the formula of ``weights`` as it is written, equally distant records in row order."""
    order = np.argsort(distances, axis=1, kind="stable")
    match = y[order] == y_test[:, None]
    lost = np.where(match, np.diff(weights.mass), 0.0)  # w_j m_j, rank by rank
    beyond = np.cumsum(lost[:, ::-1], axis=1)[:, ::-1] - lost
    ranked = np.where(match, weights.end - weights.mass[1:], 0.0) - beyond
    values = np.empty_like(ranked)
    np.put_along_axis(values, order, ranked, axis=1)
    return values


def banzhaf_weight_exactly(j, k, p=Fraction(1, 2)):
    """Chance, over k, that rank j and k - 1 of the j - 2 others before it are kept."""
    return comb(j - 2, k - 1) * p**k * (1 - p) ** (j - 1 - k) / k


def waka_algorithm(x, y, x_test, y_test, k, neighbours):
    """(n,) signed test-WaKA by the published Algorithm 1.

    For each record, each farther one it may push out of the k-th place, and each loss, the share of
    subsets of the others in which that happens. Written from the algorithm's description, with the pools
    that the definition needs: neither the valued nor the pushed-out record is drawn. Only the
    ``neighbours`` nearest records are considered.
    """
    values = np.zeros(len(x))
    for at, label in zip(x_test, y_test, strict=True):
        order = np.argsort(((x - at) ** 2).sum(axis=1), kind="stable")[:neighbours]
        match = y[order] == label
        right, wrong = np.cumsum(match), np.cumsum(~match)
        for i in range(len(order)):
            gaps = np.zeros(k)
            for j in range(i + 1, len(order)):
                if match[i] == match[j]:
                    continue
                for u in range(k):
                    free_right = int(right[j] - match[j] - match[i])
                    free_wrong = int(wrong[j] - (not match[j]) - (not match[i]))
                    gaps[u] += comb(free_right, k - 1 - u) * comb(free_wrong, u) * 2.0**-j
            sign = 1 if match[i] else -1
            values[order[i]] += sign * gaps.sum() / k
    return values / len(x_test)
