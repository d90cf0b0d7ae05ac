"""Frozen dataclasses to JSON and back, by their type hints."""

from __future__ import annotations

import collections.abc
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def to_json(value) -> Any:
    """Plain lists, dicts, numbers and text. NaN and infinities become null: JSON has no others."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        # Most of what there is are curves: finite numbers, which stay what they are.
        return [v if type(v) is float and math.isfinite(v) else to_json(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value


def from_json(hint, value) -> Any:
    """A value of type ``hint`` from what :func:`to_json` made of it; null becomes NaN where a float is wanted.

    What is lacking takes the dataclass's default; where there is none, it is a KeyError. What it has no field for is left out.
    A value of another type is a ValueError: somebody edited the file, or wrote it with another program.
    """
    if hint is float:
        return float("nan") if value is None else float(_of(value, int, float))
    if hint in (int, str, bool):
        return _of(value, hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:  # a newer version may know a word more
        return _of(value, *{type(one) for one in inner})
    if origin in (Union, types.UnionType):
        return _one_of(inner, value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints, optional = get_type_hints(hint), {f.name for f in fields(hint) if _has_default(f)}
        given = [f.name for f in fields(hint) if f.name in _of(value, dict) or f.name not in optional]
        return hint(**{name: from_json(hints[name], value[name]) for name in given})
    if origin is tuple:
        return tuple(from_json(one, v) for one, v in zip(_each(inner, _of(value, list)), value, strict=True))
    if origin in (dict, Mapping, collections.abc.Mapping):
        return {k: from_json(inner[1], v) for k, v in _of(value, dict).items()}
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):  # a NamedTuple of floats
        if len(_of(value, list)) != len(hint._fields):
            raise ValueError(f"found {len(value)} numbers where {', '.join(hint._fields)} belong")
        return hint(*(from_json(float, v) for v in value))
    return value


def _of(value, *kinds: type):
    """The value, refused where it is of another kind; true and false are no numbers."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"found {type(value).__name__} where {' or '.join(kind.__name__ for kind in kinds)} belongs")
    return value


def _one_of(hints, value) -> Any:
    """By the first of several types that it fits."""
    if value is None and type(None) in hints:
        return None
    known = [hint for hint in hints if hint is not type(None)]
    for hint in known[:-1]:
        try:
            return from_json(hint, value)
        except (ValueError, KeyError):
            continue
    return from_json(known[-1], value)


def _each(inner, values: list) -> tuple:
    """The types of a tuple's values: all alike where it ends in dots."""
    return (inner[0],) * len(values) if len(inner) == 2 and inner[1] is ... else inner


def _has_default(field: Field) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING
