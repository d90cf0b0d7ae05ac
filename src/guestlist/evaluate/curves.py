"""The ROC curve as points to draw, thinned so that neither a linear nor a logarithmic plot shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.orders import cached_argsort
from guestlist.arrays.samples import check_share, drop_unscored, scored_weights
from guestlist.evaluate.persons import ROUNDING

MOST_POINTS = 400


@dataclass(frozen=True)
class Roc:
    """Corners of a ROC curve up to (1, 1), both arrays rising; see the function that made them for how to join them."""

    fpr: np.ndarray
    tpr: np.ndarray


def roc(scores: np.ndarray, member: np.ndarray, *, weights: np.ndarray | None = None) -> Roc:
    """The ROC curve from (0, 0) in at most 400 points, each of them exact; NaN scores are left out.

    Join them by straight lines: tied scores make a slanted piece, whose area is what mid-ranks count, as an attacker has it
    who tosses a coin about equal scores. Points are left out where they crowd: what remains is spread evenly along the
    curve, its length taken in linear and in logarithmic axes together. A rising curve stays in the boxes that neighbouring
    points span, so in either plot it moves by at most 1 % of an axis. Without scored members or non-members: the two end
    points alone.

    Args:
        weights: (records,) Weights of the non-members; those of members are ignored. By default all equal.
    """
    points = _points(scores, member, weights)
    if points is None:
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    false, tpr = points
    fpr = false / false[-1]
    selected = _corners(fpr, tpr)
    selected = selected[_thin(fpr[selected], tpr[selected])]
    return Roc(fpr[selected], tpr[selected])


def roc_steps(
    scores: np.ndarray,
    member: np.ndarray,
    *,
    at: np.ndarray | tuple[float, ...] = (),
    weights: np.ndarray | None = None,
) -> Roc:
    """The TPR at every FPR as ``tpr_at_fpr`` has it: stairs on which equal scores are called together or not at all.

    Go from each point to the right, and at the next one up. Thinned like :func:`roc`, so that between points the stairs
    may lie lower than they should, by at most 1 % of an axis; at each of ``at`` they are exact.

    Args:
        at: FPRs that are kept as points.
        weights: as for :func:`roc`.

    >>> roc_steps(np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]), at=(0.25,))
    Roc(fpr=array([0.  , 0.25, 0.5 , 1.  ]), tpr=array([0.5, 0.5, 1. , 1. ]))
    """
    at = np.unique(np.asarray(at, dtype=np.float64))
    check_share(at=at)
    points = _points(scores, member, weights)
    if points is None:
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    false, tpr = points
    fpr = false / false[-1]
    allowed = at * false[-1]
    # Rounded as tpr_at_fpr rounds: a share of 0.29 of 100 people is 29 of them.
    wanted = np.searchsorted(false, allowed + ROUNDING * (1 if weights is None else allowed), "right") - 1
    highest = np.append(np.diff(fpr) > 0, True)  # of the points at one FPR
    exact = tpr[wanted]
    fpr = fpr[highest]
    tpr = tpr[highest]
    rises = np.flatnonzero(np.diff(tpr, prepend=-1.0) > 0)
    selected = np.append(rises, len(fpr) - 1)  # The end is included even if the curve is flat there.
    selected = np.unique(selected[_thin(fpr[selected], tpr[selected])])
    drawn = np.unique(np.stack([np.append(fpr[selected], at), np.append(tpr[selected], exact)]), axis=1)
    return Roc(*drawn)


def _points(scores: np.ndarray, member: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Count the non-members (or their weight) and the share of members down to each distinct score.

    None without scored members or non-members.
    """
    weights = scored_weights(weights, scores)
    scores, member = drop_unscored(scores, member)
    if member.all() or not member.any():
        return None
    order = cached_argsort(scores)[::-1]  # equals in any order: only what is counted down to the end of a tie is kept
    ranked = scores[order]
    is_member = member[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    tpr = np.concatenate([[0], np.cumsum(is_member)[last]]) / member.sum()
    false = ~is_member if weights is None else np.where(is_member, 0.0, weights[order])
    return np.concatenate([[0], np.cumsum(false)[last]]), tpr


def _corners(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Indices of the ends and of the points where the curve turns; the others add nothing."""
    across = np.diff(fpr)
    up = np.diff(tpr)
    straight = np.isclose(across[1:] * up[:-1], across[:-1] * up[1:], rtol=1e-9, atol=0)
    return np.flatnonzero(np.concatenate([[True], ~straight, [True]]))


def _thin(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Indices of at most ``MOST_POINTS`` points, evenly spread along four axes, each of length 1."""
    if len(fpr) <= MOST_POINTS:
        return np.arange(len(fpr))
    length = fpr + tpr + _log_axis(fpr) + _log_axis(tpr)
    marks = np.linspace(0, length[-1], MOST_POINTS)
    selected = np.unique(np.searchsorted(length, marks, "left").clip(0, len(fpr) - 1))
    return np.union1d(selected, [0, len(fpr) - 1])


def _log_axis(rate: np.ndarray) -> np.ndarray:
    """Position on a logarithmic axis from just below the smallest positive rate (0) to 1 (1)."""
    smallest = rate[rate > 0].min() / 2
    return 1 - np.log(np.maximum(rate, smallest)) / np.log(smallest)
