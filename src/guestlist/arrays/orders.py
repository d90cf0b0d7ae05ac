"""The order of scores, found once for all who ask: of very many scores, to sort them is most of what a figure costs."""

from __future__ import annotations

import weakref

import numpy as np

MANY = 100_000  # scores; the order of fewer is found anew
_known: dict[int, tuple[weakref.ref, np.ndarray]] = {}


def cached_argsort(scores: np.ndarray) -> np.ndarray:
    """(records,) positions of scores from the lowest to the highest, NaN last; equals stand in any order.

    Of an array that nobody can change (see :func:`frozen_take`) it is remembered as long as the array is there.

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


def frozen_take(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some of the scores, by mask, as an array that nobody can change."""
    found = scores if rows.all() and scores.base is None else scores[rows]
    found.flags.writeable = False
    return found
