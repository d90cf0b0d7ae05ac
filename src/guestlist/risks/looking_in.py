"""Risks that need no references: kept from when the target was at hand, or seen in its own losses."""

from __future__ import annotations

import numpy as np

from guestlist.case import Case


def leverage_of_target(case: Case) -> np.ndarray:
    """(records,) how far the target's answer follows the record's own label; NaN where nobody asks."""
    return case.evidence("leverage").values["leverage"]


def loss_trace(case: Case) -> np.ndarray:
    """(records,) interquartile range of the record's loss over checkpoints; NaN where nobody asks (Pollock et al. 2024)."""
    return case.evidence("loss_trace").values["spread"]


def loss_tail(case: Case) -> np.ndarray:
    """(records,) share of the members of the record's class that the target fits better; NaN where nobody asks.

    A member that training left in the upper tail of losses is an outlier, and outliers are found more often than others. Those
    that were fitted all the same are found most of all, and the final loss does not tell them: it is a first look, for where
    there is nothing else (Pollock et al. 2024; Dodd et al. 2025).
    """
    loss, asked, member = case.view.target("loss"), case.truth.evaluated, case.truth.member
    known = asked & ~np.isnan(loss)
    classes = case.records["class"].to_numpy()
    tail = np.full(len(loss), np.nan)
    for label in np.unique(classes[known]):
        own = np.flatnonzero(known & (classes == label))
        own = own[np.argsort(loss[own])]  # places of rising values are found several times as fast
        others = loss[own[member[own]]]
        if len(others):
            # Of equals half count, so that the order of records is nothing.
            sides = (np.searchsorted(others, loss[own], side) for side in ("left", "right"))
            tail[own] = sum(sides) / (2 * len(others))
    return tail
