"""Whether the classes on which the target generalises worse are those whose members bear more risk.

The gap of a class is the target's accuracy on its members minus that on its non-members (Song & Mittal 2021). Both the gap and
the mean risk are measured on few records of each class, and that noise pulls a correlation towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.evaluate import Estimate
from guestlist.evaluate.correlation import FEWEST, pearson, spearman
from guestlist.findings import group_risks
from guestlist.findings.slices import CLASS


@dataclass(frozen=True)
class GapCorrelation:
    """The correlation of the gap with the mean of a risk, over classes; the intervals are for other classes."""

    risk: str
    classes: int
    pearson: Estimate
    spearman: Estimate


def find(case: Case) -> tuple[GapCorrelation, ...] | None:
    """One for each risk; None with fewer than four classes that are large enough to judge."""
    parts = case.of(group_risks.find)
    classes = [one for one in parts.judged if one.kind == CLASS and one.gap is not None] if parts else []
    if len(classes) < FEWEST:
        return None
    gap = np.array([one.gap.value for one in classes if one.gap is not None])
    found = []
    for at, named in enumerate(classes[0].risks):
        mean = np.array([one.risks[at].mean.value for one in classes])
        known = ~np.isnan(mean)
        figures = pearson(mean[known], gap[known]), spearman(mean[known], gap[known])
        found.append(GapCorrelation(named.risk, int(known.sum()), *figures))
    return tuple(found) or None
