"""Number and size of the reference models."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.case import Case


@dataclass(frozen=True)
class References:
    """Number of reference models and mean number of records that they trained on."""

    count: int
    records: float
    rate: float
    seed: int


def find(case: Case) -> References | None:
    view = case.view
    if not view.references:
        return None
    records = float(view.reference_member.sum(axis=1).mean())
    return References(view.references, records, case.setting.rate, case.setting.seed)
