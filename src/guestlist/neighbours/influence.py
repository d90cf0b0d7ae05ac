"""Effect of removing records on the self-WaKA of the remaining records, from stored lists of neighbours.

Self-WaKA depends on a few dozen neighbours. Once their lists are stored, no distance is computed again: a
record removed from a list moves those behind it one rank nearer, and the value is summed again, in time
linear in the list. That is exact for any set of records at once, where adding up single influences is
not. The lists hold some neighbours to spare, so that enough are left after a removal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from guestlist import arguments
from guestlist.neighbours.blocks import Buffers, Progress, map_in_order, split_blocks
from guestlist.neighbours.checks import check_jobs, check_keep_probability, check_rows
from guestlist.neighbours.kernel import tie_values
from guestlist.neighbours.knn import Knn, require_average_ties
from guestlist.neighbours.nearest import nearest
from guestlist.neighbours.pool import make_pool, self_distances
from guestlist.neighbours.weights import banzhaf_radius, banzhaf_weights


@dataclass(frozen=True)
class NeighbourLists:
    """The nearest other records of each record, nearest first, with all that tie with the last of them.

    Those of record i stand at ``starts[i]:starts[i + 1]`` of the flat arrays.

    Args:
        k, p: of the self-WaKA that the lists are long enough for.
        starts: (n + 1,).
        index: row of each neighbour.
        distance: squared distance to it.
        agree: true where it carries the same label.
    """

    k: int
    p: float
    starts: np.ndarray
    index: np.ndarray
    distance: np.ndarray
    agree: np.ndarray

    @property
    def n(self) -> int:
        return len(self.starts) - 1


def neighbour_lists(
    x,
    y,
    knn: Knn = Knn(),
    *,
    p: float = 0.5,
    spare: int = 64,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> NeighbourLists:
    """Neighbours of each record, enough for its self-WaKA after ``spare`` of them have been removed.

    The other arguments are those of ``self_waka``.
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    spare = arguments.integer("spare", spare)
    pool = make_pool(x, y, knn)
    buffers = Buffers()
    radius = min(banzhaf_radius(pool.n, knn.k, p) + spare, pool.n)

    def work(block: slice):
        rows = np.arange(block.start, block.stop)
        return _nearest_others(self_distances(pool, rows, buffers), rows, radius)

    parts = list(map_in_order(work, split_blocks(pool.n, pool.n), n_jobs, progress))
    lengths, index, distance = (np.concatenate(part) for part in zip(*parts, strict=True))
    owner = np.repeat(np.arange(pool.n), lengths)
    agree = pool.codes[index] == pool.codes[owner]
    by_row = np.argsort(pool.order[owner], kind="stable")
    starts = np.append(0, np.cumsum(pool.in_rows(lengths)))
    return NeighbourLists(
        k=knn.k,
        p=p,
        starts=starts,
        index=pool.order[index][by_row],
        distance=distance[by_row],
        agree=agree[by_row],
    )


def waka_influence(lists: NeighbourLists, removed) -> np.ndarray:
    """Compute the exact change of each record's self-WaKA when all of ``removed`` are removed.

    Args:
        lists: from ``neighbour_lists``.
        removed: rows to remove, or a mask (n,) of them.

    Returns:
        (n,) self-WaKA after, minus before; NaN for the removed records themselves.

    >>> lists = neighbour_lists([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1))
    >>> waka_influence(lists, [1])
    array([-0.25,   nan, -0.25])
    """
    gone = np.zeros(lists.n, dtype=bool)
    gone[check_rows(removed, lists.n, "removed")] = True
    if gone.all():
        raise ValueError("Expected some record to stay, found all removed.")
    _check_enough_left(lists, gone)
    before = _self_waka(lists, np.zeros(lists.n, dtype=bool))
    return np.where(gone, np.nan, _self_waka(lists, gone) - before)


