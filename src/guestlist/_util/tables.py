"""Tables: read them from files within limits on memory, check and encode their columns, and vectorise free text."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._util.environment import check_exists, path_error
from guestlist._util.text import MAX_CHOICES, close_matches, format_bytes
from guestlist.errors import InputError

# Bytes of a value in memory, by its type in a Parquet file; for a text, the size of its offset.
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4}
MAX_WIDTH = 8
# Memory to assume if the machine does not report it.
DEFAULT_MEMORY = 1 << 35
# File with the memory limit of a container, which may be below that of its machine.
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def read_parquet(path: str | Path) -> pd.DataFrame:
    """Read a Parquet file; raise ValueError if it does not fit into memory, and pyarrow's errors if it is damaged.

    The size of the file is no guide: a value that occurs a billion times in a column takes a few bytes.
    """
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        metadata = file.metadata
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    chunks = [group.column(column) for group in groups for column in range(group.num_columns)]
    widths = sum(chunk.num_values * WIDTHS.get(chunk.physical_type, MAX_WIDTH) for chunk in chunks)
    claimed = max(widths, sum(chunk.total_uncompressed_size for chunk in chunks), metadata.num_rows)
    limit = available_memory()
    if claimed > limit:
        raise ValueError(
            f"its {metadata.num_rows:,} rows of {metadata.num_columns:,} columns unpack from "
            f"{format_bytes(os.path.getsize(path))} to {format_bytes(claimed)}, more than the {format_bytes(limit)} of "
            "memory; save fewer rows or columns"
        )
    return pd.read_parquet(path)


def available_memory() -> int:
    """Return the bytes of memory of this machine, or of the container."""
    limits = [DEFAULT_MEMORY]
    with suppress(AttributeError, OSError, ValueError):  # not on Windows
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # "max": no limit
        limits.append(int(CGROUP_LIMIT.read_text()))
    return min(limit for limit in limits if limit > 0)


# Columns in which pandas stores the index of a table.
INDEX = re.compile(r"__index_level_\d+__")
QUOTED = re.compile(r'"[^"]*"')
# Number of lines that decide how a file separates its columns.
SAMPLE_LINES = 1000
# Separators that also occur in names and texts, each with the pattern of a cell. All lines must have the same number of
# cells. R's write.table uses blanks.
SELDOM = {
    r"\s+": re.compile(r'(?:"[^"]*"|[^\s"])+'),
    ":": re.compile(r'(?:"[^"]*"|[^:\n"])+'),
}
# Role of a column, with the name of the option.
ROLES = {
    "label": "the label (--label)",
    "member": "the member (--member)",
    "probability": "the probability (--probability)",
    "id": "the id (--id)",
    "person": "the person (--person)",
    "group": "a group (--group)",
}


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, without the columns in which pandas stores an index.

    Args:
        text: columns of a CSV file to read as text, so that 007 does not become 7.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": partial(_read_csv, text=text),
        ".tsv": partial(_read_csv, text=text),
        ".parquet": read_parquet,
        ".pq": read_parquet,
    }
    if path.suffix.lower() not in readers:
        raise InputError(
            f"Cannot read {path}: expected a .csv, .tsv or .parquet file. Convert it to one of these formats."
        )
    check_exists(path)
    try:
        return without_index(readers[path.suffix.lower()](path))
    except UnicodeDecodeError as error:
        raise InputError(
            f"Cannot read {path} as UTF-8: invalid byte at position {error.start}. Save the file as UTF-8."
        ) from error
    except PermissionError as error:
        raise path_error(path, error) from error
    except Exception as error:  # the readers raise many exceptions for a damaged file
        words = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"Cannot read {path} as {path.suffix[1:]}: {words}. Check that the file is complete and in this format."
        ) from error


def without_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without the columns in which pandas stores an index; other libraries read them from Parquet files."""
    stored = [name for name in table.columns if INDEX.fullmatch(str(name))]
    if stored:  # otherwise no copy
        return table.drop(columns=stored)
    return table


def _read_csv(path: Path, text: Sequence[str]) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=dict.fromkeys(text, str), **_form_of(path))
    # R writes row names as a column without a name. Row numbers are not ids.
    if table.index.equals(pd.RangeIndex(1, len(table) + 1)):
        return table.reset_index(drop=True)
    return table


def _form_of(path: Path) -> dict[str, str]:
    """Guess the column and decimal separators of a CSV file from its first lines."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        some = [line for line in islice(lines, SAMPLE_LINES) if line.strip()]
    first = QUOTED.sub("", some[0]) if some else ""
    counts = {mark: first.count(mark) for mark in ",;\t|"}
    separator = max(counts, key=counts.__getitem__) if path.suffix.lower() != ".tsv" else "\t"
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
    """Raise if the header of a table lacks these columns; files that cannot be read are reported when they are read."""
    path = Path(path)
    wanted = [column for column in columns if column is not None]
    try:
        if path.suffix.lower() in (".csv", ".tsv"):
            head = pd.read_csv(path, nrows=0, **_form_of(path))
        else:
            import pyarrow.parquet

            head = without_index(pd.DataFrame(columns=pyarrow.parquet.read_schema(path).names))
    except Exception:  # read_table reports a missing or damaged file with a better message
        return
    require(head, wanted, side)


def check_roles(exclusive: Mapping[str, str | None], **others: str | Sequence[str] | None) -> None:
    """Raise if one column has two roles, such as a label that is also a feature.

    Args:
        exclusive: role to column, for roles that cannot share a column with another role.
        others: roles that may share a column: a person column may also be the id or a group.
    """
    taken: dict[str, str] = {}
    for role, columns in {**exclusive, **others}.items():
        for column in columns if isinstance(columns, list | tuple) else (columns,):
            first = role if column is None else taken.setdefault(column, role)
            if first != role and (first in exclusive or role in exclusive):
                raise InputError(
                    f"Column {column!r} is passed both as {ROLES[first]} and as {ROLES[role]}. Choose another column for "
                    "one of them, or omit it."
                )


def require(table: pd.DataFrame, columns: Sequence[str], side: str) -> None:
    """Raise if a table lacks these columns."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(
            f"{side} has no column {', '.join(map(repr, missing))}. Available names: "
            f"{close_matches(missing[0], map(str, table.columns))}."
        )


