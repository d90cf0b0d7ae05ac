"""Risks that were asked for by name: one that a case lacks the means for is an error, and says what it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.table import RISKS, Risk, risks_of


def requested_risks(case: Case, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Name to (records,) risks: all that are named, or those that an audit has by default."""
    found = risks_of(case, names)
    missing = [name for name in names or () if name not in found]
    if missing:
        raise InputError(f"This audit has not what the risk {missing[0]!r} takes: {_takes(RISKS[missing[0]])}.")
    return found


def attack_scores(case: Case, attack: str) -> np.ndarray:
    """(records,) scores of an attack that was run; an error that names those that were."""
    if attack not in case.scores:
        raise InputError(f"Attack {attack!r} was not run; these were: {', '.join(case.scores) or 'none'}.")
    return case.scores[attack]


def _takes(row: Risk) -> str:
    parts = [
        f"{row.references} references" if row.references else "",
        f"the evidence {row.evidence!r}{f' of {row.part!r}' if row.part else ''}" if row.evidence else "",
        "the target's probabilities with labels" if row.answers else "",
        f"the signals {', '.join(row.needs)}" if row.needs else "",
    ]
    return " and ".join(filter(None, parts))
