"""What the target says about every record, before a folder is made: a record that it cannot read stops nothing else."""

from __future__ import annotations

import numpy as np

from guestlist.data import Data
from guestlist.errors import AuditError, InputError
from guestlist.targets.target import Target, answers


def asked(target: Target, pool: Data) -> np.ndarray:
    """(records, columns) the target's answers about the whole pool; an error names the first record that it cannot read."""
    try:
        return _said(target, pool)
    except AuditError:
        raise
    except Exception as error:  # a model may raise anything
        raise InputError(_unreadable(target, pool, error)) from error


def _said(target: Target, pool: Data) -> np.ndarray:
    return answers(target.predict, pool.x, target.columns, target.scale)


def _unreadable(target: Target, pool: Data, error: Exception) -> str:
    record, cause = _first_unreadable(target, pool, error)
    which = "these records" if record is None else f"record {pool.ids[record]}"
    return (
        f"The model cannot read {which} ({type(cause).__name__}: {cause}). Mend the value, leave the record out, or audit the "
        "pipeline that reads it."
    )


def _first_unreadable(target: Target, pool: Data, error: Exception) -> tuple[int | None, Exception]:
    """The place of the first record that fails by itself, found by halves, with its error; None: only together they fail."""
    start, stop = 0, len(pool)
    while stop - start > 1:
        middle = (start + stop) // 2
        first = _fails(target, pool.take(np.arange(start, middle)))
        if first is not None:
            stop, error = middle, first
            continue
        second = _fails(target, pool.take(np.arange(middle, stop)))
        if second is None:
            return None, error
        start, error = middle, second
    return start, error


def _fails(target: Target, pool: Data) -> Exception | None:
    try:
        _said(target, pool)
    except Exception as error:
        return error
    return None
