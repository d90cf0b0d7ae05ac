"""AUCs of many targets at once, as plain numbers: for choosing and self-tests, which average over them."""

from __future__ import annotations

import numpy as np


def aucs(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(targets,) area under the ROC curve of each row, by Mann-Whitney with mid-ranks.

    Args:
        scores: (targets, records) higher means likelier member; infinities are fine, NaN is left out.
        member: (targets, records) the truth.

    Returns:
        NaN for a row without scored members or non-members.

    >>> aucs(np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), np.array([[False, True, False], [True, True, False]]))
    array([0.75, 0.5 ])
    """
    from guestlist.arrays.rank_sums import doubled_rank_sums  # imports numba

    scores = np.require(scores, np.float64, ["C", "W"])  # in order, and such as may be written to: compiled once
    known = ~np.isnan(scores)
    inside = np.ascontiguousarray(member & known)
    members, scored = np.count_nonzero(inside, axis=1), np.count_nonzero(known, axis=1)
    order = np.argsort(scores, axis=1)  # NaN last
    sums = doubled_rank_sums(scores, order, inside, scored) / 2  # halves, which are exact
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: one kind only
        return (sums - members * (members + 1) / 2) / (members * (scored - members))


def ecdf_counts(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(3, rows, n): of the values of its row that ``mask`` selects, how many are smaller than each, no larger, and all.

    Args:
        values: (rows, n); what is said of NaN means nothing.
        mask: (rows, n) what counts; false where a value is NaN.

    >>> ecdf_counts(np.array([[3.0, 1.0, 3.0, 2.0]]), np.array([[True, True, True, False]])).astype(int).tolist()
    [[[1, 0, 1, 1]], [[3, 1, 3, 1]], [[3, 3, 3, 3]]]
    """
    order = np.argsort(values, axis=1)
    first, last = tie_ends(np.take_along_axis(values, order, axis=1))
    # running[:, j]: how many that count are among the j smallest.
    running = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(np.take_along_axis(mask, order, axis=1), axis=1, out=running[:, 1:])
    found = np.empty((3, *values.shape))
    for part, ends in zip(found, (first, last + 1), strict=False):
        np.put_along_axis(part, order, np.take_along_axis(running, ends, axis=1), axis=1)
    found[2] = running[:, -1:]
    return found


def tie_ends(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last position of each entry's run of equal values; each row of ``ordered`` is sorted."""
    positions = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    starts = np.ones(ordered.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(starts, positions, 0), axis=1)
    ends = np.ones(ordered.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    backwards = np.where(ends, positions, ordered.shape[1] - 1)[:, ::-1]
    return first, np.minimum.accumulate(backwards, axis=1)[:, ::-1]
