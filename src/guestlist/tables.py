"""The table in a file, and whether it has the columns that are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from guestlist.errors import InputError
from guestlist.unpacking import read_parquet


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> pd.DataFrame:
    """The table in a CSV or Parquet file.

    Args:
        text: columns of a CSV file that are names, and not numbers: 007 is not 7.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": partial(_read_csv, text=text),
        ".parquet": read_parquet,
        ".pq": read_parquet,
    }
    if path.suffix.lower() not in readers:
        raise InputError(f"Expected a .csv or .parquet file, found {path}.")
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        return readers[path.suffix.lower()](path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}). Save it in that encoding.") from error
    except Exception as error:  # the readers have many words for a damaged file
        words = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"{path} cannot be read as {path.suffix[1:]} ({words}). Is it whole, and of that kind?"
        ) from error


def _read_csv(path: Path, text: Sequence[str]) -> pd.DataFrame:
    return pd.read_csv(path, dtype=dict.fromkeys(text, str), **_form_of(path))


def _form_of(path: Path) -> dict[str, str]:
    """How a CSV file separates its columns, told by its first line, and its decimals: a comma where semicolons separate."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        first, second = lines.readline(), lines.readline()
    separators = {one: first.count(one) for one in ",;\t|"}
    separator = max(separators, key=lambda one: separators[one])
    if not separators[separator] or separators[","] == separators[separator]:
        return {}
    comma = any(re.fullmatch(r'\s*"?-?\d+,\d+"?\s*', cell) for cell in second.split(separator))
    return {"sep": separator, "decimal": "," if comma else "."}


def check_columns(path: str | Path, columns: Sequence[str | None], *, side: str) -> None:
    """Refuse a table without these columns, from its head alone; what cannot be read at all is told by who reads it."""
    path, wanted = Path(path), [column for column in columns if column is not None]
    try:
        if path.suffix == ".csv":
            head = pd.read_csv(path, nrows=0, **_form_of(path))
        else:
            import pyarrow.parquet

            head = pd.DataFrame(columns=pyarrow.parquet.read_schema(path).names)
    except Exception:  # a missing or damaged file, another kind: reading it says so, in better words
        return
    require(head, wanted, side)


def require(table: pd.DataFrame, columns: Sequence[str], side: str) -> None:
    """Refuse a table without these columns."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(f"{side} has no column {', '.join(map(repr, missing))}; its columns are {names_of(table)}.")


def names_of(table: pd.DataFrame) -> str:
    """Its columns, for a sentence."""
    return ", ".join(map(str, table.columns))
