"""Records changed a little: numbers get noise, everything else is now and then replaced by another record's value.

Whatever a column is, it stays: its type, its categories, whole numbers, and values that are missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd


class Spread(NamedTuple):
    """How numbers vary, and of which kind they are; each part broadcasts against the records.

    Args:
        deviation: their standard deviation.
        whole: whether all are whole numbers, 0 and 1 included.
        binary: whether all are 0 or 1.
    """

    deviation: np.ndarray
    whole: np.ndarray
    binary: np.ndarray


# Of an array, all at once; of a table, one per column, where None says that it holds no numbers.
Spreads = Spread | tuple[Spread | None, ...]


def spreads(x: np.ndarray | pd.DataFrame) -> Spreads:
    """How the features of all records vary: column by column, or as a whole in arrays with more than two axes."""
    if not _plain(x):
        table = as_table(x)
        numbers = (numbers_of(table.iloc[:, position]) for position in range(table.shape[1]))
        return tuple(None if values is None else _spread(values, axis=0) for values in numbers)
    return _spread(x, axis=0 if x.ndim == 2 else None)


def perturbed(
    x: np.ndarray | pd.DataFrame,
    rows: np.ndarray,
    found: Spreads,
    rng: np.random.Generator,
    *,
    noise: float,
    flips: float,
) -> np.ndarray | pd.DataFrame:
    """Copies of some records, in the form of ``x`` and changed at random.

    Args:
        x: all records; values that are no numbers are replaced by those of others.
        rows: positions of the records to copy.
        found: what ``spreads`` says about ``x``.
        noise: standard deviation of the noise on numbers, in standard deviations of their column. Whole numbers are
            rounded back.
        flips: chance of a 0 or 1 to become the other, and of a value that is no number to be drawn anew from its
            column.
    """
    if isinstance(found, Spread):  # of an array of numbers
        return _cast(_shaken(np.asarray(x[rows], dtype=np.float64), found, rng, noise, flips), x.dtype)
    table = as_table(x)
    copies = table.iloc[rows].copy()
    for position, (name, spread) in enumerate(zip(table.columns, found, strict=True)):
        column = table.iloc[:, position]
        if spread is None:
            copies[name] = _redrawn(column, rows, rng, flips)
        else:
            copies[name] = _shaken_column(column.iloc[rows], spread, rng, noise, flips)
    return copies if isinstance(x, pd.DataFrame) else copies.to_numpy(dtype=x.dtype)


def as_table(x: np.ndarray | pd.DataFrame) -> pd.DataFrame:
    """Features as a table; an array of objects becomes columns of what they are."""
    if not isinstance(x, pd.DataFrame):
        return pd.DataFrame(x.reshape(len(x), -1)).infer_objects()
    sparse = [name for name, kind in x.dtypes.items() if isinstance(kind, pd.SparseDtype)]
    return x.astype({name: x[name].dtype.subtype for name in sparse}) if sparse else x


def numbers_of(column: pd.Series) -> np.ndarray | None:
    """(records,) float64, NaN where missing; None where the column holds categories, text, dates or truth values."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or _numpy_dtype(column).kind not in "iuf":
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iufb"


def _numpy_dtype(column: pd.Series) -> np.dtype:
    """What a column's values are beneath a type that also allows missing ones."""
    return np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))


def _spread(values: np.ndarray, axis: int | None) -> Spread:
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=axis), 1)
    mean = np.where(known, values, 0.0).sum(axis=axis) / count
    squares = np.square(np.where(known, values - mean, 0.0)).sum(axis=axis)
    missing = np.isnan(values)
    whole = ((values == np.rint(values)) | missing).all(axis=axis)
    binary = ((values == 0) | (values == 1) | missing).all(axis=axis)
    return Spread(np.sqrt(squares / count), whole, binary)


def _shaken(values: np.ndarray, spread: Spread, rng: np.random.Generator, noise: float, flips: float) -> np.ndarray:
    """Numbers with noise; a missing one stays missing."""
    moved = values + noise * spread.deviation * rng.normal(size=values.shape)
    moved = np.where(spread.whole, np.rint(moved), moved)
    flipped = np.where(rng.random(values.shape) < flips, 1 - values, values)
    return np.where(spread.binary, flipped, moved)


def _shaken_column(column: pd.Series, spread: Spread, rng, noise: float, flips: float) -> pd.Series:
    missing = column.isna()
    moved = _shaken(column.to_numpy(dtype=np.float64, na_value=np.nan), spread, rng, noise, flips)
    filled = pd.Series(_cast(np.where(missing, 0, moved), _numpy_dtype(column)), index=column.index)
    return filled.astype(column.dtype).where(~missing, column)


def _redrawn(column: pd.Series, rows: np.ndarray, rng: np.random.Generator, flips: float):
    """Values of a column, some of them taken from other records that have one; a missing one stays missing."""
    there = np.flatnonzero(column.notna())
    redraw = (rng.random(len(rows)) < flips) & column.iloc[rows].notna().to_numpy()
    others = there[rng.integers(len(there), size=len(rows))] if len(there) else rows
    return column.array.take(np.where(redraw, others, rows))


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers in the type they had; what lies beyond it takes its largest or smallest value."""
    if dtype.kind not in "iu":
        return values > 0.5 if dtype.kind == "b" else values.astype(dtype)
    low, high = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    if int(high) > np.iinfo(dtype).max:  # 64 bits: the nearest float lies beyond
        high = np.nextafter(high, 0)
    return np.clip(values, low, high).astype(dtype)
