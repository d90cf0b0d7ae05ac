"""Results of a run as small files: command, sizes, repeats, seconds, versions and rows."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

DIGITS = 4
LIBRARIES = ("guestlist", "numpy", "scipy", "scikit-learn", "numba", "pandas")


def write(
    path: Path,
    command: str,
    sizes: dict[str, dict],
    repeats: dict,
    seconds: float,
    tables: dict[str, list],
    *,
    libraries: tuple[str, ...] = LIBRARIES,
) -> None:
    """Write the rows of each table, which are dataclasses or rows of an earlier result, with their numbers rounded.

    Args:
        sizes: dataset to its sizes.
        repeats: ``count`` and its ``unit``.
        libraries: names of the libraries that are stored with their versions.
    """
    content = {
        "command": command,
        "versions": {"python": platform.python_version(), **{library: version(library) for library in libraries}},
        "sizes": sizes,
        "repeats": repeats,
        "seconds": round(seconds, 1),
        **{
            table: [_plain(row if isinstance(row, dict) else asdict(row)) for row in rows]
            for table, rows in tables.items()
        },
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def read(path: Path) -> dict | None:
    """Return the result of a command, or None where it has not been run."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def expected(name: str, path: Path) -> str:
    """Return the duration of the run of the committed result."""
    result = read(path)
    if result is None or result["seconds"] is None:
        return f"{name}: no committed time."
    return f"{name}: about {result['seconds']:,.0f} s, as the committed result took ({result['command']})."


def _plain(value):
    """Return numbers rounded, with NaN as null, because JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
