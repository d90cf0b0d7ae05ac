"""Frozen dataclasses to JSON and back, by their type hints."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


def to_json(value) -> Any:
    """Plain lists, dicts, numbers and text. NaN and infinities become null: JSON has no others."""
    if type(value) is float:  # most of what there is: curves
        return value if math.isfinite(value) else None
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_json(v) for v in value]
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
    """
    if hint is float:
        return float("nan") if value is None else float(value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else from_json(next(i for i in inner if i is not type(None)), value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints, optional = get_type_hints(hint), {f.name for f in fields(hint) if _has_default(f)}
        given = [f.name for f in fields(hint) if f.name in value or f.name not in optional]
        return hint(**{name: from_json(hints[name], value[name]) for name in given})
    if origin is tuple:
        return tuple(from_json(inner[0], v) for v in value)
    if origin in (dict, Mapping):
        return {k: from_json(inner[1], v) for k, v in value.items()}
    if isinstance(hint, type) and issubclass(hint, tuple):  # a NamedTuple of floats
        return hint(*(from_json(float, v) for v in value))
    return value


def _has_default(field: Field) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING
