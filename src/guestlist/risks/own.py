"""Custom scores of a user, in the order of a case's records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.table import RISKS
from guestlist.tables import read_table

EVERY_MEMBER = "everybody"  # the first row of every table of predictive values
CustomScores = Mapping[str, "np.ndarray | pd.Series"]


def custom_values(case: Case, custom: CustomScores) -> dict[str, np.ndarray]:
    """Return name to (records,) values; NaN where a record has none.

    Args:
        custom: name to values, higher for those more at risk: an array in the order of ``case.records``, or a pandas Series whose
            index are ids.
    """
    values_by_name = {}
    for name, values in custom.items():
        if name in RISKS or name == EVERY_MEMBER:
            raise InputError(f"There is a risk called {name!r} already; give yours another name.")
        convert = _by_id if isinstance(values, pd.Series) else _by_position
        values_by_name[name] = convert(case, name, values)
    return values_by_name


def read_custom(path: str | Path) -> dict[str, pd.Series]:
    """Read scores from a .csv or .parquet file with a column ``id``: one for each column of numbers."""
    path = Path(path)
    table = read_table(path, text=["id"])
    if "id" not in table:
        raise InputError(f"{path} has no column 'id'; it has {', '.join(map(str, table.columns))}.")
    columns = table.set_index(table["id"].astype(str)).drop(columns="id")
    scores = {str(name): _numeric_column(path, str(name), columns[name]) for name in columns}
    numeric = {name: values for name, values in scores.items() if values is not None}
    if not numeric:
        raise InputError(f"{path} has no column of numbers beside 'id'.")
    return numeric


def _numeric_column(path: Path, name: str, column: pd.Series) -> pd.Series | None:
    """Return a column as numbers, or None for texts; raise an error if only some cells are numbers."""
    values = pd.to_numeric(column, errors="coerce")
    wrong = column[values.isna() & column.notna()]
    if len(wrong) and values.notna().any():
        raise InputError(
            f"Column {name!r} of {path} holds {wrong.iloc[0]!r}, which is not a number; mend it, or leave it out."
        )
    if len(wrong) or column.empty:
        return None
    return values.astype(np.float64)


def _by_id(case: Case, name: str, values: pd.Series) -> np.ndarray:
    ids = case.records["id"].astype(str)
    index = values.index.astype(str)
    if index.has_duplicates:
        raise InputError(f"The scores {name!r} have the id {index[index.duplicated()][0]!r} twice; give each once.")
    if not ids.isin(index).any():
        raise InputError(f"No id of the scores {name!r} is one of the audit's, such as {ids.iloc[0]!r}.")
    return pd.Series(values.to_numpy(dtype=np.float64), index).reindex(ids).to_numpy()


def _by_position(case: Case, name: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(case.records),):
        raise InputError(
            f"Expected scores {name!r} shaped ({len(case.records)},), one for each row of case.records, found {array.shape}; "
            "or give a pandas Series whose index are ids."
        )
    return array
