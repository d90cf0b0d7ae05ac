"""Values with ties broken by row order, as other libraries do: for comparison with them, not for audits.

Two equal records may get different values here, and the values move when the rows are shuffled.

As in ``kernel``, only the records that match the test label are sorted, and a mismatching record's value depends on
nothing but its *place*, the number of matching records before it. The records are walked in the order of their rows,
with a count per tie of the matching ones met so far: so that of two equally distant records the lower row is nearer.

Where the weights fade with the rank (Banzhaf, leave-one-out), only the nearest few are ranked, as ``pool`` has it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from guestlist.neighbours.blocks import Buffers, Progress, map_in_order, split_blocks
from guestlist.neighbours.distances import squared_distances
from guestlist.neighbours.kernel import INTERVALS_PER_EDGE, PAD, distinct_edges, fill_slots
from guestlist.neighbours.nearest import nearest
from guestlist.neighbours.pool import label_codes, needs_only_nearest
from guestlist.neighbours.weights import Weights


def row_order_values(
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    weights: Weights,
    *,
    precision: str,
    per_test: bool,
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of test records, with the values of all records: (n,) summed, or (tests, n)."""
    classes, codes = np.unique(y, return_inverse=True)
    test_codes = label_codes(y_test, classes)
    sizes = np.bincount(codes)
    rows_of = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    distances = squared_distances(x, precision=precision)
    for_distances = Buffers()
    for_matching = Buffers()

    def work(block: slice) -> tuple[slice, np.ndarray]:
        here = test_codes[block]
        rows = for_distances.matrix(len(here), len(x), distances.dtype)
        distances.fill(x_test[block], rows)
        out = np.zeros((len(here) if per_test else 1, len(x)))
        if needs_only_nearest(weights):
            _add_near_row_order_values(rows, codes, here, weights.radius, weights.mass, weights.end, out)
        else:
            matching = for_matching.matrix(len(here), sizes.max(), distances.dtype)
            for code in np.unique(here[here >= 0]):
                tests = np.flatnonzero(here == code)
                matching[tests, : sizes[code]] = np.sort(rows[np.ix_(tests, rows_of[code])], axis=1)
            _add_row_order_values(rows, matching, sizes, codes, here, weights.mass, weights.end, out)
        return block, out if per_test else out[0]

    return map_in_order(work, split_blocks(len(x_test), 4 * len(x)), n_jobs, progress)


@numba.njit(nogil=True, cache=True)
def _add_row_order_values(distances, matching, sizes, codes, test_codes, mass, end, out):
    """Add every record's value for each test record to ``out``: (1, n) sums over tests; (tests, n) keeps them apart.

    Args:
        distances: (tests, n) squared distances, in the order of rows.
        matching: (tests, any) those of the records with the test label, sorted.
        sizes: (classes,) how many records of each label there are.
        codes, test_codes: (n,) and (tests,) labels; -1 for one that no record has.
        mass, end: of the weights.
    """
    n = distances.shape[1]
    largest = matching.shape[1]
    slots = np.empty(n, np.uint32)
    edges = np.empty(largest + PAD, distances.dtype)
    ties = np.empty(largest, np.int32)
    starts = np.empty(INTERVALS_PER_EDGE * largest + 2, np.uint32)
    before = np.empty(2 * largest + 1, np.uint32)
    counts = np.empty(2 * largest + 1, np.int32)
    values = np.empty(2 * largest + 1)
    for t in range(len(distances)):
        into = out[min(t, len(out) - 1)]
        code = test_codes[t]
        size = sizes[code] if code >= 0 else 0
        n_edges = distinct_edges(matching[t, :size], edges, ties)
        fill_slots(distances[t], edges, n_edges, starts, slots)
        _matches_before(slots, codes, code, n_edges, ties, before)
        counts[: 2 * size + 1] = 0
        for i in range(n):
            counts[slots[i]] += 1
        _values_of_positions(n, size, counts, mass, end, values)
        for i in range(n):
            into[i] += values[slots[i]]


@numba.njit(nogil=True, cache=True)
def _add_near_row_order_values(distances, codes, test_codes, radius, mass, end, out):
    """Add the values of the nearest records, farthest first, by the formula of ``weights``; as ``_add_values``."""
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius)
        into = out[min(t, len(out) - 1)]
        later = 0.0
        after = len(near)
        while after > 0:
            before = after - 1
            while before > 0 and near[before - 1] == near[after - 1]:
                before -= 1
            tied = np.sort(index[before:after])  # lower rows are nearer
            for at in range(len(tied) - 1, -1, -1):
                rank = before + at + 1
                if codes[tied[at]] == test_codes[t]:
                    into[tied[at]] += end - mass[rank] - later
                    later += mass[rank] - mass[rank - 1]
                else:
                    into[tied[at]] -= later
            after = before


@numba.njit(nogil=True, cache=True)
def _matches_before(slots, codes, code, n_edges, ties, before):
    """Convert the slot of each record to twice the number of matching records before it, plus 1 if it matches itself."""
    first = np.uint32(0)
    for edge in range(n_edges):
        before[2 * edge] = first
        before[2 * edge + 1] = first
        first += np.uint32(ties[edge])
    before[2 * n_edges] = first
    for i in range(len(slots)):
        slot = slots[i]
        match = np.uint32(codes[i] == code)
        position = before[slot]
        before[slot] = position + match  # a matching record stands on an edge, and comes before those of later rows
        slots[i] = position + position + match


@numba.njit(nogil=True, cache=True)
def _values_of_positions(n, size, counts, mass, end, values):
    """Fill the value of a record at each place, farthest first, by the formula of ``weights`` as it stands."""
    after = n - counts[2 * size]
    beyond = 0.0
    values[2 * size] = 0.0
    for position in range(size - 1, -1, -1):
        weight = mass[after] - mass[after - 1]
        beyond += weight
        values[2 * position + 1] = end - mass[after] - (beyond - weight)
        values[2 * position] = 0.0 - beyond
        after -= 1 + counts[2 * position]
