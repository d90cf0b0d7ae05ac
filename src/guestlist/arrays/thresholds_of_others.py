"""The best threshold for every target at once: one sort in all, then hardly more than one pass over the points.

The sorted points are cut into chunks. For each target, the gain (members above times all non-members, minus
non-members above times all members) at a chunk's start follows from counts per chunk and target. Within the
chunk it can rise by no more than the chunk's members allow, so only chunks that may hold the maximum are gone
through point by point.

Imports numba, so it is itself imported only where a :class:`Rotation` is scored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CHUNK = 256


def leave_block_out_thresholds(
    scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int, *, chunk: int = CHUNK
) -> np.ndarray:
    """(blocks,) what ``best_threshold`` gives on the points of all the other blocks; NaN where those are of one kind.

    Args:
        scores: (points,) without NaN.
        member: (points,) the truth.
        block: (points,) which block each point belongs to, from 0.
        chunk: points that are taken together; changes the time, not the result.
    """
    order = np.argsort(-scores)
    scores, member, block = scores[order], member[order], block[order].astype(np.int64)
    edges = _edges(scores, chunk)
    counts = _counts(member, block, edges, blocks)
    return _sweep(scores, member, block, edges, counts)


def _edges(scores: np.ndarray, chunk: int) -> np.ndarray:
    """Where chunks begin, and the end: only between different scores, since ties are called together."""
    starts_run = np.ones(len(scores), dtype=bool)
    starts_run[1:] = scores[1:] != scores[:-1]
    runs = np.flatnonzero(starts_run)
    starts = runs[np.searchsorted(runs, np.arange(0, len(scores), chunk), side="right") - 1]
    return np.append(np.unique(starts), len(scores))


def _counts(member: np.ndarray, block: np.ndarray, edges: np.ndarray, blocks: int) -> np.ndarray:
    """(2, chunks, blocks) non-members and members of each block in each chunk."""
    chunks = len(edges) - 1
    of_chunk = np.repeat(np.arange(chunks), np.diff(edges))
    cell = (member * chunks + of_chunk) * blocks + block
    return np.bincount(cell, minlength=2 * chunks * blocks).reshape(2, chunks, blocks)


@njit(cache=True)
def _sweep(scores, member, block, edges, counts):  # pragma: no cover: compiled
    chunks, blocks = counts.shape[1:]
    per_chunk = counts.sum(axis=2)
    inside, outside = counts[1].sum(axis=0), counts[0].sum(axis=0)
    best = np.full(blocks, np.nan)
    for b in range(blocks):
        n1, n0 = inside.sum() - inside[b], outside.sum() - outside[b]
        if n1 == 0 or n0 == 0:
            continue
        gain, reached = 0, np.iinfo(np.int64).min
        for c in range(chunks):
            gain += (per_chunk[1, c] - counts[1, c, b]) * n0 - (per_chunk[0, c] - counts[0, c, b]) * n1
            reached = max(reached, gain)
        gain, most = 0, np.iinfo(np.int64).min
        for c in range(chunks):
            rise = (per_chunk[1, c] - counts[1, c, b]) * n0
            if gain + rise < reached:
                gain += rise - (per_chunk[0, c] - counts[0, c, b]) * n1
                continue
            # Downwards through the scores; a gain counts once a run of equals is over.
            last, started = 0.0, False
            for i in range(edges[c], edges[c + 1]):
                if block[i] == b:
                    continue
                if started and scores[i] != last and gain > most:
                    most, best[b] = gain, last
                gain += n0 if member[i] else -n1
                last, started = scores[i], True
            if started and gain > most:
                most, best[b] = gain, last
    return best
