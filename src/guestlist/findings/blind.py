"""Whether members can be told from non-members without asking the model: what its numbers are to be held against."""

from __future__ import annotations

from guestlist.blind.baseline import Baseline
from guestlist.case import Case


def find(case: Case) -> Baseline | None:
    """What was found while the records were at hand; None where it was not looked for."""
    return case.baseline
