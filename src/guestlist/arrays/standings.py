"""Empirical distribution of reference models' values on non-members, class by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.columns import take_columns
from guestlist.arrays.samples import rows_by_label

FEW = 3  # distinct values that are counted one by one, without sorting


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
    from guestlist.arrays.counting import ecdf_counts_of_others  # imports numba

    outside = ~member & ~np.isnan(values)
    block = np.unique(blocks, return_inverse=True)[1]

    def within(records: np.ndarray) -> np.ndarray:
        return ecdf_counts_of_others(take_columns(values, records), take_columns(outside, records), block)

    return _by_class(values, labels, within)


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
    if len(distinct) > FEW:
        outside.sort()
        if np.array_equal(distinct, distinct.astype(outside.dtype), equal_nan=True):
            distinct = distinct.astype(outside.dtype)  # A search in single precision copies nothing.
        below, up_to = (np.searchsorted(outside, distinct, side=side) for side in ("left", "right"))
    else:
        below, up_to = (
            np.array([compare(outside, value).sum() for value in distinct]) for compare in (np.less, np.less_equal)
        )
    return np.stack([below[which], up_to[which], np.full(values.shape, len(outside))]).astype(np.float64)
