"""Records changed a little: numbers get noise, words of a text and other values are now and then replaced by another record's.

Whatever a column is, it stays: its type, its categories, whole numbers, and values that are missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist.texts import is_free

MOST_WORDS = 100_000  # that replace others


class ColumnScale(NamedTuple):
    """How numbers vary, and of which kind they are; each part broadcasts against the records.

    Args:
        deviation: their standard deviation.
        whole: whether all are whole numbers, 0 and 1 included.
        binary: whether all are 0 or 1.
    """

    deviation: np.ndarray
    whole: np.ndarray
    binary: np.ndarray


class Vocabulary(NamedTuple):
    """Words of all texts of a column, as often as they stand there, to draw others from."""

    words: np.ndarray


# Of an array, all at once; of a table, one per column, where None says that it holds neither numbers nor free text.
ColumnScales = ColumnScale | tuple[ColumnScale | Vocabulary | None, ...]


def column_scales(x: np.ndarray | pd.DataFrame) -> ColumnScales:
    """How the features of all records vary: column by column, or as a whole in arrays with more than two axes."""
    if not _plain(x):
        table = as_table(x)
        return tuple(_of_column(table.iloc[:, position]) for position in range(table.shape[1]))
    return _spread(x, axis=0 if x.ndim == 2 else None)


def perturbed(
    x: np.ndarray | pd.DataFrame,
    rows: np.ndarray,
    found: ColumnScales,
    rng: np.random.Generator,
    *,
    noise: float,
    flips: float,
) -> np.ndarray | pd.DataFrame:
    """Copies of some records, in the form of ``x`` and changed at random.

    Args:
        x: all records; values that are not numbers are replaced by those of others.
        rows: positions of the records to copy.
        found: what ``spreads`` says about ``x``.
        noise: standard deviation of the noise on numbers, in standard deviations of their column. Whole numbers are
            rounded back.
        flips: chance of a 0 or 1 to become the other, of a word of a text to be drawn anew from all texts, and of any other
            value that is not a number to be drawn anew from its column.
    """
    if isinstance(found, ColumnScale):
        return _cast(_shaken(np.asarray(x[rows], dtype=np.float64), found, rng, noise, flips), x.dtype)
    table = as_table(x)
    copies = table.iloc[rows].copy()
    for position, (name, spread) in enumerate(zip(table.columns, found, strict=True)):
        column = table.iloc[:, position]
        if spread is None:
            copies[name] = _redrawn(column, rows, rng, flips)
        elif isinstance(spread, Vocabulary):
            copies[name] = _reworded(column.iloc[rows], spread, rng, flips)
        else:
            copies[name] = _shaken_column(column.iloc[rows], spread, rng, noise, flips)
    return copies if isinstance(x, pd.DataFrame) else copies.to_numpy(dtype=x.dtype).reshape(len(rows), *x.shape[1:])


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
    return _as_numbers(column)


def _of_column(column: pd.Series) -> ColumnScale | Vocabulary | None:
    numbers = numbers_of(column)
    if numbers is not None:
        return _spread(numbers, axis=0)
    if not is_free(column):
        return None
    words = [word for text in column.dropna() for word in text.split(" ") if word]
    step = 1 + len(words) // MOST_WORDS
    return Vocabulary(np.array(words[::step] or [""], dtype=object))


def _as_numbers(column: pd.Series) -> np.ndarray:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iufb"


def _numpy_dtype(column: pd.Series) -> np.dtype:
    """What a column's values are beneath a type that also allows missing ones."""
    return np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))


def _spread(values: np.ndarray, axis: int | None) -> ColumnScale:
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=axis), 1)
    mean = np.where(known, values, 0.0).sum(axis=axis) / count
    squares = np.square(np.where(known, values - mean, 0.0)).sum(axis=axis)
    missing = np.isnan(values)
    whole = ((values == np.rint(values)) | missing).all(axis=axis)
    binary = ((values == 0) | (values == 1) | missing).all(axis=axis)
    return ColumnScale(np.sqrt(squares / count), whole, binary)


def _shaken(
    values: np.ndarray, spread: ColumnScale, rng: np.random.Generator, noise: float, flips: float
) -> np.ndarray:
    """Numbers with noise; a missing one stays missing."""
    moved = values + noise * spread.deviation * rng.normal(size=values.shape)
    moved = np.where(spread.whole, np.rint(moved), moved)
    flipped = np.where(rng.random(values.shape) < flips, 1 - values, values)
    return np.where(spread.binary, flipped, moved)


def _shaken_column(column: pd.Series, spread: ColumnScale, rng, noise: float, flips: float) -> pd.Series:
    missing = column.isna()
    moved = _shaken(_as_numbers(column), spread, rng, noise, flips)
    filled = pd.Series(_cast(np.where(missing, 0, moved), _numpy_dtype(column)), index=column.index)
    return filled.astype(column.dtype).where(~missing, column)


def _redrawn(column: pd.Series, rows: np.ndarray, rng: np.random.Generator, flips: float):
    """Values of a column, some of them taken from other records that have one; a missing one stays missing."""
    there = np.flatnonzero(column.notna())
    redraw = (rng.random(len(rows)) < flips) & column.iloc[rows].notna().to_numpy()
    others = there[rng.integers(len(there), size=len(rows))] if len(there) else rows
    return column.array.take(np.where(redraw, others, rows))


def _reworded(column: pd.Series, found: Vocabulary, rng: np.random.Generator, flips: float) -> pd.Series:
    """Texts, some of their words taken from others; a missing one stays missing."""

    def reworded(text: str) -> str:
        words = np.array(text.split(" "), dtype=object)
        redraw = np.flatnonzero(rng.random(len(words)) < flips)
        words[redraw] = found.words[rng.integers(len(found.words), size=len(redraw))]
        return " ".join(words)

    return column.map(reworded, na_action="ignore").astype(column.dtype)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers in the type they had; what lies beyond it takes its largest or smallest value."""
    if dtype.kind not in "iu":
        return values > 0.5 if dtype.kind == "b" else values.astype(dtype)
    low, high = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    if int(high) > np.iinfo(dtype).max:  # 64 bits: the nearest float lies beyond
        high = np.nextafter(high, 0)
    return np.clip(values, low, high).astype(dtype)
