"""Risks that need no references: collected from the target, or computed from its losses."""

from __future__ import annotations

import numpy as np

from guestlist.case import Case


def leverage_of_target(case: Case) -> np.ndarray:
    """Return (records,) the leverage of a record on the target's output; NaN where it is not evaluated."""
    return case.evidence("leverage").values["leverage"]


def loss_trace(case: Case) -> np.ndarray:
    """Return (records,) the interquartile range of the loss over checkpoints; NaN if not evaluated (Pollock et al. 2024)."""
    return case.evidence("loss_trace").values["spread"]


def loss_tail(case: Case) -> np.ndarray:
    """Return (records,) the share of the members of the record's class that the target fits better.

    A member in the upper tail of losses is an outlier, and attacks identify outliers more often than others. Outliers that the
    model fitted nevertheless are identified most often, and the final loss does not reveal them: it is a first indication, if
    there is nothing else (Pollock et al. 2024; Dodd et al. 2025). NaN where the record is not evaluated.
    """
    loss = case.view.target("loss")
    member = case.truth.member
    known = case.truth.evaluated & ~np.isnan(loss)
    classes = case.records["class"].to_numpy()
    tail = np.full(len(loss), np.nan)
    for label in np.unique(classes[known]):
        rows = np.flatnonzero(known & (classes == label))
        rows = rows[np.argsort(loss[rows])]  # Searching for sorted values is several times as fast.
        member_losses = loss[rows[member[rows]]]
        if len(member_losses):
            # Ties count half, so that the result does not depend on the order of records.
            ranks = (np.searchsorted(member_losses, loss[rows], side) for side in ("left", "right"))
            tail[rows] = sum(ranks) / (2 * len(member_losses))
    return tail
