"""Kernels from one row of distances to the value of every training record."""

import numba
import numpy as np

INTERVALS_PER_EDGE = 6
MOST_INTERVALS = 1 << 22  # float32 represents these counts exactly
SAMPLE_STEP = 128
RECORDS_PER_CHUNK = 32
PAD = 3  # the two comparisons may read this far beyond the last edge
U32_ONE = np.uint32(1)


@numba.njit(inline="always")
def tie_values(before, after, matching, mass, moment, end, later):
    """Return the values of a match and a mismatch in a tie at ranks before+1..after, and the new ``later``."""
    members = after - before
    weight = mass[after] - mass[before]
    behind = end - mass[after]
    if members == 1:
        inside = 0.0
        per_other = 0.0
    else:
        inside = (moment[after] - moment[before] - (before + 1) * weight) / members
        per_other = inside / (members - 1)
    match = inside + behind - (matching - 1) * per_other - later
    mismatch = -matching * per_other - later
    return match, mismatch, later + weight * matching / members


@numba.njit(nogil=True, cache=True)
def add_all_values(distances, matching, low, high, mass, moment, end, out):
    """Add every record's value for each test record of one label to ``out``: (n,), or (tests, n).

    Args:
        distances: (tests, n) squared distances.
        matching: (tests, high - low) the slice [low, high) of them, sorted.
        low, high: positions of the records with the label of these tests.
        mass, moment, end: tables of the weights.
        out: shape (1, n) for sums over tests; (tests, n) for one row per test.
    """
    slots, edges, ties, starts, counts, match, mismatch = _scratch(distances, high - low)
    index = np.empty(distances.shape[1], np.uint32)
    near = np.empty(distances.shape[1], distances.dtype)
    for t in range(len(distances)):
        row = distances[t]
        into = out[min(t, len(out) - 1)]
        n_edges = distinct_edges(matching[t], edges, ties)
        farthest = edges[max(n_edges - 1, 0)]  # infinite without an edge
        if _is_mostly_beyond(row, farthest):
            # Records beyond the farthest matching record have the value 0.
            before = _keep_within(row, 0, low, farthest, 0, index, near)
            stop = _keep_within(row, low, high, farthest, before, index, near)
            n_near = _keep_within(row, high, len(row), farthest, stop, index, near)
            fill_slots(near[:n_near], edges, n_edges, starts, slots)
            _count(slots[:n_near], before, stop, n_edges, counts)
            _values_of_slots(n_near, n_edges, ties, counts[0], mass, moment, end, match, mismatch)
            for i in range(before):
                into[index[i]] += mismatch[slots[i]]
            for i in range(before, stop):
                into[index[i]] += match[slots[i] >> U32_ONE]
            for i in range(stop, n_near):
                into[index[i]] += mismatch[slots[i]]
        else:
            fill_slots(row, edges, n_edges, starts, slots)
            _count(slots, low, high, n_edges, counts)
            _values_of_slots(len(row), n_edges, ties, counts[0], mass, moment, end, match, mismatch)
            for i in range(low):
                into[i] += mismatch[slots[i]]
            for i in range(low, high):
                into[i] += match[slots[i] >> U32_ONE]
            for i in range(high, len(row)):
                into[i] += mismatch[slots[i]]


@numba.njit(inline="always")
def _is_mostly_beyond(row, farthest):
    """Estimate from every ``SAMPLE_STEP``-th record whether most records are farther than ``farthest``."""
    within = 0
    for i in range(0, len(row), SAMPLE_STEP):
        within += row[i] <= farthest
    return 2 * SAMPLE_STEP * within < len(row)


@numba.njit(nogil=True, cache=True)
def _keep_within(row, start, stop, farthest, kept, index, near):
    """Append the records from ``start`` to ``stop`` that are at most ``farthest`` away; return the new number kept.

    Args:
        row: (n,) squared distances.
        start, stop: the slice of ``row`` to search.
        farthest: largest distance of a matching record.
        kept: number of records kept so far.
        index, near: (n,) receive the positions and distances of the kept records.
    """
    for first in range(start, stop, RECORDS_PER_CHUNK):
        chunk = row[first : min(first + RECORDS_PER_CHUNK, stop)]
        # Most chunks have no near record, and this test processes many records at a time.
        within = np.uint8(0)
        for distance in chunk:
            within |= np.uint8(distance <= farthest)
        if within:
            for i in range(len(chunk)):
                index[kept] = first + i
                near[kept] = chunk[i]
                kept += chunk[i] <= farthest
    return kept


@numba.njit(nogil=True, cache=True)
def write_self_values(distances, matching, low, high, self_rows, mass, moment, end, out):
    """Write the value of record ``self_rows[t]``, of the tests' class, to ``out[t]``; other arguments as above."""
    slots, edges, ties, starts, counts, match, mismatch = _scratch(distances, high - low)
    for t in range(len(distances)):
        n_edges = distinct_edges(matching[t], edges, ties)
        fill_slots(distances[t], edges, n_edges, starts, slots)
        _count(slots, low, high, n_edges, counts)
        _values_of_slots(distances.shape[1], n_edges, ties, counts[0], mass, moment, end, match, mismatch)
        out[t] = match[slots[self_rows[t]] >> U32_ONE]


@numba.njit(inline="always")
def _scratch(distances, matching):
    slots = np.empty(distances.shape[1], np.uint32)
    edges = np.empty(matching + PAD, distances.dtype)
    ties = np.empty(matching, np.int32)
    starts = np.empty(INTERVALS_PER_EDGE * matching + 2, np.uint32)
    counts = np.empty((2, 2 * matching + 1), np.int32)
    return slots, edges, ties, starts, counts, np.empty(matching + 1), np.empty(2 * matching + 1)


