"""Thresholds that best separate members from non-members, where membership is known."""

import numpy as np

from guestlist._kernels.ranks import cached_argsort, tie_runs
from guestlist._kernels.samples import drop_unscored, rows_by_label, take_columns

CHUNK = 128  # points; the numbers of larger chunks bound the advantage less tightly
MOST_COUNTS = 2**22  # chunks times blocks: bounds the memory to some hundreds of megabytes


def best_threshold(scores: np.ndarray, member: np.ndarray) -> float:
    """Return the observed score that, as a threshold, maximises TPR - FPR; the highest among equals.

    It uses true membership, so apply it to other records than those it was chosen on.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.

    Returns:
        The threshold; records with at least this score are flagged.

    Examples:
        >>> float(gl.metrics.best_threshold(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, False, True, True])))
        0.6
    """
    scores, member = drop_unscored(scores, member)
    order = cached_argsort(scores)[::-1]  # Ties may be in any order, because they are flagged together.
    return best_threshold_sorted(scores[order], member[order])


def best_threshold_sorted(ranked: np.ndarray, is_member: np.ndarray) -> float:
    """Return the best threshold of scores in falling order, without NaN."""
    if is_member.all() or not is_member.any():
        raise ValueError("Expected both members and non-members to choose a threshold, found only one of them.")
    # Counts instead of rates, so that equal advantages compare equal.
    n1 = is_member.sum()
    n0 = (~is_member).sum()
    gain = np.cumsum(is_member) * n0 - np.cumsum(~is_member) * n1
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])


def class_thresholds(values: np.ndarray, member: np.ndarray, labels: np.ndarray, sign: int) -> np.ndarray:
    """Return :func:`best_threshold` of ``sign`` times the values of all rows, for each record's class.

    Args:
        values: (models, records) NaN is ignored.
        member: (models, records) Training membership.
        labels: (records,) Classes; a negative label means no class.
        sign: 1 or -1.

    Returns:
        (records,) thresholds; NaN where members or non-members of the class are missing.
    """
    thresholds = np.full(len(labels), np.nan)
    for records in rows_by_label(labels):
        thresholds[records] = overall_threshold(take_columns(values, records), take_columns(member, records), sign)
    return thresholds


def overall_threshold(values: np.ndarray, member: np.ndarray, sign: int) -> float:
    """Return :func:`best_threshold` of ``sign`` times all values; NaN without both members and non-members.

    Only values of members can be best: at any other value the next higher one has fewer false positives.

    Args:
        values: (models, records) NaN is ignored.
        member: (models, records) Training membership.
        sign: 1 or -1.
    """
    known = ~np.isnan(values)
    members = np.sort(sign * values[known & member])
    nonmembers = np.sort(sign * values[known & ~member])
    if not len(members) or not len(nonmembers):
        return float("nan")
    starts, _ = tie_runs(members)
    candidates = members[starts]
    true_positives = len(members) - starts
    false_positives = len(nonmembers) - np.searchsorted(nonmembers, candidates)
    # Counts instead of rates, so that equal advantages compare equal.
    gain = true_positives * len(nonmembers) - false_positives * len(members)
    return float(candidates[np.flatnonzero(gain == gain.max())[-1]])


def leave_block_out_thresholds(
    scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int, *, chunk: int = CHUNK
) -> np.ndarray:
    """Find the best threshold on the points of all other blocks, for each block.

    Only chunks of points in which the advantage can reach its largest value at the end of a chunk are searched.

    Args:
        scores: (points,) without NaN.
        member: (points,) Membership.
        block: (points,) Block of each point, from 0.
        blocks: Number of blocks.
        chunk: Smallest number of points of a chunk; changes the time, not the result.

    Returns:
        (blocks,) thresholds; NaN where the other blocks lack members or non-members.
    """
    order = np.argsort(-scores)
    ranked = scores[order]
    inside = member[order]
    block = block[order]
    edges = _chunk_edges(ranked, max(chunk, len(scores) * blocks // MOST_COUNTS))
    sizes = np.diff(edges)
    counts = _chunk_counts(inside, block, sizes, blocks)
    others = counts.sum(axis=2, keepdims=True) - counts
    # Counts instead of rates, so that equal advantages compare equal.
    n0, n1 = others.sum(axis=1)
    rise = others[1] * n0
    change = rise - others[0] * n1
    gain_after = np.cumsum(change, axis=0)
    gain_before = gain_after - change
    searched = gain_before + rise >= gain_after.max(axis=0, initial=0)
    thresholds = np.full(blocks, np.nan)
    for b in np.flatnonzero((n0 > 0) & (n1 > 0)):
        points = np.flatnonzero(np.repeat(searched[:, b], sizes) & (block != b))
        steps = np.where(inside[points], n0[b], -n1[b])
        gain = np.cumsum(steps)
        ends = np.searchsorted(points, edges)
        points_in_chunk = np.diff(ends)
        chunks = np.flatnonzero(points_in_chunk)
        gain += np.repeat(gain_before[chunks, b] - (gain - steps)[ends[chunks]], points_in_chunk[chunks])
        candidates = ranked[points]
        last = np.flatnonzero(np.append(candidates[1:] != candidates[:-1], True))
        thresholds[b] = candidates[last[np.argmax(gain[last])]]
    return thresholds


def _chunk_edges(ranked: np.ndarray, chunk: int) -> np.ndarray:
    """Return the starts of the chunks and the end; only between different scores, since ties are flagged together."""
    runs, _ = tie_runs(ranked)
    starts = runs[np.searchsorted(runs, np.arange(0, len(ranked), chunk), side="right") - 1]
    return np.append(np.unique(starts), len(ranked))


def _chunk_counts(member: np.ndarray, block: np.ndarray, sizes: np.ndarray, blocks: int) -> np.ndarray:
    """(2, chunks, blocks) numbers of non-members and members of each block in each chunk."""
    chunk_of = np.repeat(np.arange(len(sizes)), sizes)
    cell = (member * len(sizes) + chunk_of) * blocks + block
    return np.bincount(cell, minlength=2 * len(sizes) * blocks).reshape(2, len(sizes), blocks)


def lookup_thresholds(thresholds: np.ndarray, labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the thresholds of other records' classes; NaN for a class without a threshold.

    Args:
        thresholds: (records,) Threshold of each record's class.
        labels: (records,) Classes of these records.
        others: (others,) Classes of the other records.

    >>> lookup_thresholds(np.array([0.5, 0.25]), np.array([1, 3]), np.array([3, 3, 1, 2]))
    array([0.25, 0.25, 0.5 ,  nan])
    """
    classes, first = np.unique(labels, return_index=True)
    position = np.searchsorted(classes, others).clip(max=len(classes) - 1)
    return np.where(classes[position] == others, thresholds[first][position], np.nan)
