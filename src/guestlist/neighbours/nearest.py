"""Nearest records of each test record, found without sorting the rest, and values that need only these.

An upper bound on the R-th smallest distance comes from one pass: deal the records out to more than R
hands, take the smallest of each hand, and the R-th smallest of *those*; R records lie within it. A second
pass collects what does, a handful more than R, and only these are sorted. Records that tie with the R-th
are all kept.
"""

from __future__ import annotations

import numba
import numpy as np

from guestlist.neighbours.kernel import tie_values

HANDS_PER_RECORD = 4


@numba.njit(nogil=True, cache=True)
def nearest(row, radius):
    """Numbers and distances of the ``radius`` nearest and all that tie with the last, nearest first."""
    bound = _upper_bound(row, radius)
    count = 0
    for distance in row:
        count += distance <= bound
    index = np.empty(count, np.int64)
    near = np.empty(count, row.dtype)
    at = 0
    for i in range(len(row)):
        if row[i] <= bound:
            index[at] = i
            near[at] = row[i]
            at += 1
    order = np.argsort(near)
    near = near[order]
    n_kept = min(radius, count)
    while n_kept < count and near[n_kept] == near[n_kept - 1]:
        n_kept += 1
    return index[order[:n_kept]], near[:n_kept]


@numba.njit(nogil=True, cache=True)
def _upper_bound(row, radius):
    hands = HANDS_PER_RECORD * radius
    if hands >= len(row):
        return row.max()
    smallest = row[:hands].copy()
    # A hand takes records at regular steps, because neighbours in memory have one class and are often close.
    for start in range(hands, len(row), hands):
        for h in range(min(hands, len(row) - start)):
            smallest[h] = min(smallest[h], row[start + h])
    return quickselect(smallest, radius - 1)


@numba.njit(nogil=True, cache=True)
def quickselect(values, rank):
    """The value that would stand at ``rank`` if they were sorted; they change places (Hoare 1961).

    ``np.partition`` does the same, and takes numba seconds to compile.
    """
    low = 0
    high = len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        lower = low
        upper = high
        while lower <= upper:
            while values[lower] < pivot:
                lower += 1
            while pivot < values[upper]:
                upper -= 1
            if lower <= upper:
                values[lower], values[upper] = values[upper], values[lower]
                lower += 1
                upper -= 1
        if rank <= upper:
            high = upper
        elif rank >= lower:
            low = lower
        else:
            break
    return values[rank]


@numba.njit(nogil=True, cache=True)
def add_near_values(distances, low, high, radius, mass, moment, end, out):
    """Add the values of the nearest records for each test record of one label; as ``kernel.add_values``."""
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius)
        into = out[min(t, len(out) - 1)]
        later = 0.0
        after = len(near)
        while after > 0:
            before, matching = _tie(index, near, after, low, high)
            match, mismatch, later = tie_values(before, after, matching, mass, moment, end, later)
            for i in index[before:after]:
                into[i] += match if low <= i < high else mismatch
            after = before


@numba.njit(nogil=True, cache=True)
def write_self_near_values(distances, low, high, radius, mass, moment, end, out):
    """Write to ``out[t]`` the value of a matching record at distance 0 of each test record: its own value."""
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius)
        later = 0.0
        after = len(near)
        while after > 0:
            before, matching = _tie(index, near, after, low, high)
            out[t], _, later = tie_values(before, after, matching, mass, moment, end, later)
            after = before


@numba.njit(inline="always")
def _tie(index, near, after, low, high):
    """Return the start of the tie that ends at ``after``, and how many of its members match."""
    before = after - 1
    while before > 0 and near[before - 1] == near[after - 1]:
        before -= 1
    matching = 0
    for i in index[before:after]:
        matching += low <= i < high
    return before, matching
