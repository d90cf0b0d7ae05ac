"""Where a target's values stand among those of references on records that these did not train on, class by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.columns import take_columns
from guestlist.arrays.samples import rows_by_label

FEW = 3  # values that are counted one by one, without sorting


@dataclass(frozen=True)
class ClassEcdf:
    """Of the references' values on non-members of a record's class: how many are smaller, no larger, and all.

    A class of which the references have no non-members takes those of all classes. NaN where the target was not asked.
    """

    below: np.ndarray
    up_to: np.ndarray
    count: np.ndarray


def class_ecdf(
    values: np.ndarray, others: np.ndarray, member: np.ndarray, labels: np.ndarray, among: np.ndarray | None = None
) -> ClassEcdf:
    """Of one target: arrays are (records,).

    Args:
        values: (records,) of the target.
        others: (references, records). NaN: not asked.
        member: (references, records) who trained on what.
        labels: (records,) classes.
        among: the records that the columns of others and member are of; by default all.
    """
    theirs = labels if among is None else labels[among]
    of_label = {int(theirs[rows[0]]): rows for rows in rows_by_label(theirs)}

    def within(records: np.ndarray) -> np.ndarray:
        everybody = len(records) == len(labels)
        chosen = np.arange(len(theirs)) if everybody else of_label[int(labels[records[0]])]
        return _counts(others, member, chosen, values[records])

    return _by_class(values, labels, within)


def class_ecdf_of_others(values: np.ndarray, member: np.ndarray, labels: np.ndarray, blocks: np.ndarray) -> ClassEcdf:
    """Of every model in turn as the target, among the models of other blocks: arrays are (models, records)."""
    from guestlist.arrays.counting import ecdf_counts_of_others  # imports numba

    outside, block = ~member & ~np.isnan(values), np.unique(blocks, return_inverse=True)[1]
    return _by_class(
        values,
        labels,
        lambda records: ecdf_counts_of_others(take_columns(values, records), take_columns(outside, records), block),
    )


def _by_class(values: np.ndarray, labels: np.ndarray, within: Callable[[np.ndarray], np.ndarray]) -> ClassEcdf:
    found = np.zeros((3, *values.shape))
    for of_class in rows_by_label(labels):
        found[..., of_class] = within(of_class)
    missing = found[2] == 0
    if missing.any():
        found[:, missing] = within(np.arange(len(labels)))[:, missing]
    found[:, np.isnan(values)] = np.nan
    return ClassEcdf(*found)


def _outside(values: np.ndarray, member: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Values of models on those of the records that they did not train on."""
    rows = (row[records][~trained[records]] for row, trained in zip(values, member, strict=True))
    return np.concatenate([np.empty(0, values.dtype), *(row[~np.isnan(row)] for row in rows)])


def _counts(others: np.ndarray, member: np.ndarray, records: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(3, records) how many values of models on non-members are smaller, how many no larger, and all."""
    asked, which = np.unique(values, return_inverse=True)  # in order, they are found faster
    outside = _outside(others, member, records)
    if len(asked) > FEW:
        outside.sort()
        if np.array_equal(asked, asked.astype(outside.dtype), equal_nan=True):
            asked = asked.astype(outside.dtype)  # searched for in single precision, which copies nothing
        below, up_to = (np.searchsorted(outside, asked, side=side) for side in ("left", "right"))
    else:
        below, up_to = (
            np.array([is_so(outside, value).sum() for value in asked]) for is_so in (np.less, np.less_equal)
        )
    return np.stack([below[which], up_to[which], np.full(values.shape, len(outside))]).astype(np.float64)
