"""Values of many models in buckets of neighbouring floats: a way to find one of them without sorting all.

Imports numba, so it is itself imported only where there are very many values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

BUCKETS = 2**16  # what is counted in them stays in the cache
SOME = 2**20  # values that tell where most of them lie


class BucketCounts(NamedTuple):
    """What buckets hold, group by group: arrays are (groups, buckets), the last group is all of them together.

    Args:
        sides: (groups, 2, buckets) non-members and members.
        one: some value of each.
        others: whether it has others.
    """

    sides: np.ndarray
    one: np.ndarray
    others: np.ndarray


class BucketPoints(NamedTuple):
    """Values in buckets: what they are, the truth about them, their buckets and their groups."""

    values: np.ndarray
    inside: np.ndarray
    bucket: np.ndarray
    group: np.ndarray


@dataclass(frozen=True)
class Buckets:
    """The values of many models, each in a bucket, the highest in the first.

    Args:
        values: (models, records) in single or in double precision; NaN is left out.
        member: (models, records) the truth.
        group: (records,) to which group a record belongs, from 0.
        groups: how many there are.
        sign: 1 or -1, by which values are multiplied.
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
        lowest, highest = _ends(self.values, *_bits(self.values), step, self.sign)
        width = max(int(highest) - int(lowest), 0)
        # Floats are taken as whole numbers in the same order: a bucket holds so many neighbours that nearly all find room,
        # and the last on either side what lies beyond.
        object.__setattr__(self, "_top", int(highest))
        object.__setattr__(self, "_shift", max(0, width.bit_length() - BUCKETS.bit_length() + 1))

    def counts(self) -> BucketCounts:
        shape = self.groups + 1, BUCKETS
        found = BucketCounts(
            np.zeros((self.groups + 1, 2, BUCKETS), dtype=np.int64), np.empty(shape), np.zeros(shape, dtype=bool)
        )
        _count(*self._parts, self._top, self._shift, *found)
        _add_up(*found)
        return found

    def points_in(self, chosen: np.ndarray, points: int) -> BucketPoints:
        """The values in the buckets that are chosen, ``points`` in all."""
        found = BucketPoints(
            np.empty(points, dtype=self.values.dtype),
            np.empty(points, dtype=bool),
            *np.empty((2, points), dtype=np.int64),
        )
        _gather(*self._parts, self._top, self._shift, chosen, *found)
        return found

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.int64, np.ndarray, np.ndarray, int]:
        bits, low = _bits(self.values)
        return self.values, bits, low, self.member, self.group, self.sign


def _bits(values: np.ndarray) -> tuple[np.ndarray, np.int64]:
    """The values as whole numbers, and the one that stands for -0.0."""
    kind: type[np.signedinteger] = np.int32 if values.dtype.itemsize == 4 else np.int64
    return values.view(kind), np.int64(np.iinfo(kind).min)


@njit(cache=True, inline="always")
def _key(bits, low, sign):  # pragma: no cover: compiled
    """A whole number that rises with the float that has these bits; -0.0 and 0.0 are one value.

    Without its last bit, so that two of them can be subtracted.
    """
    number = np.int64(bits)
    if sign < 0:
        number ^= low
    if number == low:
        number = np.int64(0)
    return (~number ^ low if number < 0 else number) >> 1


@njit(cache=True)
def _ends(values, bits, low, step, sign):  # pragma: no cover: compiled
    lowest, highest = np.int64(2**62), np.int64(-(2**62))  # no key is beyond
    for k in range(len(values)):
        for at in range(k % step, values.shape[1], step):
            if values[k, at] == values[k, at]:
                key = _key(bits[k, at], low, sign)
                lowest, highest = min(lowest, key), max(highest, key)
    return lowest, highest


@njit(cache=True)
def _count(values, bits, low, member, group, sign, top, shift, sides, one, others):  # pragma: no cover: compiled
    for k in range(len(values)):
        for at in range(len(group)):
            value = sign * values[k, at]
            if value == value:
                own, number = group[at], min(max((top - _key(bits[k, at], low, sign)) >> shift, 0), BUCKETS - 1)
                if sides[own, 0, number] + sides[own, 1, number] == 0:
                    one[own, number] = value
                elif one[own, number] != value:
                    others[own, number] = True
                sides[own, np.int64(member[k, at]), number] += 1


@njit(cache=True)
def _add_up(sides, one, others):  # pragma: no cover: compiled
    """The last group becomes all others together."""
    every = len(sides) - 1
    for own in range(every):
        for number in range(sides.shape[2]):
            if sides[own, 0, number] + sides[own, 1, number]:
                if sides[every, 0, number] + sides[every, 1, number] == 0:
                    one[every, number] = one[own, number]
                elif one[every, number] != one[own, number]:
                    others[every, number] = True
                others[every, number] |= others[own, number]
                sides[every, 0, number] += sides[own, 0, number]
                sides[every, 1, number] += sides[own, 1, number]


@njit(cache=True)
def _gather(
    values, bits, low, member, group, sign, top, shift, chosen, found, inside, bucket, owner
):  # pragma: no cover: compiled
    place = 0
    for k in range(len(values)):
        for at in range(len(group)):
            if values[k, at] == values[k, at]:
                number = min(max((top - _key(bits[k, at], low, sign)) >> shift, 0), BUCKETS - 1)
                if chosen[group[at], number]:
                    found[place], inside[place] = sign * values[k, at], member[k, at]
                    bucket[place], owner[place] = number, group[at]
                    place += 1
