"""Thresholds that best separate members from non-members, where membership is known."""

import numpy as np

from guestlist._kernels.ranks import cached_argsort
from guestlist._kernels.samples import MANY_CELLS, drop_unscored


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
    classes, codes = np.unique(labels, return_inverse=True)
    small_codes = codes.astype(np.min_scalar_type(len(classes)))  # Small integers are sorted faster.
    known = ~np.isnan(values)
    scores = sign * values[known]
    group = np.broadcast_to(small_codes, values.shape)[known]
    order = np.argsort(scores)[::-1]  # Ties may be in any order, because they are flagged together.
    order = order[np.argsort(group[order], kind="stable")]
    thresholds = _sorted_group_thresholds(scores[order], member[known][order], group[order], len(classes))
    return np.where(labels >= 0, thresholds[codes], np.nan)


def _sorted_group_thresholds(ranked: np.ndarray, inside: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the best threshold of each group; NaN without both members and non-members.

    Args:
        ranked: (points,) Scores group by group, each from the highest to the lowest, without NaN.
        inside: (points,) Membership.
        group: (points,) Group number, from 0.
        groups: Number of groups.
    """
    size = np.bincount(group, minlength=groups)
    n1 = np.bincount(group[inside], minlength=groups)
    n0 = size - n1
    # Counts instead of rates, so that equal advantages compare equal. The sum over each group is 0.
    gain = np.cumsum(np.where(inside, n0[group], -n1[group]))
    tied = (ranked[1:] == ranked[:-1]) & (group[1:] == group[:-1])
    gain[:-1][tied] = -1  # The best gain is at least 0, and of equal scores only the last counts.
    occupied = np.flatnonzero(size)
    starts = (np.cumsum(size) - size)[occupied]
    best = np.flatnonzero(gain == np.repeat(np.maximum.reduceat(gain, starts), size[occupied]))
    thresholds = np.full(groups, np.nan)
    thresholds[occupied] = ranked[best[np.searchsorted(best, starts)]]  # the first of each group
    return np.where((n0 > 0) & (n1 > 0), thresholds, np.nan)


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
