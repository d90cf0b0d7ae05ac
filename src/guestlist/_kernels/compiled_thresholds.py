"""Compiled search for the best threshold of every target."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit


@njit(cache=True)
def threshold_scan(ranked, inside, group, groups):  # pragma: no cover: compiled
    """Find the threshold that maximises TPR - FPR within each group, and over all points; the highest among equals.

    Args:
        ranked: (points,) Scores from the highest to the lowest, without NaN.
        inside: (points,) Membership.
        group: (points,) Group number, from 0.
        groups: Number of groups.

    Returns:
        (groups + 1,) thresholds, the last of all points; NaN without both members and non-members.
    """
    sizes = np.zeros((2, groups + 1), dtype=np.int64)
    for i in range(len(ranked)):
        sizes[np.int64(inside[i]), group[i]] += 1
        sizes[np.int64(inside[i]), groups] += 1
    # Counts instead of rates, so that equal advantages compare equal.
    gain = np.zeros(groups + 1, dtype=np.int64)
    best_gain = np.full(groups + 1, np.iinfo(np.int64).min)
    last = np.full(groups + 1, np.nan)
    best = np.full(groups + 1, np.nan)
    for i in range(len(ranked)):
        for g in (group[i], groups):
            if ranked[i] != last[g] and last[g] == last[g] and gain[g] > best_gain[g]:  # A run of ties has ended.
                best_gain[g] = gain[g]
                best[g] = last[g]
            gain[g] += sizes[0, g] if inside[i] else -sizes[1, g]
            last[g] = ranked[i]
    for g in range(groups + 1):
        if gain[g] > best_gain[g]:
            best[g] = last[g]
        if sizes[0, g] == 0 or sizes[1, g] == 0:
            best[g] = np.nan
    return best


CHUNK = 256


def leave_block_out_thresholds(
    scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int, *, chunk: int = CHUNK
) -> np.ndarray:
    """Find the best threshold on the points of all other blocks, for each block.

    Args:
        scores: (points,) without NaN.
        member: (points,) Membership.
        block: (points,) Block of each point, from 0.
        blocks: Number of blocks.
        chunk: Points that are processed together; changes the time, not the result.

    Returns:
        (blocks,) thresholds; NaN where the other blocks lack members or non-members.
    """
    order = np.argsort(-scores)
    scores = scores[order]
    member = member[order]
    block = block[order].astype(np.int64)
    edges = _chunk_edges(scores, chunk)
    counts = _chunk_counts(member, block, edges, blocks)
    # Sums over an axis take numba seconds to compile.
    return _scan_chunks(scores, member, block, edges, counts, counts.sum(axis=2), counts.sum(axis=1))


def _chunk_edges(scores: np.ndarray, chunk: int) -> np.ndarray:
    """Return the starts of the chunks and the end; only between different scores, since ties are flagged together."""
    starts_run = np.ones(len(scores), dtype=bool)
    starts_run[1:] = scores[1:] != scores[:-1]
    runs = np.flatnonzero(starts_run)
    starts = runs[np.searchsorted(runs, np.arange(0, len(scores), chunk), side="right") - 1]
    return np.append(np.unique(starts), len(scores))


def _chunk_counts(member: np.ndarray, block: np.ndarray, edges: np.ndarray, blocks: int) -> np.ndarray:
    """(2, chunks, blocks) numbers of non-members and members of each block in each chunk."""
    chunks = len(edges) - 1
    of_chunk = np.repeat(np.arange(chunks), np.diff(edges))
    cell = (member * chunks + of_chunk) * blocks + block
    return np.bincount(cell, minlength=2 * chunks * blocks).reshape(2, chunks, blocks)


@njit(cache=True)
def _scan_chunks(scores, member, block, edges, counts, per_chunk, per_block):  # pragma: no cover: compiled
    chunks, blocks = counts.shape[1:]
    outside = 0
    inside = 0
    for b in range(blocks):
        outside += per_block[0, b]
        inside += per_block[1, b]
    best = np.full(blocks, np.nan)
    for b in range(blocks):
        n1 = inside - per_block[1, b]
        n0 = outside - per_block[0, b]
        if n1 == 0 or n0 == 0:
            continue
        gain = 0
        reached = np.iinfo(np.int64).min
        for c in range(chunks):
            gain += (per_chunk[1, c] - counts[1, c, b]) * n0 - (per_chunk[0, c] - counts[0, c, b]) * n1
            reached = max(reached, gain)
        gain = 0
        best_gain = np.iinfo(np.int64).min
        for c in range(chunks):
            rise = (per_chunk[1, c] - counts[1, c, b]) * n0
            if gain + rise < reached:
                gain += rise - (per_chunk[0, c] - counts[0, c, b]) * n1
                continue
            # Downwards through the scores; a gain counts once a run of ties has ended.
            last = 0.0
            started = False
            for i in range(edges[c], edges[c + 1]):
                if block[i] == b:
                    continue
                if started and scores[i] != last and gain > best_gain:
                    best_gain = gain
                    best[b] = last
                gain += n0 if member[i] else -n1
                last = scores[i]
                started = True
            if started and gain > best_gain:
                best_gain = gain
                best[b] = last
    return best


BUCKETS = 2**16  # Their counts fit in the cache.
SOME = 2**20  # Number of values from which the range of the buckets is estimated.


class BucketCounts(NamedTuple):
    """Contents of the buckets per group; arrays are (groups, buckets), and the last group is all groups together.

    Attributes:
        sides: (groups, 2, buckets) Numbers of non-members and of members.
        example: One value of each bucket.
        mixed: True where a bucket holds more than one distinct value.
    """

    sides: np.ndarray
    example: np.ndarray
    mixed: np.ndarray


class BucketPoints(NamedTuple):
    """Values in selected buckets, with membership, bucket and group of each."""

    values: np.ndarray
    inside: np.ndarray
    bucket: np.ndarray
    group: np.ndarray


@dataclass(frozen=True)
class Buckets:
    """Values of many models, each in a bucket; the first bucket holds the highest values.

    Args:
        values: (models, records) in single or double precision; NaN is ignored.
        member: (models, records) Training membership.
        group: (records,) Group of each record, from 0.
        groups: Number of groups.
        sign: 1 or -1; values are multiplied by it.
    """

    values: np.ndarray
    member: np.ndarray
    group: np.ndarray
    groups: int
    sign: int
    _top: int = field(init=False)
    _shift: int = field(init=False)

    def __post_init__(self) -> None:
        step = max(1, self.values.size // SOME)
        lowest, highest = _key_range(self.values, *_bits(self.values), step, self.sign)
        width = max(int(highest) - int(lowest), 0)
        # Floats are compared as integers in the same order. The shift makes nearly all values fit into the buckets; the first
        # and the last bucket also hold the values beyond the estimated range.
        object.__setattr__(self, "_top", int(highest))
        object.__setattr__(self, "_shift", max(0, width.bit_length() - BUCKETS.bit_length() + 1))

    def counts(self) -> BucketCounts:
        shape = self.groups + 1, BUCKETS
        counts = BucketCounts(
            sides=np.zeros((self.groups + 1, 2, BUCKETS), dtype=np.int64),
            example=np.empty(shape),
            mixed=np.zeros(shape, dtype=bool),
        )
        _count_buckets(*self._parts, self._top, self._shift, *counts)
        _add_groups(*counts)
        return counts

    def points_in(self, chosen: np.ndarray, points: int) -> BucketPoints:
        """Return the values in the chosen buckets; ``points`` is their number."""
        gathered = BucketPoints(
            np.empty(points, dtype=self.values.dtype),
            np.empty(points, dtype=bool),
            *np.empty((2, points), dtype=np.int64),
        )
        _gather_points(*self._parts, self._top, self._shift, chosen, *gathered)
        return gathered

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.int64, np.ndarray, np.ndarray, int]:
        bits, low = _bits(self.values)
        return self.values, bits, low, self.member, self.group, self.sign


def _bits(values: np.ndarray) -> tuple[np.ndarray, np.int64]:
    """Return the values as integers, and the integer that represents -0.0."""
    kind: type[np.signedinteger] = np.int32 if values.dtype.itemsize == 4 else np.int64
    return values.view(kind), np.int64(np.iinfo(kind).min)


@njit(cache=True, inline="always")
def _key(bits, low, sign):  # pragma: no cover: compiled
    """Return an integer that rises with the float that has these bits; -0.0 and 0.0 have the same key.

    The last bit is dropped, so that two keys can be subtracted without overflow.
    """
    number = np.int64(bits)
    if sign < 0:
        number ^= low
    if number == low:
        number = np.int64(0)
    return (~number ^ low if number < 0 else number) >> 1


@njit(cache=True)
def _key_range(values, bits, low, step, sign):  # pragma: no cover: compiled
    lowest = np.int64(2**62)  # No key is larger.
    highest = np.int64(-(2**62))
    for k in range(len(values)):
        for i in range(k % step, values.shape[1], step):
            if values[k, i] == values[k, i]:
                key = _key(bits[k, i], low, sign)
                lowest = min(lowest, key)
                highest = max(highest, key)
    return lowest, highest


@njit(cache=True)
def _count_buckets(
    values, bits, low, member, group, sign, top, shift, sides, example, mixed
):  # pragma: no cover: compiled
    for k in range(len(values)):
        for i in range(len(group)):
            value = sign * values[k, i]
            if value == value:
                g = group[i]
                bucket = min(max((top - _key(bits[k, i], low, sign)) >> shift, 0), BUCKETS - 1)
                if sides[g, 0, bucket] + sides[g, 1, bucket] == 0:
                    example[g, bucket] = value
                elif example[g, bucket] != value:
                    mixed[g, bucket] = True
                sides[g, np.int64(member[k, i]), bucket] += 1


@njit(cache=True)
def _add_groups(sides, example, mixed):  # pragma: no cover: compiled
    """Fill the last group with the sum of all other groups."""
    total = len(sides) - 1
    for g in range(total):
        for bucket in range(sides.shape[2]):
            if sides[g, 0, bucket] + sides[g, 1, bucket]:
                if sides[total, 0, bucket] + sides[total, 1, bucket] == 0:
                    example[total, bucket] = example[g, bucket]
                elif example[total, bucket] != example[g, bucket]:
                    mixed[total, bucket] = True
                mixed[total, bucket] |= mixed[g, bucket]
                sides[total, 0, bucket] += sides[g, 0, bucket]
                sides[total, 1, bucket] += sides[g, 1, bucket]


@njit(cache=True)
def _gather_points(
    values, bits, low, member, group, sign, top, shift, chosen, out, inside, bucket_of, group_of
):  # pragma: no cover: compiled
    position = 0
    for k in range(len(values)):
        for i in range(len(group)):
            if values[k, i] == values[k, i]:
                bucket = min(max((top - _key(bits[k, i], low, sign)) >> shift, 0), BUCKETS - 1)
                if chosen[group[i], bucket]:
                    out[position] = sign * values[k, i]
                    inside[position] = member[k, i]
                    bucket_of[position] = bucket
                    group_of[position] = group[i]
                    position += 1
