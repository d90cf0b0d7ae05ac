"""Thresholds that best separate members from non-members, where membership is known."""

import numpy as np

from guestlist._kernels.ranks import cached_argsort, tie_runs
from guestlist._kernels.samples import MANY_CELLS, drop_unscored, rows_by_label, take_columns


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


def leave_block_out_thresholds(scores: np.ndarray, member: np.ndarray, block: np.ndarray, blocks: int) -> np.ndarray:
    """Find the best threshold on the points of all other blocks, for each block.

    Args:
        scores: (points,) without NaN.
        member: (points,) Membership.
        block: (points,) Block of each point, from 0.
        blocks: Number of blocks.

    Returns:
        (blocks,) thresholds; NaN where the other blocks lack members or non-members.
    """
    if len(scores) * blocks <= MANY_CELLS:
        order = np.argsort(-scores)
        return _thresholds_without_blocks(scores[order], member[order], block[order], blocks)
    from guestlist._kernels import compiled_thresholds  # imports numba

    return compiled_thresholds.leave_block_out_thresholds(scores, member, block, blocks)


def _thresholds_without_blocks(ranked: np.ndarray, inside: np.ndarray, block: np.ndarray, blocks: int) -> np.ndarray:
    """Return the best threshold of scores in falling order, for each block on the points of all other blocks."""
    in_block = np.bincount(block, minlength=blocks)
    members_in_block = np.bincount(block[inside], minlength=blocks)
    n1 = inside.sum() - members_in_block
    n0 = len(ranked) - in_block - n1
    known = (n0 > 0) & (n1 > 0)
    if not known.any():
        return np.full(blocks, np.nan)
    gain = np.where(inside, n0[:, None], -n1[:, None])
    gain[block, np.arange(len(block))] = 0
    np.cumsum(gain, axis=1, out=gain)
    # A score above all points of the other blocks is no candidate, and of equal scores only the last is. The best
    # candidate has a gain of at least 0, so -1 excludes the others.
    gain[block[0], : np.argmax(block != block[0])] = -1
    gain[:, np.flatnonzero(ranked[1:] == ranked[:-1])] = -1
    return np.where(known, ranked[np.argmax(gain, axis=1)], np.nan).astype(np.float64)


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
