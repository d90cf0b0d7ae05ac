"""A table of people as numbers, as networks want it."""

from __future__ import annotations

import numpy as np
import pandas as pd


def as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Every column as numbers from 0 to 1.

    Numbers run from the smallest to the largest value, and the mean stands for those that are missing. A column of text with two
    values is one column of 0 and 1; with more, one column per value; the most frequent value stands for those that are missing.
    """
    columns: dict[str, np.ndarray] = {}
    for name in table.columns:
        values = table[name]
        if pd.api.types.is_numeric_dtype(values):
            columns[str(name)] = _scaled(values)
        else:
            columns |= _indicators(str(name), values)
    return pd.DataFrame(columns, index=table.index)


def _scaled(values: pd.Series) -> np.ndarray:
    numbers = values.astype("float64")
    numbers = numbers.fillna(numbers.mean() if numbers.notna().any() else 0.0).to_numpy()
    low = numbers.min()
    high = numbers.max()
    return (numbers - low) / (high - low) if high > low else np.zeros(len(numbers))


def _indicators(name: str, values: pd.Series) -> dict[str, np.ndarray]:
    values = values.astype(object)
    known = values.dropna()
    filled = (values.fillna(known.mode().iloc[0]) if len(known) else values.fillna("")).astype(str)
    categories = sorted(filled.unique())
    columns = categories[1:] if len(categories) == 2 else categories
    return {f"{name}={value}": (filled == value).to_numpy(dtype=float) for value in columns}
