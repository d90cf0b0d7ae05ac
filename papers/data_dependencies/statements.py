"""Statements of the paper, tested on our intervals."""

from __future__ import annotations

from collections.abc import Callable

from guestlist.privacy import humphries
from papers.data_dependencies.published import DELTA

Rows = list[dict]
Holds = Callable[[dict], bool]
SIMILAR = 0.05  # advantages that differ by at most this count as similar


def of_attack(rows: Rows, attack: str, *, game: str | None = None, lowest: float = 0.0) -> Rows:
    """Return the rows of one attack from an epsilon on; plain training counts as infinite."""
    return [
        row
        for row in rows
        if row["attack"] == attack and game in (None, row["game"]) and (row["epsilon"] or float("inf")) >= lowest
    ]


def at(rows: Rows, epsilon: float | None) -> Rows:
    return [row for row in rows if row["epsilon"] == epsilon]


def count(rows: Rows, holds: Holds) -> str:
    """Return the number of settings in which a statement holds, such as "3 of 5"."""
    return f"{sum(map(holds, rows))} of {len(rows)}"


def larger_than_control(row: dict) -> bool:
    """Return whether the whole interval of the difference to the i.i.d. control is above 0."""
    return row["difference"][1] > 0


def mean_larger(row: dict) -> bool:
    """Return whether the mean advantage is larger than that of the i.i.d. control, whatever the interval."""
    return row["difference"][0] > 0


def above_bound(row: dict) -> bool:
    return row["epsilon"] is not None and row["apart"][1] > humphries(row["epsilon"], DELTA)


def control_within_bound(row: dict) -> bool:
    """Return whether the lower end of the i.i.d. control's interval is within the bound."""
    return row["epsilon"] is None or row["mixed"][1] <= humphries(row["epsilon"], DELTA)


def negative(row: dict) -> bool:
    return row["apart"][2] < 0


def similar(row: dict, other: dict) -> bool:
    """Return whether two advantages differ by at most 0.05."""
    return abs(row["apart"][0] - other["apart"][0]) <= SIMILAR


def epsilon_of(row: dict) -> str:
    return "∞" if row["epsilon"] is None else f"{row['epsilon']:g}"
