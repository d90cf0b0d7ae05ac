"""The threshold that tells members from non-members best, for whoever knows the truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guestlist.arrays.samples import paired

MANY = 2**19  # points; more are sorted into buckets first, and only the buckets that may hold the best are gone through
_BUCKETS = 2**16


def best_threshold(scores: np.ndarray, member: np.ndarray) -> float:
    """The observed score that, as a threshold, maximises TPR - FPR; among equals the one that calls fewest.

    Knows the truth, so it is for records other than those it is then applied to. NaN scores are left out.
    """
    scores, member = paired(scores, member)
    if member.all() or not member.any():
        raise ValueError("Expected both members and non-members to choose a threshold, found one kind.")
    order = np.argsort(-scores)  # not stable, which is slower: ties are called together
    ranked, is_member = scores[order], member[order]
    # Counts, not rates, so that equal advantages compare equal.
    n1, n0 = member.sum(), (~member).sum()
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
    counts = np.zeros((2, _BUCKETS), dtype=np.int64)  # non-members and members, the highest scores first
    for scores, inside in rows():
        counts += np.bincount(_bucket(scores) + _BUCKETS * inside, minlength=2 * _BUCKETS).reshape(2, -1)
    n0, n1 = (int(total) for total in counts.sum(axis=1))
    if not n0 or not n1:
        return float("nan")
    after = np.cumsum(counts[1] * n0 - counts[0] * n1)
    before = after - counts[1] * n0 + counts[0] * n1
    there = counts.any(axis=0)
    candidate = there & (before + counts[1] * n0 >= after[there].max())
    found = [(scores[here], inside[here]) for scores, inside in rows() for here in [candidate[_bucket(scores)]]]
    scores, inside = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(-scores)
    ranked, inside = scores[order], inside[order]
    bucket = _bucket(ranked)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    gain = np.cumsum(np.where(inside, n0, -n1))
    # Between two candidates there are buckets that were left out: what they change is made up for at each start.
    own = np.append(0, gain)[starts]
    gain += np.repeat(before[bucket[starts]] - own, np.diff(np.append(starts, len(ranked))))
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


def _bucket(scores: np.ndarray) -> np.ndarray:
    """The number of each score's bucket, 0 for the highest: the first bits of a float, in an order that rises with it."""
    bits = (scores + 0.0).view(np.int64)  # -0.0 and 0.0 are one score
    rising = np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)
    return _BUCKETS // 2 - 1 - (rising >> 48)
