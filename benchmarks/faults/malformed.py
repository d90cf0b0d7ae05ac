"""Malformed inputs. Every function draws from a ``random.Random``."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

VALUES: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 3,
    lambda: 10**20,
    lambda: 0.5,
    lambda: -0.0,
    lambda: 1e300,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: 1 + 2j,
    lambda: "",
    lambda: "text",
    lambda: "1",
    lambda: "\x1b[31mred\x00",
    lambda: b"bytes",
    lambda: pd.NA,
    lambda: pd.NaT,
    lambda: datetime.date(2024, 2, 29),
    lambda: decimal.Decimal("0.1"),
    lambda: Path("nowhere.csv"),
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: {"a"},
    lambda: [1, "a", None],
    lambda: [[1, 2], [3]],
    lambda: {"a": [1]},
    lambda: ("a", 1),
    lambda: (1, 2, 3),
    lambda: object(),
    lambda: len,
    lambda: int,
    lambda: range(3),
    lambda: iter([1]),
    lambda: np.array(5),
    lambda: np.zeros(0),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((3, 0)),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.array(["a", "b"]),
    lambda: np.array([None, 1], dtype=object),
    lambda: np.array(["2024-01-01"], dtype="M8[D]"),
    lambda: np.float16(0.1),
    lambda: np.int8(-3),
    lambda: np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    lambda: pd.Series([1, 2]),
    lambda: pd.Series(["a", None]),
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame({"a": [1]}),
    lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    lambda: pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
    lambda: pd.Index([1, 2]),
    lambda: pl.DataFrame({"a": [1]}),
    lambda: pl.DataFrame({"a": [1]}).lazy(),
    lambda: pl.Series([1, 2]),
    lambda: scipy.sparse.eye(3),
)
CELLS = (
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1.0,
    7.0,
    0.5,
    None,
    "x",
    "",
    b"y",
    10**30,
    1j,
    [1],
    pd.NA,
    "=1+1",
    "\x1b[2J",
)


def value(rng: Random) -> Any:
    """Return an unexpected value."""
    return VALUES[rng.randrange(len(VALUES))]()


def cell(rng: Random) -> Any:
    """Return an unexpected cell of a table."""
    return CELLS[rng.randrange(len(CELLS))]


def array(rng: Random, values: Any) -> Any:
    """Return an array or table with a different type, size or cell."""
    try:
        return MUTATIONS[rng.randrange(len(MUTATIONS))](rng, values)
    except Exception:  # the values are already malformed
        return values


def _with_cell(rng: Random, values):
    if isinstance(values, (pd.DataFrame, pd.Series)):
        changed = values.astype(object)
        if changed.size:
            cell_index = (rng.randrange(len(changed)), *(rng.randrange(n) for n in changed.shape[1:]))
            changed.iat[cell_index if len(cell_index) > 1 else cell_index[0]] = _cell_value(rng)
        return changed
    changed = np.asarray(values).astype(object)
    if changed.size:
        changed.flat[rng.randrange(changed.size)] = _cell_value(rng)
    return changed


def _cell_value(rng: Random) -> Any:
    results = cell(rng)
    return str(results) if isinstance(results, list) else results


def _same_type_cell(rng: Random, values):
    changed = np.array(values)
    if changed.size and changed.dtype.kind in "iufb":
        with np.errstate(all="ignore"):
            changed.flat[rng.randrange(changed.size)] = (
                rng.choice([math.nan, math.inf, 1e300, -1.0, 1e-320])
                if changed.dtype.kind == "f"
                else rng.choice([0, 1, 5])
            )
    return changed


def _typed(rng: Random, values):
    dtype = rng.choice(["f2", "f4", "i1", "u8", "?", "U", "O", "c16", "M8[s]", "S5", "m8[s]"])
    try:
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return values


def _extended(rng: Random, values):
    dtype = rng.choice(["Int64", "Float64", "boolean", "string", "category", "datetime64[ns]", "Sparse[float]"])
    table = pd.DataFrame(np.asarray(values)) if np.ndim(values) == 2 else pd.Series(np.ravel(np.asarray(values)))
    try:
        return table.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return table


def _shaped(rng: Random, values):
    values = np.asarray(values)
    forms = [
        lambda: values[..., None],
        lambda: values.ravel(),
        lambda: values.T,
        lambda: values[None],
        lambda: values[:0],
        lambda: values[:1],
        lambda: values[: len(values) // 2] if values.ndim else values,
        lambda: np.concatenate([values, values]) if values.ndim else values,
    ]
    try:
        return rng.choice(forms)()
    except (IndexError, ValueError):
        return values


def _in_container(rng: Random, values):
    array = np.asarray(values)
    two = array.ndim == 2
    forms: list[Callable[[], Any]] = [
        lambda: array.tolist(),
        lambda: [*array.tolist()[:-1], [1]] if two else [*array.tolist()[:-1], [1, 2]],
        lambda: tuple(array.tolist()),
        lambda: pd.DataFrame(array) if two else pd.Series(array, index=range(len(array), 0, -1)),
        lambda: pd.DataFrame({"only": list(array)}),
        lambda: pl.DataFrame(array) if two else pl.Series(array),
        lambda: pl.DataFrame(array).lazy() if two else pl.DataFrame({"a": array}).lazy(),
        lambda: np.ma.masked_array(array, mask=rng.random() < 0.5),
        lambda: scipy.sparse.csr_matrix(array),
        lambda: np.asfortranarray(array),
        lambda: (
            pd.DataFrame(array, columns=pd.MultiIndex.from_product([["a"], range(array.shape[1])])) if two else array
        ),
        lambda: pd.DataFrame(array, index=pd.MultiIndex.from_product([["i"], range(len(array))])),
        lambda: pd.DataFrame(array, columns=["same"] * array.shape[1]) if two else array,
    ]
    try:
        return rng.choice(forms)()
    except Exception:  # these values do not support the conversion
        return values


MUTATIONS: tuple[Callable[[Random, Any], Any], ...] = (
    _with_cell,
    _same_type_cell,
    _typed,
    _extended,
    _shaped,
    _in_container,
    lambda rng, values: value(rng),
)


def content(rng: Random, original: bytes) -> bytes:
    """Return a file's content with some bytes changed, removed or repeated."""
    changed = bytearray(original)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not changed:
            break
        start, length = rng.randrange(len(changed)), rng.choice([1, 1, 4, 64])
        change = rng.randrange(4)
        if change == 0:
            changed[start] = rng.randrange(256)
        elif change == 1:
            del changed[start : start + length]
        elif change == 2:
            changed[start:start] = changed[start : start + length]
        else:
            changed[start:start] = rng.choice(
                [b"\x00", b",", b'"', b"\n", b"nan", b"1e999", b"\xff\xfe", b"-", b"{}", b"@"]
            )
    return bytes(changed[: rng.randrange(len(changed) + 1)]) if rng.random() < 0.15 else bytes(changed)


JSON = (None, True, 0, -1, 1, 10**20, 0.5, -1e300, "", "text", "\x1b[2J", [], {}, [1], ["a"], [None], {"a": 1}, [[]])


def document(rng: Random, original: bytes) -> bytes:
    """Return a JSON file with one value of a different type, a missing key, or a new key."""
    results = json.loads(original)
    at: Any = results
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = rng.choice(keys)
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.8:
            at = at[key]
            continue
        if rng.random() < 0.2:
            del at[key]
        else:
            at[key] = rng.choice(JSON)
        break
    return json.dumps(results).encode()
