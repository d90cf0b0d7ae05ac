"""Buckets of neighbouring floats: locate one value among many models without sorting all values.

Imports numba, so it is imported only for very many values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

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
