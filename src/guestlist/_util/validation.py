"""Validate arguments where they enter; arguments for ``fit`` besides features and labels."""

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from guestlist._util.text import single_line
from guestlist.errors import InputError

LONGEST = 80


def short_repr(value: Any) -> str:
    """Return a value for a message: on one line, and truncated."""
    try:
        text = single_line(repr(value))
    except Exception:  # a user's ``repr`` may fail
        text = f"a {type(value).__name__}"
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 1]}…"


def integer(name: str, value: Any, low: int = 0, high: int | None = None) -> int:
    """Return an integer of at least ``low``; raise for booleans.

    >>> integer("k", np.int64(3), 1)
    3
    """
    result = None
    with suppress(TypeError):
        result = operator.index(value)
    if result is None or isinstance(value, bool | np.bool_) or result < low or (high is not None and result > high):
        end = "" if high is None else f" and at most {high:,}"
        raise ValueError(f"Expected {name}={short_repr(value)} to be an integer, {low} or more{end}.")
    return result


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, ends: str = "()") -> float:
    """Return a number between two limits; ``ends`` marks which of them are included. NaN raises.

    >>> number("share", 0.1, 0, 1)
    0.1
    """
    result = math.nan
    with suppress(Exception):  # a user's class can raise anything
        if not isinstance(value, str | bytes) and not np.ndim(value):
            result = float(value)
    above = result > low if ends[0] == "(" else result >= low
    below = result < high if ends[1] == ")" else result <= high
    if not (above and below):
        where = ""
        if math.isfinite(low) or math.isfinite(high):
            where = f" in {ends[0]}{low:g}, {high:g}{ends[1]}"
        raise ValueError(f"Expected {name}={short_repr(value)}{where or ' to be a number'}.")
    return result


def array(name: str, values: Any) -> np.ndarray:
    """Return a value as an array; raise ValueError if NumPy cannot convert it."""
    if hasattr(values, "collect") and hasattr(values, "lazy"):
        raise ValueError(f"Expected {name} as an array or a table, found a lazy table. Pass {name}.collect().")
    if hasattr(values, "toarray"):
        raise ValueError(f"Expected {name} as a dense array, found a sparse one. Pass {name}.toarray().")
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise ValueError(f"Expected {name} without masked values. Fill them, or drop these records.")
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a tensor may need gradients, or be on another device
        values = values.detach().cpu()
    try:
        return np.asarray(values)
    except Exception as error:  # a user's class can raise anything; ragged lists raise too
        raise ValueError(
            f"Expected {name} as an array, one value or one row per record: {single_line(str(error))}."
        ) from error


def numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; raise for text, dates and complex numbers."""
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
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"Expected {name}={short_repr(value)} to be a text or a list of texts.")
    return tuple(texts)


def as_path(name: str, value: Any) -> Path:
    """Return a value as the path of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise ValueError(f"Expected {name}={short_repr(value)} to be a path.")
    return Path(value)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"Expected {name}={short_repr(value)} to be True or False.")
    return bool(value)


EXAMPLE = 'fit_params={"sample_weight": (members_weight, nonmembers_weight)}'


@dataclass(frozen=True)
class FitParams:
    """Arguments for ``fit``.

    Args:
        options: name to a value that is passed unchanged.
        values: name to (records, …) values; each model gets those of its training records.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def take(self, records: np.ndarray) -> "FitParams":
        """Return the arguments for some of the records."""
        return FitParams(self.options, {name: values[records] for name, values in self.values.items()})

    def updated(self, other: "FitParams | None") -> "FitParams":
        """Return these arguments with those of ``other``, which take precedence."""
        if other is None:
            return self
        return FitParams({**self.options, **other.options}, {**self.values, **other.values})

    @property
    def arguments(self) -> dict[str, Any]:
        """Return all arguments of ``fit`` by name."""
        return {**self.options, **self.values}


def split_by_side(fit_params: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, FitParams]:
    """Return the arguments for each set of records: members, non-members, and the population if there is one.

    Args:
        fit_params: the user's arguments. A tuple has one array per set, with one value per record; other values are
            passed unchanged.
        sizes: name of each set to its number of records.
    """
    if not isinstance(fit_params, Mapping) or not all(isinstance(name, str) for name in fit_params):
        raise InputError(f"fit_params={short_repr(fit_params)} must be a dict of arguments of fit: {EXAMPLE}.")
    options: dict[str, Any] = {}
    values: dict[str, dict[str, np.ndarray]] = {side: {} for side in sizes}
    for name, value in fit_params.items():
        if isinstance(value, tuple):
            for side, part in _by_side(name, value, sizes).items():
                values[side][name] = part
            continue
        # DataFrames, Series and arrays; a list with one value per member counts as one too.
        per_record = (hasattr(value, "shape") and np.ndim(value) > 0) or isinstance(value, list)
        if per_record and len(value) in (sizes["members"], sum(sizes.values())):
            parts = ", ".join(f"{side}_values" for side in sizes)
            raise InputError(
                f"fit_params[{name!r}] has {len(value)} values. Reference models train on members and non-members, so pass a "
                f"tuple with one array for each of {', '.join(sizes)}: fit_params={{{name!r}: ({parts})}}."
            )
        options[name] = value
    return {side: FitParams(options, values[side]) for side in sizes}


def _by_side(name: str, value: tuple, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    if len(value) != len(sizes):
        raise InputError(
            f"fit_params[{name!r}] is a tuple of {len(value)}. Pass one array for each of {', '.join(sizes)}, with one "
            "value per record. Write an argument that is not per record as a list."
        )
    parts = {}
    for (side, size), part in zip(sizes.items(), value, strict=True):
        array = np.asarray(part)
        if array.ndim == 0 or len(array) != size:
            length = f"{len(array)} values" if array.ndim != 0 else "a single value"
            raise InputError(
                f"fit_params[{name!r}] has {length} for {side}, which has {size} records. Pass one value per record. Write an "
                "argument that is not per record as a list, for example [(x_val, y_val)] for eval_set."
            )
        parts[side] = array
    return parts
