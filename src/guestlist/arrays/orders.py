"""Cached order of scores: for very many scores, sorting is most of the cost of a metric."""

from __future__ import annotations

import weakref

import numpy as np

MANY = 100_000  # scores; the order of fewer is not cached
_known: dict[int, tuple[weakref.ref, np.ndarray]] = {}


def cached_argsort(scores: np.ndarray) -> np.ndarray:
    """Return the positions of scores from the lowest to the highest, NaN last; ties are in any order.

    The order of a read-only array (see :func:`frozen_take`) is cached as long as the array exists.

    >>> cached_argsort(np.array([0.5, np.nan, 0.25])).tolist()
    [2, 0, 1]
    """
    if len(scores) < MANY or scores.flags.writeable or scores.base is not None:
        return np.argsort(scores)
    key = id(scores)
    if key not in _known:
        order = np.argsort(scores)
        order.flags.writeable = False
        _known[key] = weakref.ref(scores, lambda _: _known.pop(key, None)), order
    return _known[key][1]


def frozen_take(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the scores that a mask selects, as a read-only array."""
    selected = scores if mask.all() and scores.base is None else scores[mask]
    selected.flags.writeable = False
    return selected
