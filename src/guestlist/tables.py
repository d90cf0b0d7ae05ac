"""The table in a file, and whether it has the columns that are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import pandas as pd

from guestlist.errors import InputError
from guestlist.reaching import path_error, path_exists
from guestlist.unpacking import read_parquet

# Columns in which pandas keeps the index of a table.
INDEX = re.compile(r"__index_level_\d+__")
QUOTED = re.compile(r'"[^"]*"')
# Lines that tell how a file separates its columns.
LOOKED_AT = 20
# Separators that also stand in names and texts, so that every line must agree, each with what a cell is: R's write.table
# has blanks.
SELDOM = {
    r"\s+": re.compile(r'(?:"[^"]*"|[^\s"])+'),
    ":": re.compile(r'(?:"[^"]*"|[^:\n"])+'),
}
# What a column is given as, with the name of the option.
ROLES = {
    "label": "the label (--label)",
    "member": "the member (--member)",
    "answer": "the answer (--probability)",
    "id": "the id (--id)",
    "person": "the person (--person)",
    "group": "a group (--group)",
}


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> pd.DataFrame:
    """The table in a CSV, TSV or Parquet file, without what pandas writes down of an index.

    Args:
        text: columns of a CSV file that are names, and not numbers: 007 is not 7.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": partial(_read_csv, text=text),
        ".tsv": partial(_read_csv, text=text),
        ".parquet": read_parquet,
        ".pq": read_parquet,
    }
    if path.suffix.lower() not in readers:
        raise InputError(f"Expected a .csv, .tsv or .parquet file, found {path}.")
    if not path_exists(path):
        raise InputError(f"There is no file {path}.")
    try:
        return without_index(readers[path.suffix.lower()](path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}). Save it in that encoding.") from error
    except PermissionError as error:
        raise path_error(path, error) from error
    except Exception as error:  # the readers have many words for a damaged file
        words = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"{path} cannot be read as {path.suffix[1:]} ({words}). Is it whole, and of that kind?"
        ) from error


def without_index(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the columns in which pandas keeps an index, as other libraries read its Parquet files."""
    names = [name for name in table.columns if not INDEX.fullmatch(str(name))]
    return table if len(names) == len(table.columns) else table[names]


def _read_csv(path: Path, text: Sequence[str]) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=dict.fromkeys(text, str), **_form_of(path))
    # R writes the names of rows under no name. Where these only count the rows, they name nobody.
    counts = table.index.equals(pd.RangeIndex(1, len(table) + 1))
    return table.reset_index(drop=True) if counts else table


def _form_of(path: Path) -> dict[str, str]:
    """Guess the column and decimal separators of a CSV file from its first lines."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        some = [line for line in islice(lines, LOOKED_AT) if line.strip()]
    first = QUOTED.sub("", some[0]) if some else ""
    counts = {mark: first.count(mark) for mark in ",;\t|"}
    separator = "\t" if path.suffix.lower() == ".tsv" else max(counts, key=counts.__getitem__)
    if counts[separator] and (separator == "\t" or counts[separator] > counts[","]):
        comma = any(re.fullmatch(r'\s*"?-?\d+,\d+"?\s*', cell) for line in some[1:2] for cell in line.split(separator))
        return {"sep": separator, "decimal": "," if comma else "."}
    if not any(counts.values()):
        return next(({"sep": sep} for sep, cell in SELDOM.items() if _divides(some, cell)), {})
    return {}


def _divides(lines: Sequence[str], cell: re.Pattern) -> bool:
    """Return whether all lines have the header's number of cells, at least two, or one more for row names."""
    counts = [len(cell.findall(line)) for line in lines]
    return len(counts) > 1 and counts[0] > 1 and set(counts[1:]) in ({counts[0]}, {counts[0] + 1})


def check_columns(path: str | Path, columns: Sequence[str | None], *, side: str) -> None:
    """Refuse a table without these columns, from its head alone; what cannot be read at all is told by who reads it."""
    path = Path(path)
    wanted = [column for column in columns if column is not None]
    try:
        if path.suffix.lower() in (".csv", ".tsv"):
            head = pd.read_csv(path, nrows=0, **_form_of(path))
        else:
            import pyarrow.parquet

            head = without_index(pd.DataFrame(columns=pyarrow.parquet.read_schema(path).names))
    except Exception:  # a missing or damaged file, another kind: reading it says so, in better words
        return
    require(head, wanted, side)


def check_roles(exclusive: Mapping[str, str | None], **others: str | Sequence[str] | None) -> None:
    """Refuse one column in two roles, such as a label that is also a feature.

    Args:
        exclusive: role to column, of roles that share their column with no other role.
        others: roles that may share a column: a person column may also be the id or a group.
    """
    taken: dict[str, str] = {}
    for role, columns in {**exclusive, **others}.items():
        for column in columns if isinstance(columns, list | tuple) else (columns,):
            first = role if column is None else taken.setdefault(column, role)
            if first != role and (first in exclusive or role in exclusive):
                raise InputError(
                    f"The column {column!r} is given as {ROLES[first]} and as {ROLES[role]}. Name another column for one of "
                    "them, or leave it out."
                )


def require(table: pd.DataFrame, columns: Sequence[str], side: str) -> None:
    """Refuse a table without these columns."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(f"{side} has no column {', '.join(map(repr, missing))}; its columns are {names_of(table)}.")


def names_of(table: pd.DataFrame) -> str:
    """Its columns, for a sentence."""
    return ", ".join(map(str, table.columns))
