"""The ROC curve as points to draw, thinned so that neither a linear nor a logarithmic plot shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.samples import paired, weights_of

MOST_POINTS = 400


@dataclass(frozen=True)
class Roc:
    """Corners of a ROC curve from (0, 0) to (1, 1), both arrays rising; join them by straight lines.

    Tied scores make a slanted piece, whose area is what mid-ranks count.
    """

    fpr: np.ndarray
    tpr: np.ndarray


def roc(scores: np.ndarray, member: np.ndarray, *, weights: np.ndarray | None = None) -> Roc:
    """The ROC curve in at most 400 points, each of them exact; NaN scores are left out.

    Points are left out where they crowd: what remains is spread evenly along the curve, its length taken
    in linear and in logarithmic axes together. A rising curve stays in the boxes that neighbouring points
    span, so in either plot it moves by at most 1 % of an axis. Without scored members or non-members: the
    two end points alone.

    Args:
        weights: (records,) how much each non-member counts; those of members are not read. By default all alike.
    """
    weights = weights_of(weights, scores)
    scores, member = paired(scores, member)
    if member.all() or not member.any():
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    order = np.argsort(-scores, kind="stable")
    ranked, is_member = scores[order], member[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    tpr = np.concatenate([[0], np.cumsum(is_member)[last]]) / member.sum()
    false = ~is_member if weights is None else np.where(is_member, 0.0, weights[order])
    false = np.concatenate([[0], np.cumsum(false)[last]])
    fpr = false / false[-1]
    kept = _corners(fpr, tpr)
    kept = kept[_spread(fpr[kept], tpr[kept])]
    return Roc(fpr[kept], tpr[kept])


def _corners(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Indices of the ends and of the points where the curve turns; the others add nothing."""
    across, up = np.diff(fpr), np.diff(tpr)
    straight = np.isclose(across[1:] * up[:-1], across[:-1] * up[1:], rtol=1e-9, atol=0)
    return np.flatnonzero(np.concatenate([[True], ~straight, [True]]))


def _spread(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Indices of at most ``MOST_POINTS`` points, evenly spread along four axes, each of length 1."""
    if len(fpr) <= MOST_POINTS:
        return np.arange(len(fpr))
    length = fpr + tpr + _log_axis(fpr) + _log_axis(tpr)
    marks = np.linspace(0, length[-1], MOST_POINTS)
    kept = np.unique(np.searchsorted(length, marks, "left").clip(0, len(fpr) - 1))
    return np.union1d(kept, [0, len(fpr) - 1])


def _log_axis(rate: np.ndarray) -> np.ndarray:
    """Position on a logarithmic axis from just below the smallest positive rate (0) to 1 (1)."""
    smallest = rate[rate > 0].min() / 2
    return 1 - np.log(np.maximum(rate, smallest)) / np.log(smallest)
