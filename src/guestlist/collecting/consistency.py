"""Consistency of the target's outputs: the same for the same record, whenever and with whatever others it is queried.

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
EVERY, FEWEST, MOST = 32, 8, 100
# Outputs of one batch that differ by more than this share of the largest output have changed; rounding is far smaller.
CHANGED = 1e-5
# Outputs of two batches differ by rounding too, which steps and ties enlarge for single records. They depend on the batch if
# at least this share of the records (second number) differs by more than the first number times the standard deviation.
OTHER_BATCH, RECORDS_OF_BATCH = 1e-3, 0.05
ALONE = 8  # records that are queried one by one where outputs seem to depend on the batch


@dataclass(frozen=True)
class Consistency:
    """How many outputs of a sample differ.

    Args:
        records: in the sample.
        changed: records whose outputs differ between two queries of the same records.
        batched: records whose outputs differ between the sample and the query of all records, if none has changed.
    """

    records: int
    changed: int = 0
    batched: int = 0

    @property
    def deterministic(self) -> bool:
        return not self.changed

    @property
    def depends_on_batch(self) -> bool:
        return self.batched >= max(2, RECORDS_OF_BATCH * self.records)


def consistency(target: Target, pool: Data, outputs: np.ndarray) -> Consistency | None:
    """Query a sample of the records twice, and compare; None if the target cannot be queried about a sample.

    Args:
        outputs: (records, columns) for the whole pool.
    """
    count = min(len(pool), MOST, max(FEWEST, len(pool) // EVERY))
    rows = np.unique(np.linspace(0, len(pool) - 1, count).astype(np.int64))
    sample = pool.take(rows).x

    def queried(x) -> np.ndarray:
        return answers(target.predict, x, target.columns, target.scale)

    try:
        first, second = queried(sample), queried(sample)
    except Exception:  # some models accept only a fixed number of records
        return None
    changed = _differ(first, second, CHANGED * max(1.0, float(np.abs(first).max())))
    if changed.any():
        _check_order(target, first, second, changed)
        return Consistency(len(rows), changed=int(changed.sum()))
    batched = _differ(first, outputs[rows], OTHER_BATCH * float(outputs.std()) + CHANGED * float(np.abs(outputs).max()))
    found = Consistency(len(rows), batched=int(batched.sum()))
    if not found.depends_on_batch:
        return found
    try:
        return _examined(target, pool, outputs, rows, found, queried)
    except InputError:
        raise
    except Exception:  # some models cannot be queried about a single record
        return found


def _examined(
    target: Target,
    pool: Data,
    outputs: np.ndarray,
    rows: np.ndarray,
    found: Consistency,
    queried: Callable[[Any], np.ndarray],
) -> Consistency:
    """Distinguish outputs that depend on the batch from those in a different order, and from those of a model with a state."""
    few = rows[:ALONE]
    alone = np.concatenate([queried(pool.take(few[k : k + 1]).x) for k in range(len(few))])
    together = queried(pool.take(few).x)
    _check_order(target, alone, together, _differ(alone, together, CHANGED * max(1.0, float(np.abs(alone).max()))))
    again = queried(pool.x)[rows]
    changed = _differ(outputs[rows], again, CHANGED * max(1.0, float(np.abs(again).max())))
    return Consistency(len(rows), changed=int(changed.sum())) if changed.any() else found


def _differ(one: np.ndarray, other: np.ndarray, tolerance: float) -> np.ndarray:
    """(records,) whether two outputs differ."""
    return np.abs(one - other).max(axis=1) > tolerance


def _check_order(target: Target, one: np.ndarray, other: np.ndarray, differ: np.ndarray) -> None:
    """Raise if two outputs for the same records are the same rows in different orders."""
    if not differ.any() or 2 * len(np.unique(one, axis=0)) <= len(one):  # few different rows are alike by chance
        return
    first, second = (rows[np.lexsort(np.round(rows, 6).T)] for rows in (one, other))
    if np.allclose(first, second, rtol=1e-5, atol=1e-6):
        raise InputError(
            f"{target.name} returns its outputs in a different order from the records: queried about the same {len(one)} "
            "records, it returns the same rows in different places. Return one row per record, in the order given (for "
            "example, DataLoader(…, shuffle=False))."
        )
