"""The best threshold for every target at once: one sort in all, then one pass over the points per target.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def thresholds_of_others(scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int) -> np.ndarray:
    """(blocks,) what ``best_threshold`` gives on the points of all the other blocks; NaN where those are of one kind.

    Args:
        scores: (points,) without NaN.
        member: (points,) the truth.
        block: (points,) which block each point belongs to, from 0.
    """
    order = np.argsort(-scores)
    return _sweep(scores[order], member[order], block[order].astype(np.int64), blocks)


@njit(cache=True)
def _sweep(scores, member, block, blocks):  # pragma: no cover: compiled
    inside, outside = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
    for i in range(len(scores)):
        if member[i]:
            inside[block[i]] += 1
        else:
            outside[block[i]] += 1
    n1, n0 = inside.sum() - inside, outside.sum() - outside
    best = np.full(blocks, np.nan)
    for b in range(blocks):
        if n1[b] == 0 or n0[b] == 0:
            continue
        # Downwards through the scores; ties are called together, so a gain counts once a run of equals is over.
        gain, most, last, started = 0, np.iinfo(np.int64).min, 0.0, False
        for i in range(len(scores)):
            if block[i] == b:
                continue
            if started and scores[i] != last and gain > most:
                most, best[b] = gain, last
            gain += n0[b] if member[i] else -n1[b]
            last, started = scores[i], True
        if gain > most:
            best[b] = last
    return best
