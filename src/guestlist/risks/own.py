"""A user's own scores, in the order of a case's records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.table import RISKS
from guestlist.tables import read_table

EVERY_MEMBER = "everybody"  # the row that every table of worth begins with
CustomScores = Mapping[str, "np.ndarray | pd.Series"]


def custom_values(case: Case, custom: CustomScores) -> dict[str, np.ndarray]:
    """Name to (records,) values; NaN where a record has none.

    Args:
        custom: name to values, higher for those more at risk: an array in the order of ``case.records``, or a pandas Series whose
            index are ids.
    """
    found = {}
    for name, values in custom.items():
        if name in RISKS or name == EVERY_MEMBER:
            raise InputError(f"There is a risk called {name!r} already; give yours another name.")
        found[name] = _by_id(case, name, values) if isinstance(values, pd.Series) else _as_they_are(case, name, values)
    return found


def read_custom(path: str | Path) -> dict[str, pd.Series]:
    """Scores from a .csv or .parquet file with a column ``id``: one for each column of numbers."""
    path = Path(path)
    table = read_table(path, text=["id"])
    if "id" not in table:
        raise InputError(f"{path} has no column 'id'; it has {', '.join(map(str, table.columns))}.")
    rest = table.set_index(table["id"].astype(str)).drop(columns="id")
    found = {str(name): _numbers(path, str(name), rest[name]) for name in rest}
    known = {name: values for name, values in found.items() if values is not None}
    if not known:
        raise InputError(f"{path} has no column of numbers beside 'id'.")
    return known


def _numbers(path: Path, name: str, column: pd.Series) -> pd.Series | None:
    """None for a column of texts; an error where some cells are numbers and others are not."""
    found = pd.to_numeric(column, errors="coerce")
    wrong = column[found.isna() & column.notna()]
    if len(wrong) and found.notna().any():
        raise InputError(
            f"Column {name!r} of {path} holds {wrong.iloc[0]!r}, which is not a number; mend it, or leave it out."
        )
    return None if len(wrong) or column.empty else found.astype(np.float64)


def _by_id(case: Case, name: str, values: pd.Series) -> np.ndarray:
    ids, index = case.records["id"].astype(str), values.index.astype(str)
    if index.has_duplicates:
        raise InputError(f"The scores {name!r} have the id {index[index.duplicated()][0]!r} twice; give each once.")
    if not ids.isin(index).any():
        raise InputError(f"No id of the scores {name!r} is one of the audit's, such as {ids.iloc[0]!r}.")
    return pd.Series(values.to_numpy(dtype=np.float64), index).reindex(ids).to_numpy()


def _as_they_are(case: Case, name: str, values: np.ndarray) -> np.ndarray:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (len(case.records),):
        raise InputError(
            f"Expected scores {name!r} shaped ({len(case.records)},), one for each row of case.records, found {found.shape}; "
            "or give a pandas Series whose index are ids."
        )
    return found
