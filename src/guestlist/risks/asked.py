"""Requested risks: an error names the inputs that a case lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.risks.table import RISKS, Risk, risks_of


def requested_risks(case: Case, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Return name to (records,) risks: those named, or those that an audit has by default."""
    values = risks_of(case, names)
    missing = [name for name in names or () if name not in values]
    if missing:
        raise InputError(f"This audit has not what the risk {missing[0]!r} takes: {_takes(RISKS[missing[0]])}.")
    return values


def attack_scores(case: Case, attack: str) -> np.ndarray:
    """Return (records,) scores of an attack that was run; the error names those that were."""
    if attack not in case.scores:
        raise InputError(f"Attack {attack!r} was not run; these were: {', '.join(case.scores) or 'none'}.")
    return case.scores[attack]


def _takes(row: Risk) -> str:
    parts = []
    if row.references:
        parts.append(f"{row.references} references")
    if row.evidence and row.part:
        parts.append(f"the evidence {row.evidence!r} of {row.part!r}")
    elif row.evidence:
        parts.append(f"the evidence {row.evidence!r}")
    if row.answers:
        parts.append("the target's probabilities with labels")
    if row.needs:
        parts.append(f"the signals {', '.join(row.needs)}")
    return " and ".join(parts)
