"""Conversion of frozen dataclasses to JSON and back, by their type hints.

Written by hand: no library in the core turns NaN into null and back, or reads tuples and unions of dataclasses.
"""

import collections.abc
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def to_json(value) -> Any:
    """Convert a value to lists, dicts, numbers and text. NaN and infinities become null."""
    if type(value) is float:
        if math.isfinite(value):
            return value
        return None
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        # Most lists are curves: finite numbers, which stay as they are.
        return [v if type(v) is float and math.isfinite(v) else to_json(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            return None
        return float(value)
    return value


def from_json(hint, value) -> Any:
    """Convert the result of :func:`to_json` back to a value of type ``hint``; null becomes NaN for a float.

    A missing field takes its default. Keys without a field are ignored.

    Raises:
        KeyError: A field without a default is missing.
        ValueError: A value has a different type, for example because the file was edited.
    """
    if hint is float:
        if value is None:
            return float("nan")
        return float(_checked(value, int, float))
    if hint in (int, str, bool):
        return _checked(value, hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Literal:  # A newer version may have more choices.
        return _checked(value, *{type(choice) for choice in inner})
    if origin in (Union, types.UnionType):
        return _from_union(inner, value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        content = _checked(value, dict)
        names = [f.name for f in fields(hint) if f.name in content or not _has_default(f)]
        return hint(**{name: from_json(hints[name], content[name]) for name in names})
    if origin is tuple:
        item_hints = _hints_of_items(inner, _checked(value, list))
        return tuple(from_json(item_hint, item) for item_hint, item in zip(item_hints, value, strict=True))
    if origin in (dict, Mapping, collections.abc.Mapping):
        return {k: from_json(inner[1], v) for k, v in _checked(value, dict).items()}
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):  # NamedTuple of floats
        if len(_checked(value, list)) != len(hint._fields):
            raise ValueError(f"found {len(value)} numbers where {', '.join(hint._fields)} belong")
        return hint(*(from_json(float, v) for v in value))
    return value


def _checked(value, *expected: type):
    """Return the value; raise if it has a different type. True and false are not numbers."""
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise ValueError(
            f"found {type(value).__name__} where {' or '.join(kind.__name__ for kind in expected)} belongs"
        )
    return value


def _from_union(hints, value) -> Any:
    """Convert by the first of several types that the value fits."""
    if value is None and type(None) in hints:
        return None
    known = [hint for hint in hints if hint is not type(None)]
    for hint in known[:-1]:
        try:
            return from_json(hint, value)
        except (ValueError, KeyError):
            continue
    return from_json(known[-1], value)


def _hints_of_items(inner, items: list) -> tuple:
    """Return one type per item of a tuple; with an ellipsis all have the first."""
    if len(inner) == 2 and inner[1] is ...:
        return (inner[0],) * len(items)
    return inner


def _has_default(field: Field) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING
