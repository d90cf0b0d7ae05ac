"""Predictive value of the risks for the headline attack."""

from __future__ import annotations

from guestlist.case import Case
from guestlist.findings import headline
from guestlist.risks import PredictiveValue, predictive_values, risks_of


def find(case: Case) -> tuple[PredictiveValue, ...] | None:
    """Each risk of the case against the calls of the headline attack; None where there is no risk."""
    return predictive_values(case, attacks=[case.of(headline.find).name]) if risks_of(case) else None
