"""Who the target was compared with."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.case import Case


@dataclass(frozen=True)
class References:
    """Who it was compared with: how many, trained on how many records."""

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
