"""What the paper says of each figure, held against ours: said to come out only where our intervals show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from guestlist.privacy import humphries
from papers.data_dependencies.published import DELTA

Rows = list[dict]
# Of one statement: which rows it is about, and of one row whether it is borne out.
Holds = Callable[[dict], bool]


def of(rows: Rows, attack: str, *, game: str | None = None, lowest: float = 0.0) -> Rows:
    """Rows of one attack, from an epsilon on; plain training counts as infinite."""
    return [
        row
        for row in rows
        if row["attack"] == attack and game in (None, row["game"]) and (row["epsilon"] or float("inf")) >= lowest
    ]


def at(rows: Rows, epsilon: float | None) -> Rows:
    return [row for row in rows if row["epsilon"] == epsilon]


def one_kind(rows: Rows) -> Rows:
    """Those of games in which all members have the attribute, or none has."""
    return [row for row in rows if row["game"] in ("p = 0", "p = 1")]


def beside(rows: Rows, epsilon: float, others: Rows, other: float | None) -> dict:
    """A row with the advantage of another ``beside`` it."""
    return {**at(rows, epsilon)[0], "beside": at(others, other)[0]["apart"]}


def as_much_as_beside(row: dict) -> bool:
    """Whether its interval reaches that of the other."""
    return row["apart"][2] >= row["beside"][1]


def more_apart(row: dict) -> bool:
    """Whether the whole interval of the difference lies above 0."""
    return row["difference"][1] > 0


def above_bound(row: dict) -> bool:
    return row["epsilon"] is not None and row["apart"][1] > humphries(row["epsilon"], DELTA)


def mixed_under_bound(row: dict) -> bool:
    """Whether the counterpart is nowhere shown to be above the bound."""
    return row["epsilon"] is None or row["mixed"][1] <= humphries(row["epsilon"], DELTA)


def near_one(row: dict) -> bool:
    return row["apart"][0] >= 0.9


def negative(row: dict) -> bool:
    return row["apart"][2] < 0


def told(statement: str, rows: Iterable[dict], holds: Holds) -> str:
    """A line of the page: the statement, and in how many of the settings ours bear it out."""
    rows = list(rows)
    those = [row for row in rows if holds(row)]
    verdict = "comes out" if len(those) == len(rows) else "does not come out" if not those else "comes out in part"
    missing = ", ".join(dict.fromkeys(_where(row) for row in rows if row not in those))
    return f"* {statement}: **{verdict}** ({len(those)} of {len(rows)} settings{'; not at ' + missing if missing else ''})."


def _where(row: dict) -> str:
    return f"{row['game']}, ε = {epsilon_of(row)}"


def epsilon_of(row: dict) -> str:
    return "∞" if row["epsilon"] is None else f"{row['epsilon']:g}"
