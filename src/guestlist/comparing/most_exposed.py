"""Most exposed members, chosen independently of the compared outputs.

Members that are extreme in one audit are so partly by chance, and regress to the mean in the next, whatever the defence does.
Therefore the *references* of both audits choose the members (by mu), and the outputs of the two targets are compared: training
a target is an independent draw. A member counts by the larger mu, so that members exposed by the second model are included.
"""

from __future__ import annotations

import numpy as np

from guestlist.comparing.comparison import MostExposed
from guestlist.comparing.figures import paired_difference
from guestlist.comparing.pairing import Side
from guestlist.evaluate import tpr_at_fpr

SHARE = 0.01
CHOSEN_BY = "risk_mu"


def most_exposed_in_either(first: Side, second: Side) -> np.ndarray | None:
    """(records,) true for the members that are most exposed in either audit; None where one has no mu."""
    if not all(side.has(CHOSEN_BY) for side in (first, second)):
        return None
    either = np.fmax(first.values(CHOSEN_BY), second.values(CHOSEN_BY))
    members = np.flatnonzero(first.member & ~np.isnan(either))
    # Of equals, the first by id: records are in that order.
    order = members[np.argsort(-either[members], kind="stable")]
    chosen = np.zeros(len(either), dtype=bool)
    chosen[order[: count_of(len(members))]] = True
    return chosen if chosen.any() else None


def count_of(members: int) -> int:
    """Return ``SHARE`` of the members, at least 1."""
    return max(1, round(SHARE * members)) if members else 0


def exposed_summary(chosen: np.ndarray, nonmembers: int, fpr: float, confidence: float) -> MostExposed:
    """Summarise the chosen members: their number and the detectable difference."""
    members = int(chosen.sum())
    return MostExposed(SHARE, members, seen_from(members, nonmembers, fpr, confidence))


def seen_from(members: int, nonmembers: int, fpr: float, confidence: float) -> float | None:
    """The smallest difference in shares found that is shown, if the first attack finds all of ``members``; None: none is.

    >>> seen_from(3, 1000, 0.05, 0.99), seen_from(20, 1000, 0.05, 0.99)
    (None, 0.5)
    """

    def detectable(remaining: int) -> bool:
        difference = paired_difference(
            *(_flagged_tpr(members, flagged, nonmembers, fpr, confidence) for flagged in (members, remaining))
        )
        return difference.high < 0  # False where it is withheld

    if not detectable(0):
        return None
    # shown if so many are left, not shown if so many are
    low = 0
    high = members
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if detectable(middle) else (low, middle)
    return (members - low) / members


def _flagged_tpr(members: int, flagged: int, nonmembers: int, fpr: float, confidence: float):
    """The TPR of an attack that is sure of some members and finds nothing about the others."""
    scores = np.concatenate([np.arange(members) < flagged, np.linspace(0.0, 0.5, nonmembers)])
    return tpr_at_fpr(scores.astype(float), np.arange(len(scores)) < members, fpr, confidence=confidence)
