"""Table of members sorted by risk."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.asked import requested_risks


def members_by_risk(case: Case, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return one row per member with its id and risks, sorted by the first risk, largest first.

    Args:
        case: The audit.
        names: Risks from ``RISKS``; by default all that an audit has. A risk that the case lacks the inputs for is an error.
    """
    values_by_risk = requested_risks(case, names)
    if not values_by_risk:
        raise InputError("This audit has what none of the risks takes; see: guestlist show risks.")
    member = case.truth.member & case.truth.evaluated
    members = case.records[member].drop(columns=["class", "row"], errors="ignore")
    table = members.assign(**{f"risk_{name}": values[member] for name, values in values_by_risk.items()})
    first = f"risk_{next(iter(values_by_risk))}"
    # Ties are broken by id, so that the list does not depend on the order of the records.
    return table.sort_values([first, "id"], ascending=[False, True], kind="stable", ignore_index=True)
