"""Encoding of tables as points, for distances between records."""

from __future__ import annotations

import numpy as np
import pandas as pd

from guestlist.errors import InputError


def encode_tables(table: pd.DataFrame, *others: pd.DataFrame) -> list[np.ndarray]:
    """Encode tables as arrays (records, features): numbers standardised, categories one-hot, fitted on the first table.

    A category that the first table does not have is equally far from all of its categories.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    for each in (table, *others):
        missing = each.columns[each.isna().any()]
        if len(missing):
            raise InputError(f"Distances need values, but there are missing ones in {', '.join(map(str, missing))}.")
        numeric = each.select_dtypes("number")
        infinite = numeric.columns[np.isinf(numeric.to_numpy(dtype=np.float64)).any(axis=0)]
        if len(infinite):
            raise InputError(f"Distances need numbers, but there are infinite ones in {', '.join(map(str, infinite))}.")
    numbers = list(table.select_dtypes("number").columns)
    categories = [column for column in table.columns if column not in numbers]
    encoder = make_column_transformer(
        (make_pipeline(StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories),
    ).fit(table)
    return [np.asarray(encoder.transform(each[table.columns]), dtype=np.float64) for each in (table, *others)]
