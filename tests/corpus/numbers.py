"""The numbers of an audit as a flat dictionary from path to value, and differences between two of them.

A path is made of keys and positions, for example ``results.outcomes.3.auc.0``. Numbers, booleans and codes are kept.
Sentences and fingerprints are not: texts may be reworded, and fingerprints contain names of classes. A long list of numbers is
summarised by its length, mean, standard deviation and a weighted mean that depends on the order.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import guestlist as gl

RELATIVE = 1e-9
ABSOLUTE = 1e-12  # for numbers that are zero but for rounding
LONGEST = 12  # longer lists of numbers are summarised
# Display names, versions of libraries, fingerprints that contain names of classes, and the command that made an audit.
LEFT_OUT = re.compile(r"results\.(provenance|origin|format)\b|.*\b(sha256|policy|versions|fingerprints?|title)\b")
CODE = re.compile(r"\S*( \S+){0,2}")  # a name, a code or a state: at most three words


def numbers_of(outcome: Any, folder: Path) -> dict[str, Any]:
    """Return the numbers of what an audit of the corpus returned."""
    if not isinstance(outcome, gl.Results):
        return dict(_flat("outcome", plain(outcome)))
    document = json.loads((folder / "results.json").read_text("utf-8"))
    flat = dict(_flat("results", document))
    assert outcome.records is not None
    for name, column in outcome.records.items():
        flat |= _flat(f"records.{name}", _numeric(column))
    return flat | dict(_flat("attacks", plain(outcome.attacks.to_dict("list"))))


def plain(value: Any) -> Any:
    """Return dataclasses, tuples and arrays as dictionaries and lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value


def _numeric(column: pd.Series) -> list:
    """Return a column of numbers as a list; of texts, only how many there are of each code."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return [None if pd.isna(value) else float(value) for value in column]
    return sorted(column.value_counts(dropna=False).tolist())


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if LEFT_OUT.match(path):
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}", inner)
    elif isinstance(value, list):
        if len(value) > LONGEST and all(_is_number(inner) for inner in value):
            yield from ((f"{path}.{key}", number) for key, number in _summary(value).items())
        else:
            for position, inner in enumerate(value):
                yield from _flat(f"{path}.{position}", inner)
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, None
    elif not isinstance(value, str) or CODE.fullmatch(value):
        yield path, value


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _summary(values: list) -> dict[str, Any]:
    array = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    known = np.isfinite(array)
    weights = (1 + np.flatnonzero(known)) / len(array)
    finite = array[known]
    summary: dict[str, Any] = {"length": len(array)}
    if len(finite) < len(array):
        summary["known"] = len(finite)
    if len(finite):
        summary |= {"mean": float(finite.mean()), "std": float(finite.std()), "weighted": float(finite @ weights)}
    return summary


def differences(expected: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """Return one line for every path that is missing, new or has a different value."""
    lines = [f"{path}: missing, expected {value}" for path, value in expected.items() if path not in computed]
    lines += [f"{path}: new, found {value}" for path, value in computed.items() if path not in expected]
    for path, value in expected.items():
        if path in computed and not same(value, computed[path]):
            lines.append(f"{path}: expected {value}, found {computed[path]}")
    return lines


def same(expected: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers within the tolerance."""
    if isinstance(expected, bool) or isinstance(computed, bool):
        return expected is computed
    if isinstance(expected, int | float) and isinstance(computed, int | float):
        return math.isclose(expected, computed, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return expected == computed
