"""What all models say of some records, laid out in memory as it is of all of them."""

from __future__ import annotations

import numpy as np


def take_columns(matrix: np.ndarray, records: np.ndarray) -> np.ndarray:
    """(models, chosen) of a matrix (models, records), model by model in memory; of all of them not a copy.

    ``matrix[:, records]`` is laid out record by record, and whatever then goes through it model by model takes three times as
    long.

    Args:
        records: a mask, or positions.

    >>> take_columns(np.arange(6).reshape(2, 3), np.array([True, False, True]))
    array([[0, 2],
           [3, 5]])
    """
    records, every = np.asarray(records), matrix.shape[1]
    if records.dtype == bool:
        if len(records) != every:
            raise IndexError(f"Expected a mask of {every} records, found one of {len(records)}.")
        records = np.flatnonzero(records)
    places = as_slice(records)
    if isinstance(places, slice) and places.stop > every:
        raise IndexError(f"Expected places of {every} records, found {places.stop - 1}.")
    return np.ascontiguousarray(matrix[:, places]) if isinstance(places, slice) else np.take(matrix, places, axis=1)


def as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """The same rows as a slice where they follow each other: taking those copies nothing.

    >>> as_slice(np.array([1, 2, 3])), as_slice(np.array([0, 2]))
    (slice(1, 4, None), array([0, 2]))
    """
    together = len(rows) > 0 and rows[0] >= 0 and (np.diff(rows) == 1).all()
    return slice(int(rows[0]), int(rows[-1]) + 1) if together else rows
