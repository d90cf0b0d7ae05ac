"""Consistency of the target's outputs across queries and batches.

An attack compares outputs record by record. Dropout or batch normalisation in training mode, a cache, a random seed or a data
loader that shuffles make them depend on something else. A sample of the records is therefore queried twice more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.targets.target import Target, answers

# One record in EVERY is queried again, within these limits.
EVERY = 32
MIN_SAMPLE = 8
MAX_SAMPLE = 100
# Outputs of one batch that differ by more than this share of the largest output have changed; rounding is far smaller.
CHANGED = 1e-5
# Outputs of two batches differ by rounding too, which steps and ties enlarge for single records. They depend on the batch if
# at least the second number, a share of the records, differ by more than the first times the standard deviation.
OTHER_BATCH = 1e-3
RECORDS_OF_BATCH = 0.05
ALONE = 8  # records that are queried one by one where outputs seem to depend on the batch


@dataclass(frozen=True)
class Consistency:
    """Number of outputs of a sample that differ.

    Args:
        records: Number of records in the sample.
        changed: Number of records with outputs that differ between two queries of the same records.
        batched: Number with outputs that differ between the sample and the query of all records, if none has changed.
    """

    records: int
    changed: int = 0
    batched: int = 0

    @property
    def deterministic(self) -> bool:
        """True if two queries of the same records have the same outputs."""
        return not self.changed

    @property
    def depends_on_batch(self) -> bool:
        """True if outputs depend on the other records in a query."""
        return self.batched >= max(2, RECORDS_OF_BATCH * self.records)


def consistency(target: Target, pool: Data, outputs: np.ndarray) -> Consistency | None:
    """Query a sample of the records twice, and compare; None if the target cannot be queried about a sample.

    Args:
        outputs: (records, columns) for the whole pool.
    """
    count = min(len(pool), MAX_SAMPLE, max(MIN_SAMPLE, len(pool) // EVERY))
    rows = np.unique(np.linspace(0, len(pool) - 1, count).astype(np.int64))
    sample = pool.take(rows).x

    def query(x) -> np.ndarray:
        return answers(target.predict, x, target.columns, target.scale)

    try:
        first = query(sample)
        second = query(sample)
    except Exception:  # some models accept only a fixed number of records
        return None
    changed = _differ(first, second, CHANGED * max(1.0, float(np.abs(first).max())))
    if changed.any():
        _check_order(target, first, second, changed)
        return Consistency(len(rows), changed=int(changed.sum()))
    batched = _differ(first, outputs[rows], OTHER_BATCH * float(outputs.std()) + CHANGED * float(np.abs(outputs).max()))
    result = Consistency(len(rows), batched=int(batched.sum()))
    if not result.depends_on_batch:
        return result
    try:
        n_changed = _changed_since(target, pool, outputs, rows, query)
    except InputError:
        raise
    except Exception:  # some models cannot be queried about a single record
        return result
    return Consistency(len(rows), changed=n_changed) if n_changed else result


def _changed_since(
    target: Target, pool: Data, outputs: np.ndarray, rows: np.ndarray, query: Callable[[Any], np.ndarray]
) -> int:
    """Count outputs that change although the whole pool is queried again: the model has a state.

    Raises:
        InputError: The outputs are in a different order from the records.
    """
    few = rows[:ALONE]
    alone = np.concatenate([query(pool.take(few[k : k + 1]).x) for k in range(len(few))])
    together = query(pool.take(few).x)
    _check_order(target, alone, together, _differ(alone, together, CHANGED * max(1.0, float(np.abs(alone).max()))))
    again = query(pool.x)[rows]
    return int(_differ(outputs[rows], again, CHANGED * max(1.0, float(np.abs(again).max()))).sum())


def _differ(first: np.ndarray, second: np.ndarray, tolerance: float) -> np.ndarray:
    """Return (records,) true where two outputs differ."""
    return np.abs(first - second).max(axis=1) > tolerance


def _check_order(target: Target, first: np.ndarray, second: np.ndarray, differ: np.ndarray) -> None:
    """Raise if two outputs for the same records are the same rows in different orders."""
    if not differ.any() or 2 * len(np.unique(first, axis=0)) <= len(first):  # Few different rows are equal by chance.
        return
    first, second = (rows[np.lexsort(np.round(rows, 6).T)] for rows in (first, second))
    if np.allclose(first, second, rtol=1e-5, atol=1e-6):
        raise InputError(
            f"{target.name} returns its outputs in a different order from the records: queried about the same {len(first)} "
            "records, it returns the same rows in different places. Return one row per record, in the order given (for "
            "example, DataLoader(…, shuffle=False))."
        )
