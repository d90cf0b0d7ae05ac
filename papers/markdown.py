"""Parts of a page that every paper's has."""

from __future__ import annotations

from collections.abc import Callable


def table(rows: list, columns: dict[str, Callable]) -> str:
    """A table in Markdown: the title of each column, and what it shows of a row."""
    lines = [list(columns), ["---"] * len(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def made_by(result: dict, sizes: str, libraries: tuple[str, ...] = ("guestlist", "numpy", "scikit-learn")) -> str:
    """The command, time and versions under a table.

    Args:
        sizes: a sentence about the data.
    """
    repeats = result["repeats"]
    versions = ", ".join(f"{name} {result['versions'][name]}" for name in libraries)
    return (
        f"<small>`{result['command']}`: {repeats['count']} {repeats['of']}, {result['seconds']:,.0f} s on a shared "
        f"machine. {sizes} {versions}.</small>"
    )
