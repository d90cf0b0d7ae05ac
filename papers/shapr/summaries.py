"""A metric over repeats: mean, standard deviation, and paired comparison with another metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

LEVEL = 0.05
ROUNDING = 1e-12  # tolerance for equal shares
BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no difference"


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation over repeats.

    Args:
        difference: mean paired difference from the compared metric; NaN without one.
        p: p-value of a paired t-test of that difference; NaN with one repeat.
    """

    mean: float
    deviation: float
    difference: float = float("nan")
    p: float = float("nan")


def summarise(values: Sequence[float], against: Sequence[float] | None = None) -> Summary:
    """Summarise the repeats that have a value; compare those in which both have one."""
    all_values = np.asarray(values, dtype=np.float64)
    known = all_values[~np.isnan(all_values)]
    mean = float(known.mean()) if len(known) else float("nan")
    deviation = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    if against is None:
        return Summary(mean, deviation)
    difference = all_values - np.asarray(against, dtype=np.float64)
    difference = difference[~np.isnan(difference)]
    average = float(difference.mean()) if len(difference) else float("nan")
    return Summary(mean, deviation, average, _p_value(difference))


def verdict(difference: float | None, p: float | None) -> str:
    """Return the verdict of a paired test at the 5 % level; with one repeat there is none."""
    if difference is None or p is None:
        return ""
    if p >= LEVEL:
        return NO_DIFFERENCE
    return BETTER if difference > 0 else WORSE


def _p_value(difference: np.ndarray) -> float:
    if len(difference) < 2:
        return float("nan")
    if np.ptp(difference) < ROUNDING:  # the standard deviation of a t-test would be 0
        return 1.0 if abs(difference[0]) < ROUNDING else 0.0
    return float(ttest_rel(difference, np.zeros_like(difference)).pvalue)
