"""The members with the largest risks, as a table that can be handed on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.asked import requested_risks


def members_by_risk(case: Case, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per member: who it is and its risks, the largest values of the first risk first.

    Args:
        names: risks from ``RISKS``; all that an audit has by default. One that the case lacks the means for is an error.
    """
    found = requested_risks(case, names)
    if not found:
        raise InputError("This audit has what none of the risks takes; see: guestlist show risks.")
    member = case.truth.member & case.truth.evaluated
    who = case.records[member].drop(columns=["class", "row"], errors="ignore")
    table = who.assign(**{f"risk_{name}": values[member] for name, values in found.items()})
    first = f"risk_{next(iter(found))}"
    # Ties are broken by id, so that the list does not hang on the order of the records.
    return table.sort_values([first, "id"], ascending=[False, True], kind="stable", ignore_index=True)
