"""What all models say of some records, laid out in memory as it is of all of them."""

from __future__ import annotations

import numpy as np


def columns(matrix: np.ndarray, records: np.ndarray) -> np.ndarray:
    """(models, chosen) of a matrix (models, records), model by model in memory; the matrix itself where all are chosen.

    ``matrix[:, records]`` is laid out record by record, and whatever then goes through it model by model takes three times as
    long.

    Args:
        records: a mask, or positions.

    >>> columns(np.arange(6).reshape(2, 3), np.array([True, False, True]))
    array([[0, 2],
           [3, 5]])
    """
    if records.dtype == bool:
        if records.all():
            return matrix
        records = np.flatnonzero(records)
    return np.take(matrix, records, axis=1)
