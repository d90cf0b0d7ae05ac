"""The members with the largest risks, as a table that can be handed on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.table import RISKS, risks_of

# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def members_by_risk(case: Case, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per member: who it is and its risks, the largest values of the first risk first.

    Args:
        names: risks from ``RISKS``; all that an audit has by default. One that the case lacks the means for is an error.
    """
    found = risks_of(case, names)
    missing = [name for name in names or () if name not in found]
    if missing:
        row = RISKS[missing[0]]
        raise InputError(f"This audit has not what the risk {missing[0]!r} takes: {_takes(row)}.")
    if not found:
        raise InputError("This audit has what none of the risks takes; see: guestlist show risks.")
    member = case.truth.member & case.truth.asked
    who = case.records[member].drop(columns=["class", "row"], errors="ignore")
    table = who.assign(**{f"risk_{name}": values[member] for name, values in found.items()})
    first = f"risk_{next(iter(found))}"
    # Ties are broken by id, so that the list does not hang on the order of the records.
    return table.sort_values([first, "id"], ascending=[False, True], kind="stable", ignore_index=True)


def for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """The same with an apostrophe before every text that a spreadsheet would compute."""

    def text(cell):
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell

    return table.rename(columns=text).map(text)


def _takes(row) -> str:
    parts = [
        f"{row.references} references" if row.references else "",
        f"the evidence {row.evidence!r}{f' of {row.part!r}' if row.part else ''}" if row.evidence else "",
        "the target's probabilities" if row.answers else "",
        f"the signals {', '.join(row.needs)}" if row.needs else "",
    ]
    return " and ".join(filter(None, parts))
