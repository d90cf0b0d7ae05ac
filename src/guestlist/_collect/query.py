"""Query models for their signals, and check that the target's outputs are consistent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from guestlist._util import global_generators, one_thread, reason
from guestlist.data import Data
from guestlist.errors import AuditError, InputError
from guestlist.models import Predict, Scale, Target, answers, model_code, unchanged
from guestlist.models.input_checks import asked_about


@dataclass(frozen=True)
class SignalExtractor:
    """Conversion of a model's outputs for the pool to signals.

    Args:
        labels: (records,) positions of the true classes, or true values.
        columns: Number of columns of the outputs.
        scale: Scale of the outputs, with parameters estimated from the target's.
    """

    labels: np.ndarray
    columns: int
    scale: Scale

    def train_and_query(
        self,
        name: str,
        train: Callable[[], Predict],
        x,
        rng: np.random.Generator,
        details: Callable[[], str] = str,
    ) -> np.ndarray:
        """Train a model and return its (records, columns) outputs for ``x``.

        Args:
            name: Name of the model, for messages.
            train: Returns the fitted model's prediction function.
            x: Features.
            rng: Random stream of the model; also seeds the global generators that some libraries use.
            details: Returns more text for messages.
        """
        # Warnings of the recipe appeared when the target was trained.
        with one_thread(), global_generators(rng), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with model_code():
                    predict = train()
                return answers(predict, x, self.columns, self.scale)
            except AuditError as error:
                raise AuditError(f"{name}{details()}: {error}") from error
            except Exception as error:
                raise AuditError(
                    f"{name}{details()} could not be trained or asked ({reason(error)}).{_remedy(error)} What was "
                    "collected before it is kept."
                ) from error

    def take(self, records: np.ndarray) -> SignalExtractor:
        """Select records."""
        return replace(self, labels=self.labels[records])

    def signals(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Return (records,) signals by name from outputs for all the records."""
        return self.scale.signals(answers, self.labels)


def is_unknown_category(error: Exception) -> bool:
    """Return whether an encoder of scikit-learn met an unknown category."""
    return isinstance(error, ValueError) and "unknown categories" in str(error)


def _remedy(error: Exception) -> str:
    if not is_unknown_category(error):
        return ""
    return (
        " Its encoder refuses a category that none of its records has. Give the encoder handle_unknown='ignore' (an "
        "OrdinalEncoder 'use_encoded_value'), by model.set_params without a new fit; or train no references: references=0 "
        "(--references 0)."
    )


def query_target(target: Target, pool: Data) -> tuple[np.ndarray, Consistency | None]:
    """Return the (records, columns) outputs of the target for the whole pool, and how consistent they are.

    An error names the first record that the target cannot read.
    """
    # One thread, as for references: the outputs do not depend on the number of cores.
    with one_thread(), unchanged(pool, target.name):
        outputs = asked_about(pool, lambda records: answers(target.predict, records.x, target.columns, target.scale))
        return outputs, consistency(target, pool, outputs)


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
    if not n_changed:
        return result
    return Consistency(len(rows), changed=n_changed)


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
