"""Parts of a page that every paper's has."""

from __future__ import annotations

from collections.abc import Callable


def table(rows: list, columns: dict[str, Callable]) -> str:
    """A table in Markdown: the title of each column, and what it shows of a row."""
    lines = [list(columns), ["---"] * len(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def page(
    introduction: str,
    sections: dict[str, Callable[[dict], str]],
    read: Callable[[str], dict | None],
    foot: Callable[[dict], str],
    *closing: str,
) -> str:
    """A page with a section for each result that is there.

    Args:
        sections: name of a result to what is said of it.
        read: name of a result to its content, or None where it has not been run.
        foot: what stands under each section.
    """
    found = {name: read(name) for name in sections}
    there = [f"{sections[name](result)}\n{foot(result)}\n" for name, result in found.items() if result]
    return "\n".join([introduction, *there, *closing])


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
