"""Storage of the results of this paper's commands."""

from __future__ import annotations

from pathlib import Path

from papers import results
from papers.waka.data import Pool

FOLDER = Path(__file__).parent / "results"


def write(name: str, command: str, pools: list[Pool], repeats: dict, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    sizes = {pool.name: pool.sizes for pool in pools}
    results.write(FOLDER / f"{name}.json", command, sizes, repeats, seconds, tables)


def read(name: str) -> dict | None:
    """Return the result of a command, or None if it was not run."""
    return results.read(FOLDER / f"{name}.json")


def expected(name: str) -> str:
    """Return how long a command is expected to take."""
    return results.expected(name, FOLDER / f"{name}.json")
