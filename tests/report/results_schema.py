"""The JSON Schema of results.json, generated from the dataclasses of findings.

The committed file ``results.schema.json`` is what ``python -m tests.report.results_schema`` prints. A test compares the two, so
that a key or a column that is added by accident is noticed.
"""

import collections.abc
import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from guestlist._findings import Results
from guestlist._report import SCHEMA_ID

DIALECT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 110  # characters in a line of the file
NOT_IN_FILE = ("records", "folder")
JSON_TYPES = {bool: "boolean", int: "integer", str: "string", type(None): "null"}
# Columns of the table of attacks: an estimate has a value and the two ends of its interval.
RATE = r"[0-9]+(\.[0-9]+)?(e-?[0-9]+)?"
ESTIMATE_COLUMN = rf"^(auc|advantage|balanced_accuracy|(tpr|ppv|realised_fpr|realised_tpr)@{RATE})(_low|_high)?$"


def results_schema() -> dict[str, Any]:
    """Return the schema of results.json; ``$defs/attacks_row`` is that of a row of the table of attacks."""
    definitions: dict[type, Any] = {}
    content = _object(Results, definitions, NOT_IN_FILE)
    content["properties"] = {"$schema": {"const": SCHEMA_ID}, **content["properties"]}
    named = {kind.__name__: schema for kind, schema in definitions.items()}
    if len(named) < len(definitions):
        raise TypeError("Two dataclasses of results.json have the same name.")
    named["attacks_row"] = _attacks_row()
    return {
        "$schema": DIALECT,
        "$id": SCHEMA_ID,
        "title": "guestlist results.json",
        **content,
        "$defs": dict(sorted(named.items())),
    }


def schema_text() -> str:
    """Return the schema as the text of the committed file."""
    return _pretty(results_schema()) + "\n"


def _pretty(value: Any, margin: str = "") -> str:
    """Return JSON in which an object that fits on a line is written on one."""
    line = json.dumps(value)
    if not isinstance(value, dict) or len(line) <= WIDTH:
        return line
    inner = margin + " "
    entries = [f"{inner}{json.dumps(key)}: {_pretty(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(entries) + f"\n{margin}}}"


def _attacks_row() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "attack": {"type": "string"},
            "unscored": {"type": "integer"},
            "paper": {"type": "string"},
        },
        "patternProperties": {ESTIMATE_COLUMN: {"type": ["number", "null"]}},
        "required": ["attack", "auc", "auc_low", "auc_high", "unscored", "paper"],
        "additionalProperties": False,
    }


def _object(kind: type, definitions: dict[type, Any], omitted: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of a dataclass: every field is required, and no other is allowed."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name not in omitted]
    return {
        "type": "object",
        "properties": {name: _schema(hints[name], definitions) for name in names},
        "required": names,
        "additionalProperties": False,
    }


def _schema(hint: Any, definitions: dict[type, Any]) -> dict[str, Any]:
    """Return the schema of a type hint; dataclasses become entries of ``definitions``."""
    origin = get_origin(hint)
    arguments = get_args(hint)
    if hint is Any:
        return {}
    if hint is float:  # NaN and infinities are written as null
        return {"type": ["number", "null"]}
    if hint in JSON_TYPES:
        return {"type": JSON_TYPES[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _union([_schema(argument, definitions) for argument in arguments])
    if origin is tuple:
        return _tuple(arguments, definitions)
    if origin in (dict, Mapping, collections.abc.Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if is_dataclass(hint) or _is_named_tuple(hint):
        return _reference(hint, definitions)
    raise TypeError(f"results.json has no schema for {hint}: add it to {__name__}.")


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _reference(kind: Any, definitions: dict[type, Any]) -> dict[str, Any]:
    if kind not in definitions:
        definitions[kind] = {}  # a type may contain itself
        if _is_named_tuple(kind):
            definitions[kind] = _numbers(kind)
        else:
            definitions[kind] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _numbers(kind: Any) -> dict[str, Any]:
    """Return the schema of a named tuple of numbers, which is written as a list."""
    length = len(kind._fields)
    names = ", ".join(kind._fields)
    items = {"type": ["number", "null"]}
    return {"type": "array", "description": names, "items": items, "minItems": length, "maxItems": length}


def _tuple(arguments: tuple[Any, ...], definitions: dict[type, Any]) -> dict[str, Any]:
    if len(arguments) == 2 and arguments[1] is ...:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    return {
        "type": "array",
        "prefixItems": [_schema(argument, definitions) for argument in arguments],
        "items": False,
        "minItems": len(arguments),
    }


def _union(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one schema for several: one list of types where that suffices."""
    if not all(set(choice) == {"type"} for choice in choices):
        return {"anyOf": choices}
    names: list[str] = []
    for choice in choices:
        names += [choice["type"]] if isinstance(choice["type"], str) else choice["type"]
    return {"type": list(dict.fromkeys(names))}


if __name__ == "__main__":
    print(schema_text(), end="")
