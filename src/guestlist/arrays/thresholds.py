"""The threshold that tells members from non-members best, for whoever knows the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from guestlist.arrays.orders import cached_argsort
from guestlist.arrays.samples import drop_unscored, rows_by_label

if TYPE_CHECKING:
    from guestlist.arrays.buckets import BucketPoints

FEW_GROUPS = 50  # that are told apart in buckets; more of them, in one sort of all values
MANY = 2**19  # points; more are sorted into buckets first, and only the buckets that may hold the best are gone through


def best_threshold(scores: np.ndarray, member: np.ndarray) -> float:
    """The observed score that, as a threshold, maximises TPR - FPR; among equals the one that calls fewest.

    Knows the truth, so it is for records other than those it is then applied to. NaN scores are left out.
    """
    scores, member = drop_unscored(scores, member)
    order = cached_argsort(scores)[::-1]  # equals in any order: ties are called together
    return best_threshold_sorted(scores[order], member[order])


def best_threshold_sorted(ranked: np.ndarray, is_member: np.ndarray) -> float:
    """The same of scores from the highest to the lowest, without NaN."""
    if is_member.all() or not is_member.any():
        raise ValueError("Expected both members and non-members to choose a threshold, found one kind.")
    # Counts, not rates, so that equal advantages compare equal.
    n1, n0 = is_member.sum(), (~is_member).sum()
    gain = np.cumsum(is_member) * n0 - np.cumsum(~is_member) * n1
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


def group_thresholds(values: np.ndarray, member: np.ndarray, group: np.ndarray, groups: int, sign: int) -> np.ndarray:
    """(groups + 1,) what :func:`best_threshold` gives for ``sign`` times the values of all rows: group by group, and of all.

    Of very many values in few groups it is linear in their number: they are counted in buckets, and within a bucket the
    advantage can rise by no more than its members allow, so that hardly more than one has to be sorted.

    Args:
        values: (models, records) NaN is left out.
        member: (models, records) the truth.
        group: (records,) number of the group that a record belongs to, from 0.
        groups: how many there are.
        sign: 1 or -1.

    Returns:
        NaN where there is but one kind.
    """
    if values.size <= MANY or groups > FEW_GROUPS:
        from guestlist.arrays.sweeping import threshold_scan  # imports numba

        known = ~np.isnan(values)
        scores, inside, own = sign * values[known], member[known], np.broadcast_to(group, values.shape)[known]
        order = cached_argsort(scores)[::-1]  # equals in any order: ties are called together
        return threshold_scan(scores[order], inside[order], own[order], groups)
    from guestlist.arrays.buckets import BucketPoints, Buckets  # imports numba

    buckets = Buckets(values, member, np.ascontiguousarray(group, dtype=np.int64), groups, sign)
    counts = buckets.counts()
    candidates = [_may_hold_the_best(sides) for sides in counts.sides]
    mixed = np.stack(candidates) & counts.others  # a bucket of equal values is one point, however many there are
    chosen = mixed[:-1] | mixed[-1]
    points = buckets.points_in(chosen, int(counts.sides[:-1].sum(axis=1)[chosen].sum()))
    found = np.empty(groups + 1)
    for number, (sides, one, candidate) in enumerate(zip(counts.sides, counts.one, candidates, strict=True)):
        own = mixed[number, points.bucket] & ((points.group == number) | (number == groups))
        lumps = np.flatnonzero(candidate & ~mixed[number])
        found[number] = _best_in(BucketPoints(*(part[own] for part in points)), lumps, one[lumps], sides)
    return found


def _may_hold_the_best(sides: np.ndarray) -> np.ndarray:
    """(buckets,) whether the best threshold may be one of the values in a bucket; ``sides`` are non-members and members."""
    n0, n1 = sides.sum(axis=1)
    there = sides.any(axis=0)
    if not n0 or not n1:
        return np.zeros_like(there)
    after = np.cumsum(sides[1] * n0 - sides[0] * n1)
    return there & (after + sides[0] * n1 >= after[there].max())


def _best_in(points: BucketPoints, lumps: np.ndarray, values: np.ndarray, sides: np.ndarray) -> float:
    """The best threshold, which is among these points and lumps; NaN where there is none.

    Args:
        lumps: buckets that hold one value, and how large that is.
        sides: (2, buckets) non-members and members in each bucket.
    """
    if not len(points.values) and not len(lumps):
        return float("nan")
    n0, n1 = sides.sum(axis=1)
    rise = sides[1] * n0 - sides[0] * n1
    scores, bucket = np.append(points.values, values), np.append(points.bucket, lumps)
    order = np.argsort(-scores)
    ranked, bucket = scores[order], bucket[order]
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    gain = np.cumsum(np.append(np.where(points.inside, n0, -n1), rise[lumps])[order])
    # Between two candidates there are buckets that were left out: what they change is made up for at each start.
    before = (np.cumsum(rise) - rise)[bucket[starts]]
    gain += np.repeat(before - np.append(0, gain)[starts], np.diff(np.append(starts, len(ranked))))
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


@dataclass(frozen=True)
class ClassThresholds:
    """The best threshold of each record's class, (records,), and that of all records, (1,); NaN where there is one kind."""

    of_class: np.ndarray
    overall: np.ndarray


def class_thresholds(values: np.ndarray, member: np.ndarray, labels: np.ndarray, sign: int) -> ClassThresholds:
    """What :func:`best_threshold` gives for ``sign`` times the values of all rows, class by class and of all classes.

    Args:
        values: (models, records) NaN is left out.
        member: (models, records) the truth.
        labels: (records,) classes; a negative one is none.
        sign: 1 or -1.
    """
    classes = rows_by_label(labels)
    codes = np.full(len(labels), len(classes))  # the last are of no class
    for code, records in enumerate(classes):
        codes[records] = code
    found = group_thresholds(values, member, codes, len(classes) + 1, sign)
    return ClassThresholds(np.where(codes < len(classes), found[codes], np.nan), found[-1:])


def lookup_thresholds(thresholds: np.ndarray, labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(others,) the thresholds of their classes, from those of (records,) of each class; NaN where a class is not among them.

    Args:
        labels, others: classes of the records and of the others.

    >>> lookup_thresholds(np.array([0.5, 0.25]), np.array([1, 3]), np.array([3, 3, 1, 2]))
    array([0.25, 0.25, 0.5 ,  nan])
    """
    classes, first = np.unique(labels, return_index=True)
    place = np.searchsorted(classes, others).clip(max=len(classes) - 1)
    return np.where(classes[place] == others, thresholds[first][place], np.nan)
