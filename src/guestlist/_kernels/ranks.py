"""Ranks, AUCs of many targets, and empirical distribution functions."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist._kernels.samples import rows_by_label, take_columns

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
    if mask.all() and scores.base is None:
        selected = scores
    else:
        selected = scores[mask]
    selected.flags.writeable = False
    return selected


def aucs(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Compute the area under the ROC curve of each row, by Mann-Whitney with mid-ranks.

    Args:
        scores: (targets, records) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (targets, records) True for members.

    Returns:
        (targets,) AUCs; NaN for a row without scored members or non-members.

    >>> aucs(np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), np.array([[False, True, False], [True, True, False]]))
    array([0.75, 0.5 ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(scores)
    inside = member & known
    members = np.count_nonzero(inside, axis=1)
    scored = np.count_nonzero(known, axis=1)
    sums = np.empty(len(scores))
    for k, row in enumerate(scores):
        order = np.argsort(row)[: scored[k]]  # NaN last
        starts, sizes = tie_runs(row[order])
        tied_members = np.add.reduceat(inside[k, order].astype(np.int64), starts)
        sums[k] = tied_members @ (2 * starts + sizes + 1) / 2  # ranks from 1; half-integers are exact
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: only members or only non-members.
        return (sums - members * (members + 1) / 2) / (members * (scored - members))


def tie_runs(ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first position and the size of each run of equal values in sorted (n,) values.

    >>> [part.tolist() for part in tie_runs(np.array([0.5, 0.5, 2.0]))]
    [[0, 2], [2, 1]]
    """
    is_first = np.ones(len(ranked), dtype=bool)
    is_first[1:] = ranked[1:] != ranked[:-1]
    starts = np.flatnonzero(is_first)
    return starts, np.diff(starts, append=len(ranked))


def share_above(values: np.ndarray, others: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(records,) share of the models in ``mask`` with a larger value; NaN where there is none.

    Args:
        values: (records,) Values of the target.
        others: (models, records).
        mask: (models, records) Values that count.
    """
    wins = (mask & (others > values)).sum(axis=0) + 0.5 * (mask & (others == values)).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies.
        return wins / mask.sum(axis=0)


def leave_block_out_share_above(values: np.ndarray, mask: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """(models, records) share above for every model as target, among the models of other blocks.

    Args:
        values: (models, records).
        mask: (models, records) Values that count.
        blocks: (models,) Models with equal labels are excluded together.
    """
    shares = np.empty(values.shape)
    for k, block in enumerate(blocks):
        shares[k] = share_above(values[k], values, mask & (blocks != block)[:, None])
    return shares


@dataclass(frozen=True)
class ClassEcdf:
    """Rank of each target value among the references' values on non-members of the record's class.

    A class without non-members uses those of all classes. Arrays are NaN where the target has no value.

    Args:
        below: Number of smaller reference values.
        up_to: Number of reference values that are smaller or equal.
        count: Number of reference values.
    """

    below: np.ndarray
    up_to: np.ndarray
    count: np.ndarray


def class_ecdf(
    values: np.ndarray, others: np.ndarray, member: np.ndarray, labels: np.ndarray, rows: np.ndarray | None = None
) -> ClassEcdf:
    """Rank the values of one target; arrays are (records,).

    Args:
        values: (records,) Values of the target.
        others: (references, records) NaN where a reference was not queried.
        member: (references, records) Training membership.
        labels: (records,) Classes.
        rows: Records that the columns of ``others`` and ``member`` belong to; by default all.
    """
    reference_labels = labels if rows is None else labels[rows]
    columns_of = {int(reference_labels[columns[0]]): columns for columns in rows_by_label(reference_labels)}

    def within(records: np.ndarray) -> np.ndarray:
        if len(records) == len(labels):
            columns = np.arange(len(reference_labels))
        else:
            columns = columns_of[int(labels[records[0]])]
        return _ecdf_counts_outside(others, member, columns, values[records])

    return _by_class(values, labels, within)


def class_ecdf_of_others(values: np.ndarray, member: np.ndarray, labels: np.ndarray, blocks: np.ndarray) -> ClassEcdf:
    """Rank every model in turn as the target among the models of other blocks; arrays are (models, records)."""
    outside = ~member & ~np.isnan(values)
    block = np.unique(blocks, return_inverse=True)[1]

    def within(records: np.ndarray) -> np.ndarray:
        return ecdf_counts_of_others(take_columns(values, records), take_columns(outside, records), block)

    return _by_class(values, labels, within)


def ecdf_counts_of_others(values: np.ndarray, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Count, for each value, the values of models in other blocks that are smaller, at most as large, and all.

    Args:
        values: (models, records); the counts for NaN have no meaning.
        mask: (models, records) Values that count; false where a value is NaN.
        block: (models,) Block number of each model, from 0.

    Returns:
        (3, models, records).
    """
    flat = np.ascontiguousarray(values).ravel()
    order = np.argsort(flat)
    selected = np.ascontiguousarray(mask).ravel()[order]
    block_of = np.repeat(block, values.shape[1])[order]
    starts, sizes = tie_runs(flat[order])
    first = np.repeat(starts, sizes)
    end = np.repeat(starts + sizes, sizes)
    selected_before = np.append(0, np.cumsum(selected))  # number of selected values among the lowest i
    counts = np.empty((3, flat.size))
    for in_block in rows_by_label(block_of):
        selected_in_block = in_block[selected[in_block]]
        positions = order[in_block]
        counts[0, positions] = selected_before[first[in_block]] - np.searchsorted(selected_in_block, first[in_block])
        counts[1, positions] = selected_before[end[in_block]] - np.searchsorted(selected_in_block, end[in_block])
        counts[2, positions] = selected_before[-1] - len(selected_in_block)
    return counts.reshape(3, *values.shape)


def _by_class(values: np.ndarray, labels: np.ndarray, within: Callable[[np.ndarray], np.ndarray]) -> ClassEcdf:
    counts = np.zeros((3, *values.shape))
    for records in rows_by_label(labels):
        counts[..., records] = within(records)
    missing = counts[2] == 0
    if missing.any():
        counts[:, missing] = within(np.arange(len(labels)))[:, missing]
    counts[:, np.isnan(values)] = np.nan
    return ClassEcdf(*counts)


def _outside_values(values: np.ndarray, member: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Collect the values of models on those of the records that they did not train on."""
    rows = (row[records][~trained[records]] for row, trained in zip(values, member, strict=True))
    return np.concatenate([np.empty(0, values.dtype), *(row[~np.isnan(row)] for row in rows)])


def _ecdf_counts_outside(others: np.ndarray, member: np.ndarray, records: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(3, records) numbers of values of models on non-members: smaller, smaller or equal, and all."""
    distinct, which = np.unique(values, return_inverse=True)  # Sorted values are searched faster.
    outside = _outside_values(others, member, records)
    outside.sort()
    if np.array_equal(distinct, distinct.astype(outside.dtype), equal_nan=True):
        distinct = distinct.astype(outside.dtype)  # A search in single precision copies nothing.
    below, up_to = (np.searchsorted(outside, distinct, side=side) for side in ("left", "right"))
    return np.stack([below[which], up_to[which], np.full(values.shape, len(outside))]).astype(np.float64)
