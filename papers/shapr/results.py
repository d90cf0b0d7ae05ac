"""Storage of the results of this paper's commands."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from guestlist import InputError
from papers import results

FOLDER = Path(__file__).parent / "results"
LIBRARIES = (*results.LIBRARIES, "torch")


def write(name: str, command: str, sizes: dict, repeats: dict, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    results.write(FOLDER / f"{name}.json", command, sizes, repeats, seconds, tables, libraries=LIBRARIES)


def read(name: str) -> dict | None:
    """Return the result of a command, or None if it was not run."""
    return results.read(FOLDER / f"{name}.json")


def others(name: str, datasets: Collection[str], repeats: int) -> tuple[dict, dict[str, list], float]:
    """Return sizes, rows and seconds of the committed result without the rows of ``datasets``.

    The seconds are those of the whole result, which does not have them by dataset.

    Raises:
        InputError: the committed result has a different number of repeats.
    """
    result = read(name)
    if result is None:
        return {}, {}, 0.0
    if result["repeats"]["count"] != repeats:
        raise InputError(
            f"The committed {name} has {result['repeats']['count']} targets, this run {repeats}. Run without --add."
        )
    sizes = {dataset: size for dataset, size in result["sizes"].items() if dataset not in datasets}
    tables = {
        table: [row for row in rows if row["dataset"] not in datasets]
        for table, rows in result.items()
        if isinstance(rows, list)
    }
    return sizes, tables, result["seconds"]


def expected(name: str) -> str:
    """Return how long a command is expected to take."""
    return results.expected(name, FOLDER / f"{name}.json")
