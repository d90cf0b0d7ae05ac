"""Committed results of this paper's commands."""

from __future__ import annotations

from pathlib import Path

from papers import results

FOLDER = Path(__file__).parent / "results"


def write(name: str, command: str, sizes: dict, repeats: int, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    repeated = {"count": repeats, "unit": "repeats"}
    libraries = ("guestlist", "numpy", "scikit-learn", "torch", "opacus")
    results.write(FOLDER / f"{name}.json", command, sizes, repeated, seconds, tables, libraries=libraries)


def read(name: str) -> dict | None:
    """Return the result of a command, or None where it has not been run."""
    return results.read(FOLDER / f"{name}.json")


def expected(name: str) -> str:
    """Return the expected duration of a command."""
    return results.expected(name, FOLDER / f"{name}.json")
