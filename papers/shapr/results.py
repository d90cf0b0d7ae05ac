"""Storage of the results of this paper's commands."""

from __future__ import annotations

from pathlib import Path

from papers import results

FOLDER = Path(__file__).parent / "results"
LIBRARIES = (*results.LIBRARIES, "torch")


def write(name: str, command: str, sizes: dict, repeats: dict, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    results.write(FOLDER / f"{name}.json", command, sizes, repeats, seconds, tables, libraries=LIBRARIES)


def read(name: str) -> dict | None:
    """Return the result of a command, or None if it was not run."""
    return results.read(FOLDER / f"{name}.json")


def expected(name: str) -> str:
    """Return how long a command is expected to take."""
    return results.expected(name, FOLDER / f"{name}.json")