def waka_influence_of_each(lists: NeighbourLists) -> np.ndarray:
    """Compute the exact change of each record's self-WaKA when one neighbour is removed, for each neighbour.

    Returns:
        A flat array like ``lists.index``: the influence of neighbour ``lists.index[e]`` on the record whose
        list entry ``e`` stands in. Neighbours beyond the list change it by less than 2^-53.
    """
    if lists.n < 2:
        return np.empty(0)
    before = _self_waka(lists, np.zeros(lists.n, dtype=bool))
    weights = banzhaf_weights(lists.n - 1, lists.k, lists.p)
    after = np.empty(len(lists.index))
    _fill_without_each(lists.starts, lists.distance, lists.agree, weights.mass, weights.moment, weights.end, after)
    return after - np.repeat(before, np.diff(lists.starts))


def _check_enough_left(lists: NeighbourLists, gone: np.ndarray) -> None:
    """Refuse when a list has lost so many neighbours that those beyond it would count."""
    lengths = np.diff(lists.starts)
    lost = np.add.reduceat(np.append(gone[lists.index], False), lists.starts[:-1]) * (lengths > 0)
    needed = banzhaf_radius(lists.n - int(gone.sum()), lists.k, lists.p) - 1
    short = (needed - (lengths - lost)) * (lengths < lists.n - 1) * ~gone
    if short.max() > 0:
        raise ValueError(
            f"Expected lists with more neighbours to spare: {int((short > 0).sum())} records lost up to "
            f"{int(short.max())} too many. Make them with a larger spare in neighbour_lists."
        )


def _nearest_others(distances: np.ndarray, rows: np.ndarray, radius: int) -> tuple:
    """Lengths of the lists of a block, and their records and distances, one list after the other."""
    index = []
    distance = []
    for row, record in zip(distances, rows, strict=True):
        neighbours, near = nearest(row, min(radius + 1, len(row)))
        others = neighbours != record
        index.append(neighbours[others])
        distance.append(near[others])
    return np.array([len(neighbours) for neighbours in index]), np.concatenate(index), np.concatenate(distance)


def _self_waka(lists: NeighbourLists, gone: np.ndarray) -> np.ndarray:
    weights = banzhaf_weights(lists.n - int(gone.sum()), lists.k, lists.p)
    out = np.empty(lists.n)
    flat = lists.starts, lists.distance, lists.agree, gone[lists.index]
    _fill_without_removed(*flat, weights.mass, weights.moment, weights.end, out)
    return out


@numba.njit(nogil=True, cache=True)
def _fill_without_removed(starts, distance, agree, gone, mass, moment, end, out):
    for i in range(len(out)):
        row = slice(starts[i], starts[i + 1])
        out[i] = _self_value(distance[row], agree[row], gone[row], mass, moment, end)


@numba.njit(nogil=True, cache=True)
def _fill_without_each(starts, distance, agree, mass, moment, end, out):
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        near = distance[row]
        match = agree[row]
        gone = np.zeros(starts[i + 1] - starts[i], np.bool_)
        last = np.array([np.nan, np.nan])  # distance at which a mismatch and a match were last removed
        known = np.empty(2)
        for e in range(len(near)):
            kind = int(match[e])
            if last[kind] != near[e]:  # alike in a tie: the same influence
                gone[e] = True
                last[kind] = near[e]
                known[kind] = _self_value(near, match, gone, mass, moment, end)
                gone[e] = False
            out[starts[i] + e] = known[kind]


@numba.njit(nogil=True, cache=True)
def _self_value(near, match, gone, mass, moment, end):
    """Value of the record itself, before its neighbours in rank and tied with those at distance 0."""
    after = 1 + len(near) - gone.sum()
    later = 0.0
    e = len(near) - 1
    while e >= 0 and near[e] > 0:
        at = near[e]
        members = 0
        matching = 0
        while e >= 0 and near[e] == at:
            members += not gone[e]
            matching += match[e] and not gone[e]
            e -= 1
        if members > 0:
            _, _, later = tie_values(after - members, after, matching, mass, moment, end, later)
            after -= members
    equal = 1
    for tied in range(e + 1):
        equal += match[tied] and not gone[tied]
    value, _, _ = tie_values(0, after, equal, mass, moment, end, later)
    return value
