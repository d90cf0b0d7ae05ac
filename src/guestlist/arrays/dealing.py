"""Sides dealt out at random, many times over.

Imports numba, so it is itself imported only where chance is asked.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def permute_labels(side: np.ndarray, places: np.ndarray, dealt: np.ndarray, rng: np.random.Generator) -> None:
    """Deal the sides of some places out among them, anew in every row of ``dealt`` (draws, all places).

    Args:
        side: (places,) true for members; as many are members in every draw.
        places: where these stand in a row.
    """
    rarer = 2 * side.sum() <= len(side)  # it is enough to draw who is on the smaller side
    few = int(side.sum() if rarer else (~side).sum())
    _deal(rng.random((len(dealt), few)), places.astype(np.int64), dealt, bool(rarer))


@njit(cache=True)
def _deal(chances, places, dealt, side):  # pragma: no cover: compiled
    """The first steps of a shuffle (Durstenfeld 1964), which may begin with any order, so with that of the draw before."""
    order, size = places.copy(), len(places)
    for d in range(len(chances)):
        for place in places:
            dealt[d, place] = not side
        for i in range(chances.shape[1]):
            j = i + int(chances[d, i] * (size - i))
            order[i], order[j] = order[j], order[i]
            dealt[d, order[i]] = side
