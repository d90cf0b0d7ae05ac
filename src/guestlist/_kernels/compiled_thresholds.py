"""Compiled search for the best threshold of every target."""

import numpy as np
from numba import njit

from guestlist._kernels.ranks import tie_runs

CHUNK = 256


def leave_block_out_thresholds(
    scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int, *, chunk: int = CHUNK
) -> np.ndarray:
    """Find the best threshold on the points of all other blocks, for each block.

    Args:
        scores: (points,) without NaN.
        member: (points,) Membership.
        block: (points,) Block of each point, from 0.
        blocks: Number of blocks.
        chunk: Points that are processed together; changes the time, not the result.

    Returns:
        (blocks,) thresholds; NaN where the other blocks lack members or non-members.
    """
    order = np.argsort(-scores)
    scores = scores[order]
    member = member[order]
    block = block[order].astype(np.int64)
    edges = _chunk_edges(scores, chunk)
    counts = _chunk_counts(member, block, edges, blocks)
    # Sums over an axis take numba seconds to compile.
    return _scan_chunks(scores, member, block, edges, counts, counts.sum(axis=2), counts.sum(axis=1))


def _chunk_edges(scores: np.ndarray, chunk: int) -> np.ndarray:
    """Return the starts of the chunks and the end; only between different scores, since ties are flagged together."""
    runs, _ = tie_runs(scores)
    starts = runs[np.searchsorted(runs, np.arange(0, len(scores), chunk), side="right") - 1]
    return np.append(np.unique(starts), len(scores))


def _chunk_counts(member: np.ndarray, block: np.ndarray, edges: np.ndarray, blocks: int) -> np.ndarray:
    """(2, chunks, blocks) numbers of non-members and members of each block in each chunk."""
    chunks = len(edges) - 1
    of_chunk = np.repeat(np.arange(chunks), np.diff(edges))
    cell = (member * chunks + of_chunk) * blocks + block
    return np.bincount(cell, minlength=2 * chunks * blocks).reshape(2, chunks, blocks)


@njit(cache=True)
def _scan_chunks(scores, member, block, edges, counts, per_chunk, per_block):  # pragma: no cover: compiled
    chunks, blocks = counts.shape[1:]
    outside = 0
    inside = 0
    for b in range(blocks):
        outside += per_block[0, b]
        inside += per_block[1, b]
    best = np.full(blocks, np.nan)
    for b in range(blocks):
        n1 = inside - per_block[1, b]
        n0 = outside - per_block[0, b]
        if n1 == 0 or n0 == 0:
            continue
        gain = 0
        reached = np.iinfo(np.int64).min
        for c in range(chunks):
            gain += (per_chunk[1, c] - counts[1, c, b]) * n0 - (per_chunk[0, c] - counts[0, c, b]) * n1
            reached = max(reached, gain)
        gain = 0
        best_gain = np.iinfo(np.int64).min
        for c in range(chunks):
            rise = (per_chunk[1, c] - counts[1, c, b]) * n0
            if gain + rise < reached:
                gain += rise - (per_chunk[0, c] - counts[0, c, b]) * n1
                continue
            # Downwards through the scores; a gain counts once a run of ties has ended.
            last = 0.0
            started = False
            for i in range(edges[c], edges[c + 1]):
                if block[i] == b:
                    continue
                if started and scores[i] != last and gain > best_gain:
                    best_gain = gain
                    best[b] = last
                gain += n0 if member[i] else -n1
                last = scores[i]
                started = True
            if started and gain > best_gain:
                best_gain = gain
                best[b] = last
    return best
