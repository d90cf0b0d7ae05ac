"""What the risks are worth against the headline attack."""

from __future__ import annotations

from guestlist.case import Case
from guestlist.findings import headline
from guestlist.risks import Worth, risks_of, worth_of_risks


def find(case: Case) -> tuple[Worth, ...] | None:
    """Each risk of the case against the calls of the headline attack; None where there is no risk."""
    return worth_of_risks(case, attacks=[case.of(headline.find).name]) if risks_of(case) else None