def names_of(table: pd.DataFrame) -> str:
    """Return the names of the first columns of a table, for an error."""
    names = [str(column) for column in table.columns]
    if len(names) > MAX_CHOICES:
        return f"{', '.join(names[:MAX_CHOICES])} and {len(names) - MAX_CHOICES} more"
    return ", ".join(names)


def encode_tables(table: pd.DataFrame, *others: pd.DataFrame) -> list[np.ndarray]:
    """Encode tables as arrays (records, features): numbers standardised, categories one-hot, fitted on the first table.

    A category that the first table does not have is equally far from all of its categories.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    for each in (table, *others):
        missing = each.columns[each.isna().any()]
        if len(missing):
            raise InputError(
                f"Distances need complete features, but values are missing in {', '.join(map(str, missing))}. Impute them, "
                "or drop these records."
            )
        numeric = each.select_dtypes("number")
        infinite = numeric.columns[np.isinf(numeric.to_numpy(dtype=np.float64)).any(axis=0)]
        if len(infinite):
            raise InputError(
                f"Distances need finite features, but values are infinite in {', '.join(map(str, infinite))}. Replace "
                "them, or drop these records."
            )
    numbers = list(table.select_dtypes("number").columns)
    categories = [column for column in table.columns if column not in numbers]
    encoder = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories),
    ).fit(table)
    return [np.asarray(encoder.transform(each[table.columns]), dtype=np.float64) for each in (table, *others)]


SAMPLE_VALUES = 1000  # values that decide whether a column is free text
SHORT = 20  # characters; columns with a smaller mean length are names
LONGEST_WORD = 5000  # number of characters of a text that are read
WIDTH = 192  # columns of numbers that represent a text
GRAM = 3


def is_text(values) -> bool:
    """Return whether all values that are not missing are texts, and there is at least one."""
    known = [value for value in values if not _missing(value)]
    return bool(known) and all(isinstance(value, str) for value in known)


def not_a_text(values) -> int | None:
    """Return the position of the first value that is neither text nor missing, if others are text; None if there is none."""
    if getattr(values, "ndim", 1) != 1:
        return None
    if not any(isinstance(value, str) for value in values):
        return None
    return next((at for at, value in enumerate(values) if not isinstance(value, str) and not _missing(value)), None)


def check_unicode(values: Any, name: str) -> None:
    """Raise if a text in an array cannot be encoded in UTF-8: lone surrogates, as in file names, cannot."""
    if getattr(values, "dtype", np.dtype(float)).kind not in "OU":
        return
    try:
        "".join(value for value in values if isinstance(value, str)).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has text that is not valid Unicode (an incomplete surrogate pair). Replace it, for example with "
            "text.encode('utf-8', 'replace').decode()."
        ) from error


def is_free(column: pd.Series) -> bool:
    """Return whether a column holds free text: long, mostly distinct strings rather than categories."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return False
    some = column.dropna().iloc[:SAMPLE_VALUES]
    if not len(some) or not all(isinstance(value, str) for value in some):
        return False
    return bool(2 * some.nunique() > len(some) and some.str.len().mean() >= SHORT)


def grams(texts: Iterable) -> np.ndarray:
    """Return (texts, WIDTH) character trigrams of each text, hashed into ``WIDTH`` signed columns.

    Two texts are close if they share many trigrams. Rows have unit length; a missing text is a row of zeros.

    >>> same, near, far = grams(["a quiet day", "a quiet days", "all is well"])
    >>> bool(same @ near > 0.7 > 0.2 > same @ far)
    True
    """
    documents = list(texts)
    vectors = np.zeros((len(documents), WIDTH))
    for row, text in enumerate(documents):
        if not isinstance(text, str):
            continue
        # One number per character in any script; blanks around the text, so that short texts have trigrams too.
        letters = f" {text[:LONGEST_WORD].lower()} ".encode("utf-32-le", "surrogatepass")
        code = np.frombuffer(letters, dtype=np.uint32).astype(np.uint64)
        mixed = np.zeros(max(len(code) - GRAM + 1, 0), dtype=np.uint64)
        for offset in range(GRAM):
            mixed = (mixed ^ code[offset : offset + len(mixed)]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        sign = np.where(mixed >> np.uint64(63), 1.0, -1.0)
        vectors[row] = np.bincount((mixed % np.uint64(WIDTH)).astype(np.int64), sign, minlength=WIDTH)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _missing(value) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
