"""Validate arguments, paths and optional packages where they enter."""

import math
import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from guestlist._util.text import single_line

LONGEST = 80


def short_repr(value: Any) -> str:
    """A value for a message: on one line, and not longer than one."""
    try:
        text = single_line(repr(value))
    except Exception:  # what cannot even be written down
        text = f"a {type(value).__name__}"
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 1]}…"


def integer(name: str, value: Any, low: int = 0, high: int | None = None) -> int:
    """Return an integer of at least ``low``; booleans are refused.

    >>> integer("k", np.int64(3), 1)
    3
    """
    try:
        result = operator.index(value)
    except TypeError:
        result = None
    if result is None or isinstance(value, bool | np.bool_) or result < low or (high is not None and result > high):
        end = ""
        if high is not None:
            end = f", and {high:,} at most"
        raise ValueError(f"Expected {name}={short_repr(value)} to be a whole number, {low} or more{end}.")
    return result


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, ends: str = "()") -> float:
    """A number between two others; ``ends`` says which of them it may be. NaN is none.

    >>> number("share", 0.1, 0, 1)
    0.1
    """
    try:
        if isinstance(value, str | bytes) or np.ndim(value):
            result = math.nan
        else:
            result = float(value)
    except Exception:  # whatever a stranger's class raises
        result = math.nan
    if ends[0] == "(":
        above = result > low
    else:
        above = result >= low
    if ends[1] == ")":
        below = result < high
    else:
        below = result <= high
    if not (above and below):
        where = ""
        if math.isfinite(low) or math.isfinite(high):
            where = f" in {ends[0]}{low:g}, {high:g}{ends[1]}"
        raise ValueError(f"Expected {name}={short_repr(value)}{where or ' to be a number'}.")
    return result


def array(name: str, values: Any) -> np.ndarray:
    """Return a value as an array; raise ValueError if NumPy cannot convert it."""
    if hasattr(values, "collect") and hasattr(values, "lazy"):
        raise ValueError(f"Expected {name} as an array or a table, found a lazy table: give {name}.collect().")
    if hasattr(values, "toarray"):
        raise ValueError(f"Expected {name} as a dense array, found a sparse one: give {name}.toarray().")
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise ValueError(f"Expected {name} without masked values: fill them, or leave those records out.")
    try:
        return np.asarray(values)
    except Exception as error:  # whatever a stranger's class raises; ragged lists among it
        raise ValueError(
            f"Expected {name} as an array, one value or one row per record: {single_line(str(error))}."
        ) from error


def numbers(name: str, values: Any) -> np.ndarray:
    """An array of float64; text, dates and complex numbers are none."""
    converted = array(name, values)
    if converted.dtype.kind in "fiub":
        return converted.astype(np.float64)
    if converted.dtype == object and not any(isinstance(item, str | bytes | complex) for item in converted.flat):
        try:
            return converted.astype(np.float64)
        except Exception as error:
            raise ValueError(
                f"Expected {name} as numbers, found {converted.dtype}: {single_line(str(error))}."
            ) from error
    raise ValueError(f"Expected {name} as numbers, found {converted.dtype}.")


def choice(name: str, value: Any, known: Iterable[str]) -> None:
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"Expected {name}={short_repr(value)} to be one of {', '.join(map(repr, known))}.")


def words(name: str, value: Any) -> tuple[str, ...]:
    """Return texts as a tuple; a single text becomes a tuple of one.

    >>> words("group", "sex"), words("group", ["sex", "race"]), words("group", ())
    (('sex',), ('sex', 'race'), ())
    """
    if isinstance(value, str):
        texts = (value,)
    else:
        texts = value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"Expected {name}={short_repr(value)} to be a text, or a list of texts.")
    return tuple(texts)


def as_path(name: str, value: Any) -> Path:
    """A path, of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise ValueError(f"Expected {name}={short_repr(value)} to be a path.")
    return Path(value)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"Expected {name}={short_repr(value)} to be True or False.")
    return bool(value)
