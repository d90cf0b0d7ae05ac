"""Values of many models in buckets of neighbouring floats: a way to find one of them without sorting all.

Imports numba, so it is itself imported only where there are very many values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

BUCKETS = 2**18
SOME = 2**20  # values that tell where most of them lie


@dataclass(frozen=True)
class Buckets:
    """Some values of many models, each in a bucket, the highest in the first.

    Args:
        values: (models, records) in single or in double precision; NaN is left out.
        member: (models, records) the truth.
        records: positions of those that count.
        sign: 1 or -1, by which values are multiplied.
    """

    values: np.ndarray
    member: np.ndarray
    records: np.ndarray
    sign: int
    _top: int = field(init=False)
    _shift: int = field(init=False)

    def __post_init__(self) -> None:
        some = self.records[:: max(1, self.values.shape[0] * len(self.records) // SOME)]
        lowest, highest = _ends(self.values, *_bits(self.values), some, self.sign)
        width = max(int(highest) - int(lowest), 0)
        # Floats are taken as whole numbers in the same order: a bucket holds so many neighbours that nearly all find room,
        # and the last on either side what lies beyond.
        object.__setattr__(self, "_top", int(highest))
        object.__setattr__(self, "_shift", max(0, width.bit_length() - BUCKETS.bit_length() + 1))

    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(2, buckets) non-members and members in each bucket; one of its values; and whether it has others."""
        counts = np.zeros((2, BUCKETS), dtype=np.int64)
        one, others = np.empty(BUCKETS), np.zeros(BUCKETS, dtype=bool)
        _count(*self._parts, self._top, self._shift, counts, one, others)
        return counts, one, others

    def points_in(self, chosen: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values in the buckets that are chosen, ``points`` in all; the truth about them; and their buckets."""
        found, inside = np.empty(points, dtype=self.values.dtype), np.empty(points, dtype=bool)
        bucket = np.empty(points, dtype=np.int64)
        _gather(*self._parts, self._top, self._shift, chosen, found, inside, bucket)
        return found, inside, bucket

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.int64, np.ndarray, np.ndarray, int]:
        bits, low = _bits(self.values)
        return self.values, bits, low, self.member, self.records, self.sign


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
def _ends(values, bits, low, records, sign):  # pragma: no cover: compiled
    lowest, highest = np.int64(2**62), np.int64(-(2**62))  # no key is beyond
    for k in range(len(values)):
        for at in records:
            if values[k, at] == values[k, at]:
                key = _key(bits[k, at], low, sign)
                lowest, highest = min(lowest, key), max(highest, key)
    return lowest, highest


@njit(cache=True)
def _count(values, bits, low, member, records, sign, top, shift, counts, one, others):  # pragma: no cover: compiled
    for k in range(len(values)):
        for at in records:
            value = sign * values[k, at]
            if value == value:
                number = min(max((top - _key(bits[k, at], low, sign)) >> shift, 0), BUCKETS - 1)
                if counts[0, number] + counts[1, number] == 0:
                    one[number] = value
                elif one[number] != value:
                    others[number] = True
                counts[np.int64(member[k, at]), number] += 1


@njit(cache=True)
def _gather(
    values, bits, low, member, records, sign, top, shift, chosen, found, inside, bucket
):  # pragma: no cover: compiled
    place = 0
    for k in range(len(values)):
        for at in records:
            if values[k, at] == values[k, at]:
                number = min(max((top - _key(bits[k, at], low, sign)) >> shift, 0), BUCKETS - 1)
                if chosen[number]:
                    found[place], inside[place], bucket[place] = sign * values[k, at], member[k, at], number
                    place += 1