@numba.njit(nogil=True, cache=True)
def distinct_edges(ordered, edges, ties):
    """Fill the distinct values of a sorted row and their counts; return the number of distinct values."""
    n_edges = 0
    for value in ordered:
        if n_edges > 0 and edges[n_edges - 1] == value:
            ties[n_edges - 1] += 1
        else:
            edges[n_edges] = value
            ties[n_edges] = 1
            n_edges += 1
    edges[n_edges : n_edges + PAD] = np.inf
    return n_edges


@numba.njit(nogil=True, cache=True)
def fill_slots(row, edges, n_edges, starts, slots):
    """Fill each record's slot: twice the number of edges below it, plus 1 if it equals an edge."""
    if n_edges == 0:
        slots[:] = 0
        return
    first = edges[0]
    span = edges[n_edges - 1] - edges[0]
    intervals = min(INTERVALS_PER_EDGE * n_edges, MOST_INTERVALS)
    # Use one interval if the edges span so little that the scale would overflow.
    scale = edges.dtype.type(intervals / span if span > 1e-30 * intervals else 0.0)
    last = edges.dtype.type(intervals - 1)
    zero = edges.dtype.type(0)
    _fill_starts(edges, n_edges, first, scale, last, starts)
    # This is a separate pass because it processes four or eight records at a time.
    for i in range(len(row)):
        slots[i] = np.int32(max(min((row[i] - first) * scale, last), zero))
    # Indices are unsigned: a signed index costs a test for negative values at every access.
    for i in range(len(row)):
        distance = row[i]
        interval = slots[i]
        below = starts[interval]
        stop = starts[np.uint32(interval + U32_ONE)]
        if stop - below > 2:
            below = _search(edges, below, stop, distance)
        else:
            below += np.uint32(edges[below] < distance)
            below += np.uint32(edges[below] < distance)
        slots[i] = below + below + np.uint32(edges[below] == distance)


@numba.njit(inline="always")
def _fill_starts(edges, n_edges, first, scale, last, starts):
    """Fill the number of edges in earlier intervals, for each interval and for the end.

    There are no branches, because the number of edges in an interval cannot be predicted.
    """
    end = np.int64(last) + 1
    starts[: end + 1] = np.uint32(0)
    for e in range(n_edges):
        starts[np.uint32(np.int32(min((edges[e] - first) * scale, last))) + U32_ONE] += U32_ONE
    earlier = np.uint32(0)
    for interval in range(end + 1):
        earlier += starts[interval]
        starts[interval] = earlier


@numba.njit(inline="always")
def _search(edges, below, stop, distance):
    """Return the number of edges below ``distance``, known to be in [below, stop], by a branch-free binary search."""
    size = np.uint32(stop - below)
    while size > 0:
        half = np.uint32((size + U32_ONE) >> U32_ONE)
        below += np.uint32(half * np.uint32(edges[np.uint32(below + half - U32_ONE)] < distance))
        size -= half
    return below


@numba.njit(nogil=True, cache=True)
def _count(slots, low, high, n_edges, counts):
    """Count the mismatching records per slot in the first row of ``counts``."""
    counts[:, : 2 * n_edges + 1] = 0
    _count_pairs(slots[:low], counts)
    _count_pairs(slots[high:], counts)
    for slot in range(2 * n_edges + 1):
        counts[0, slot] += counts[1, slot]


@numba.njit(inline="always")
def _count_pairs(slots, counts):
    """Add to two rows of counts in turn: adjacent records are often in one slot, and an addition waits for the last one."""
    for i in range(0, len(slots) - 1, 2):
        counts[0, slots[i]] += 1
        counts[1, slots[i + 1]] += 1
    if len(slots) % 2:
        counts[0, slots[-1]] += 1


@numba.njit(nogil=True, cache=True)
def _values_of_slots(n, n_edges, ties, counts, mass, moment, end, match, mismatch):
    """Fill the value of a matching record per edge and of a mismatching one per slot, farthest first."""
    later = 0.0
    after = n - counts[2 * n_edges]
    mismatch[2 * n_edges] = 0.0
    for edge in range(n_edges - 1, -1, -1):
        before = after - ties[edge] - counts[2 * edge + 1]
        match[edge], mismatch[2 * edge + 1], later = tie_values(before, after, ties[edge], mass, moment, end, later)
        mismatch[2 * edge] = -later
        after = before - counts[2 * edge]


HANDS_PER_RECORD = 4


@numba.njit(nogil=True, cache=True)
def nearest(row, radius):
    """Return the indices and distances of the ``radius`` nearest records and all ties with the last, nearest first."""
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
    # Each sample takes records at regular steps, because adjacent records in memory share a class and are often close.
    for start in range(hands, len(row), hands):
        for h in range(min(hands, len(row) - start)):
            smallest[h] = min(smallest[h], row[start + h])
    return quickselect(smallest, radius - 1)


@numba.njit(nogil=True, cache=True)
def quickselect(values, rank):
    """Return the value at ``rank`` in sorted order; the values are reordered in place (Hoare 1961).

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
    """Add the values of the nearest records for each test record of one label; arguments as for ``add_all_values``."""
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
    """Write to ``out[t]`` the value of a matching record at distance 0 from test record t: its self-value."""
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
    """Return the start of the tie that ends at ``after``, and the number of its members that match."""
    before = after - 1
    while before > 0 and near[before - 1] == near[after - 1]:
        before -= 1
    matching = 0
    for i in index[before:after]:
        matching += low <= i < high
    return before, matching
