"""Tables in files that are larger than they look: what they claim is looked at before anything of that size is made."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

# Bytes of a value in memory, by its kind in a Parquet file; of a text, those that say where it stands.
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4}
MAX_WIDTH = 8
# Where a machine does not say how much memory it has.
DEFAULT_MEMORY = 1 << 35
# What a container may use, which is less than its machine has.
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def read_parquet(path: str | Path) -> pd.DataFrame:
    """The table in a Parquet file; ValueError where it does not fit into memory, and pyarrow's errors where it is damaged.

    A value that stands a billion times in a column takes a few bytes of a file.
    """
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        metadata = file.metadata
    limit = available_memory()
    claimed = _claimed(metadata)
    if claimed <= limit:
        claimed += _written_out(path, _long_texts(metadata, limit))
    if claimed > limit:
        raise ValueError(
            f"its {metadata.num_rows:,} rows of {metadata.num_columns:,} columns unpack from "
            f"{format_bytes(os.path.getsize(path))} to {format_bytes(claimed)}, and there are {format_bytes(limit)} of memory; "
            "give fewer rows or columns"
        )
    return pd.read_parquet(path)


def _chunks(metadata):
    """Every column of every group of rows."""
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        yield from (part.column(column) for column in range(part.num_columns))


def _claimed(metadata) -> int:
    """Bytes that the table takes at least, by what the file says of itself."""
    widths = (chunk.num_values * WIDTHS.get(chunk.physical_type, MAX_WIDTH) for chunk in _chunks(metadata))
    return max(sum(widths), sum(chunk.total_uncompressed_size for chunk in _chunks(metadata)), metadata.num_rows)


def _long_texts(metadata, limit: int) -> list[str]:
    """Columns of texts that may be too many: each as long as all of them together."""
    texts = (chunk for chunk in _chunks(metadata) if chunk.physical_type == "BYTE_ARRAY")
    names = (chunk.path_in_schema for chunk in texts if chunk.num_values * chunk.total_uncompressed_size > limit)
    return list(dict.fromkeys(names))


def _written_out(path: str | Path, columns: list[str]) -> int:
    """Bytes of the texts in some columns: one that repeats stands once in the file, and in the table as often as it repeats."""
    if not columns:
        return 0
    import pyarrow.compute
    import pyarrow.parquet

    total = 0
    with pyarrow.parquet.ParquetFile(path, read_dictionary=columns) as file:
        for batch in file.iter_batches(columns=columns):
            for values in batch.columns:
                if not pyarrow.types.is_dictionary(values.type):  # part of a list, which no table here has
                    total += values.nbytes
                    continue
                lengths = pyarrow.compute.binary_length(values.dictionary).to_numpy(zero_copy_only=False)
                times = np.bincount(values.indices.drop_null().to_numpy(), minlength=len(lengths))
                total += int(times @ lengths.astype(np.float64))
    return total


def available_memory() -> int:
    """Bytes of memory that there are here, of this machine or of the container."""
    limits = [DEFAULT_MEMORY]
    with suppress(AttributeError, OSError, ValueError):  # not on Windows
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # "max": as much as the machine has
        limits.append(int(CGROUP_LIMIT.read_text()))
    return min(limit for limit in limits if limit > 0)


def format_bytes(count: float) -> str:
    """For people.

    >>> in_bytes(3_000_000), in_bytes(146 * 2**40)
    ('2.86 MiB', '146 TiB')
    """
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
    at = 0 if count < 1 else min(len(units) - 1, int(math.log2(count) // 10))
    return f"{count / 1024**at:.3g} {units[at]}"
