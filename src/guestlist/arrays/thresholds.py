"""The threshold that tells members from non-members best, for whoever knows the truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guestlist.arrays.orders import rising
from guestlist.arrays.samples import paired, rows_of_each

FEW_CLASSES = 50
MANY = 2**19  # points; more are sorted into buckets first, and only the buckets that may hold the best are gone through


def best_threshold(scores: np.ndarray, member: np.ndarray) -> float:
    """The observed score that, as a threshold, maximises TPR - FPR; among equals the one that calls fewest.

    Knows the truth, so it is for records other than those it is then applied to. NaN scores are left out.
    """
    scores, member = paired(scores, member)
    order = rising(scores)[::-1]  # equals in any order: ties are called together
    return best_threshold_in_order(scores[order], member[order])


def best_threshold_in_order(ranked: np.ndarray, is_member: np.ndarray) -> float:
    """The same of scores from the highest to the lowest, without NaN."""
    if is_member.all() or not is_member.any():
        raise ValueError("Expected both members and non-members to choose a threshold, found one kind.")
    # Counts, not rates, so that equal advantages compare equal.
    n1, n0 = is_member.sum(), (~is_member).sum()
    gain = np.cumsum(is_member) * n0 - np.cumsum(~is_member) * n1
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


def best_threshold_over_rows(values: np.ndarray, member: np.ndarray, records: np.ndarray, sign: int) -> float:
    """What :func:`best_threshold` gives for ``sign`` times the values of all rows together; NaN where they are of one kind.

    Linear in the number of values: they are counted in buckets, and within a bucket the advantage can rise by no more than
    its members allow, so that hardly more than one has to be sorted.

    Args:
        values: (models, records) NaN is left out.
        member: (models, records) the truth.
        records: positions of those that count.
        sign: 1 or -1.
    """

    def rows() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for row, inside in zip(values, member, strict=True):
            known = records[~np.isnan(row[records])]
            yield sign * row[known], inside[known]

    if len(values) * len(records) <= MANY:
        scores, inside = (np.concatenate(part) for part in zip(*rows(), strict=True))
        return best_threshold(scores, inside) if inside.any() and not inside.all() else float("nan")
    from guestlist.arrays.buckets import Buckets  # imports numba

    buckets = Buckets(values, member, records, sign)
    counts, one, others = buckets.counts()
    n0, n1 = (int(total) for total in counts.sum(axis=1))
    if not n0 or not n1:
        return float("nan")
    after = np.cumsum(counts[1] * n0 - counts[0] * n1)
    before = after - counts[1] * n0 + counts[0] * n1
    there = counts.any(axis=0)
    candidate = there & (before + counts[1] * n0 >= after[there].max())
    # A bucket of equal values is one point, however many there are.
    lumps, mixed = np.flatnonzero(candidate & ~others), candidate & others
    scores, inside, bucket = buckets.points_in(mixed, int(counts[:, mixed].sum()))
    rises = np.append(np.where(inside, n0, -n1), counts[1, lumps] * n0 - counts[0, lumps] * n1)
    scores, bucket = np.append(scores, one[lumps]), np.append(bucket, lumps)
    order = np.argsort(-scores)
    ranked, bucket = scores[order], bucket[order]
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    gain = np.cumsum(rises[order])
    # Between two candidates there are buckets that were left out: what they change is made up for at each start.
    own = np.append(0, gain)[starts]
    gain += np.repeat(before[bucket[starts]] - own, np.diff(np.append(starts, len(ranked))))
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


def class_thresholds(
    values: np.ndarray, member: np.ndarray, labels: np.ndarray, sign: int, *, few: int = FEW_CLASSES
) -> np.ndarray:
    """(records,) for each record, what :func:`best_threshold_over_rows` gives for the records of its class.

    Args:
        labels: (records,) classes; a negative one is none.
        few: classes that are gone through one by one; more of them, in one sort of all values.
    """
    found, classes = np.full(len(labels), np.nan), rows_of_each(labels)
    if len(classes) <= few:
        for records in classes:
            found[records] = best_threshold_over_rows(values, member, records, sign)
        return found
    codes = np.full(len(labels), -1)
    for code, records in enumerate(classes):
        codes[records] = code
    known = ~np.isnan(values) & (codes >= 0)
    scores, inside = sign * values[known].astype(np.float64), member[known]
    own = np.broadcast_to(codes, values.shape)[known]
    order = np.lexsort((-scores, own))
    scores, inside, own = scores[order], inside[order], own[order]
    totals = np.array([np.bincount(own[kind], minlength=len(classes)) for kind in (~inside, inside)])
    n0, n1 = totals[:, own]
    gain = np.cumsum(np.where(inside, n0, -n1))
    # Where a class begins, those before it have added up to 0: members times non-members, minus the same.
    last = np.append((scores[1:] != scores[:-1]) | (own[1:] != own[:-1]), True)
    scores, own, gain = scores[last], own[last], gain[last]
    first = np.lexsort(
        (np.arange(len(own)), -gain, own)
    )  # of each class the largest gain, the highest score among equals
    best = first[np.append(True, own[first][1:] != own[first][:-1])] if len(own) else first
    thresholds = np.full(len(classes), np.nan)
    thresholds[own[best]] = np.where(totals[:, own[best]].all(axis=0), scores[best], np.nan)
    return np.where(codes >= 0, thresholds[codes], np.nan)
