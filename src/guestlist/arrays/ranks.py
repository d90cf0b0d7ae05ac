"""AUCs and ranks of many targets at once, as plain numbers without intervals."""

from __future__ import annotations

import numpy as np


def aucs(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Compute the area under the ROC curve of each row, by Mann-Whitney with mid-ranks.

    Args:
        scores: (targets, records) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (targets, records) True for members.

    Returns:
        (targets,) AUCs; NaN for a row without scored members or non-members.

    >>> aucs(np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), np.array([[False, True, False], [True, True, False]]))
    array([0.75, 0.5 ])
    """
    from guestlist.arrays.rank_sums import doubled_rank_sums  # imports numba

    scores = np.require(scores, np.float64, ["C", "W"])  # one memory layout, so that the loop is compiled once
    known = ~np.isnan(scores)
    inside = np.ascontiguousarray(member & known)
    members = np.count_nonzero(inside, axis=1)
    scored = np.count_nonzero(known, axis=1)
    order = np.argsort(scores, axis=1)  # NaN last
    sums = doubled_rank_sums(scores, order, inside, scored) / 2  # Halves are exact.
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: only members or only non-members.
        return (sums - members * (members + 1) / 2) / (members * (scored - members))


def ecdf_counts(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Count, for each value, the selected values of its row that are smaller, at most as large, and all.

    Args:
        values: (rows, n); the counts for NaN have no meaning.
        mask: (rows, n) Values that count; false where a value is NaN.

    Returns:
        (3, rows, n).

    >>> ecdf_counts(np.array([[3.0, 1.0, 3.0, 2.0]]), np.array([[True, True, True, False]])).astype(int).tolist()
    [[[1, 0, 1, 1]], [[3, 1, 3, 1]], [[3, 3, 3, 3]]]
    """
    order = np.argsort(values, axis=1)
    first, last = tie_ends(np.take_along_axis(values, order, axis=1))
    # cumulative[:, j] is the number of selected values among the j smallest.
    cumulative = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(np.take_along_axis(mask, order, axis=1), axis=1, out=cumulative[:, 1:])
    counts = np.empty((3, *values.shape))
    for part, ends in zip(counts, (first, last + 1), strict=False):
        np.put_along_axis(part, order, np.take_along_axis(cumulative, ends, axis=1), axis=1)
    counts[2] = cumulative[:, -1:]
    return counts


def tie_ends(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last position of each entry's run of equal values; each row of ``ordered`` is sorted."""
    positions = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    starts = np.ones(ordered.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(starts, positions, 0), axis=1)
    ends = np.ones(ordered.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    backwards = np.where(ends, positions, ordered.shape[1] - 1)[:, ::-1]
    return first, np.minimum.accumulate(backwards, axis=1)[:, ::-1]
