"""Perturbation of records.

Numbers get noise; words and other values are replaced at random by those of another record.
A column keeps its type, its categories, whole numbers and missing values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist.texts import is_free

MAX_WORDS = 100_000  # in the vocabulary of a column


class ColumnScale(NamedTuple):
    """Scale and type of numbers; each part broadcasts against the records.

    Args:
        deviation: Their standard deviation.
        integer: Whether all are whole numbers, 0 and 1 included.
        binary: Whether all are 0 or 1.
    """

    deviation: np.ndarray
    integer: np.ndarray
    binary: np.ndarray


class Vocabulary(NamedTuple):
    """Words of all texts of a column, with repetitions."""

    words: np.ndarray


# One scale for an array, and one per column of a table; None for a column with neither numbers nor free text.
ColumnScales = ColumnScale | tuple[ColumnScale | Vocabulary | None, ...]


def column_scales(x: np.ndarray | pd.DataFrame) -> ColumnScales:
    """Estimate the scale of each column, or of the whole array if it has more than two axes."""
    if not _plain(x):
        table = as_table(x)
        return tuple(_describe_column(table.iloc[:, position]) for position in range(table.shape[1]))
    return _column_scale(x, axis=0 if x.ndim == 2 else None)


def perturbed(
    x: np.ndarray | pd.DataFrame,
    rows: np.ndarray,
    scales: ColumnScales,
    rng: np.random.Generator,
    *,
    noise: float,
    flips: float,
) -> np.ndarray | pd.DataFrame:
    """Return copies of some records, in the form of ``x``, with random changes.

    Args:
        x: All records; values that are not numbers are replaced by those of others.
        rows: Positions of the records to copy.
        scales: The result of :func:`column_scales` for ``x``.
        rng: Random stream.
        noise: Standard deviation of the noise on numbers, in standard deviations of their column. Whole numbers are rounded.
        flips: Probability that a 0 or 1 becomes the other, that a word is drawn from all texts of the column, and that any other
            value that is not a number is drawn from its column.
    """
    if isinstance(scales, ColumnScale):
        return _cast(_perturb_numbers(np.asarray(x[rows], dtype=np.float64), scales, rng, noise, flips), x.dtype)
    table = as_table(x)
    copies = table.iloc[rows].copy()
    for position, (name, scale) in enumerate(zip(table.columns, scales, strict=True)):
        column = table.iloc[:, position]
        if scale is None:
            copies[name] = _perturb_categories(column, rows, rng, flips)
        elif isinstance(scale, Vocabulary):
            copies[name] = _perturb_texts(column.iloc[rows], scale, rng, flips)
        else:
            copies[name] = _perturb_number_column(column.iloc[rows], scale, rng, noise, flips)
    if isinstance(x, pd.DataFrame):
        return copies
    return copies.to_numpy(dtype=x.dtype).reshape(len(rows), *x.shape[1:])


def as_table(x: np.ndarray | pd.DataFrame) -> pd.DataFrame:
    """Return features as a table; columns of objects get the type of their values."""
    if not isinstance(x, pd.DataFrame):
        return pd.DataFrame(x.reshape(len(x), -1)).infer_objects()
    sparse = [name for name, kind in x.dtypes.items() if isinstance(kind, pd.SparseDtype)]
    return x.astype({name: x[name].dtype.subtype for name in sparse}) if sparse else x


def numbers_of(column: pd.Series) -> np.ndarray | None:
    """Return a column as (records,) float64, NaN where missing; None for categories, text, dates or booleans."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or _numpy_dtype(column).kind not in "iuf":
        return None
    return _as_numbers(column)


def _describe_column(column: pd.Series) -> ColumnScale | Vocabulary | None:
    numbers = numbers_of(column)
    if numbers is not None:
        return _column_scale(numbers, axis=0)
    if not is_free(column):
        return None
    words = [word for text in column.dropna() for word in text.split(" ") if word]
    step = 1 + len(words) // MAX_WORDS
    return Vocabulary(np.array(words[::step] or [""], dtype=object))


def _as_numbers(column: pd.Series) -> np.ndarray:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iufb"


def _numpy_dtype(column: pd.Series) -> np.dtype:
    """Return the NumPy type of a column, also if its own type allows missing values."""
    return np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))


def _column_scale(values: np.ndarray, axis: int | None) -> ColumnScale:
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=axis), 1)
    mean = np.where(known, values, 0.0).sum(axis=axis) / count
    squares = np.square(np.where(known, values - mean, 0.0)).sum(axis=axis)
    missing = np.isnan(values)
    integer = ((values == np.rint(values)) | missing).all(axis=axis)
    binary = ((values == 0) | (values == 1) | missing).all(axis=axis)
    return ColumnScale(np.sqrt(squares / count), integer, binary)


def _perturb_numbers(
    values: np.ndarray, scale: ColumnScale, rng: np.random.Generator, noise: float, flips: float
) -> np.ndarray:
    """Add noise to numbers; missing ones stay missing."""
    noisy = values + noise * scale.deviation * rng.normal(size=values.shape)
    noisy = np.where(scale.integer, np.rint(noisy), noisy)
    flipped = np.where(rng.random(values.shape) < flips, 1 - values, values)
    return np.where(scale.binary, flipped, noisy)


def _perturb_number_column(column: pd.Series, scale: ColumnScale, rng, noise: float, flips: float) -> pd.Series:
    missing = column.isna()
    noisy = _perturb_numbers(_as_numbers(column), scale, rng, noise, flips)
    filled = pd.Series(_cast(np.where(missing, 0, noisy), _numpy_dtype(column)), index=column.index)
    return filled.astype(column.dtype).where(~missing, column)


def _perturb_categories(column: pd.Series, rows: np.ndarray, rng: np.random.Generator, flips: float):
    """Replace some values by those of other records; missing ones stay missing."""
    present = np.flatnonzero(column.notna())
    redraw = (rng.random(len(rows)) < flips) & column.iloc[rows].notna().to_numpy()
    others = present[rng.integers(len(present), size=len(rows))] if len(present) else rows
    return column.array.take(np.where(redraw, others, rows))


def _perturb_texts(column: pd.Series, vocabulary: Vocabulary, rng: np.random.Generator, flips: float) -> pd.Series:
    """Replace some words by those of other texts; missing texts stay missing."""

    def perturb(text: str) -> str:
        words = np.array(text.split(" "), dtype=object)
        redraw = np.flatnonzero(rng.random(len(words)) < flips)
        words[redraw] = vocabulary.words[rng.integers(len(vocabulary.words), size=len(redraw))]
        return " ".join(words)

    return column.map(perturb, na_action="ignore").astype(column.dtype)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert numbers to a type; values outside its range take its largest or smallest value."""
    if dtype.kind == "b":
        return values > 0.5
    if dtype.kind not in "iu":
        return values.astype(dtype)
    low = float(np.iinfo(dtype).min)
    high = float(np.iinfo(dtype).max)
    if int(high) > np.iinfo(dtype).max:  # 64 bits: the nearest float is larger
        high = np.nextafter(high, 0)
    return np.clip(values, low, high).astype(dtype)
