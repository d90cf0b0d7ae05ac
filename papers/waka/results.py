"""Results of a run as small files: what was run, on what, how often, and what came out."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from papers.waka.data import Pool

FOLDER = Path(__file__).parent / "results"
DIGITS = 4
LIBRARIES = ("guestlist", "numpy", "scipy", "scikit-learn", "numba", "pandas")


def write(name: str, command: str, pools: list[Pool], repeats: dict, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    content = {
        "command": command,
        "versions": {"python": platform.python_version(), **{library: version(library) for library in LIBRARIES}},
        "sizes": {pool.name: pool.sizes for pool in pools},
        "repeats": repeats,
        "seconds": round(seconds, 1),
        **{table: [_plain(asdict(row)) for row in rows] for table, rows in tables.items()},
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def read(name: str) -> dict | None:
    """The result of a command, or None where it has not been run."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def _plain(value):
    """Numbers rounded, and NaN as null, which JSON has."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
