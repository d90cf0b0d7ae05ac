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
    scores = np.asarray(scores, dtype=np.float64)
    scored = ~np.isnan(scores)
    members, scored_count = (member & scored).sum(axis=1), scored.sum(axis=1)
    ranks = np.where(member & scored, mid_ranks(scores), 0.0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: one kind only
        return (ranks - members * (members + 1) / 2) / (members * (scored_count - members))


def mid_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 within each row, equal values sharing the mean of theirs; NaN ranks last."""
    order = np.argsort(values, axis=1)
    first, last = tie_ends(np.take_along_axis(values, order, axis=1))
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


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
