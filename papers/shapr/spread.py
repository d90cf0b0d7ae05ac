"""A figure over repeats: its mean and spread, and whether it differs from another one of the same repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

LEVEL = 0.05
ROUNDING = 1e-12  # by which shares differ that are equal
BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no difference"


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over repeats.

    Args:
        difference: mean of the figure minus the one it is compared with, repeat by repeat; NaN where there is none.
        p: of a paired t-test of that difference; NaN with one repeat.
    """

    mean: float
    spread: float
    difference: float = float("nan")
    p: float = float("nan")


def spread(values: Sequence[float], against: Sequence[float] | None = None) -> Spread:
    """Of the repeats that have a figure; those of which both have one are compared."""
    own = np.asarray(values, dtype=np.float64)
    known = own[~np.isnan(own)]
    mean = float(known.mean()) if len(known) else float("nan")
    deviation = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    if against is None:
        return Spread(mean, deviation)
    difference = own - np.asarray(against, dtype=np.float64)
    difference = difference[~np.isnan(difference)]
    average = float(difference.mean()) if len(difference) else float("nan")
    return Spread(mean, deviation, average, _p_value(difference))


def verdict(difference: float | None, p: float | None) -> str:
    """What a paired test says at the level of 5 %; with one repeat there is nothing to say."""
    if difference is None or p is None:
        return ""
    if p >= LEVEL:
        return NO_DIFFERENCE
    return BETTER if difference > 0 else WORSE


def _p_value(difference: np.ndarray) -> float:
    if len(difference) < 2:
        return float("nan")
    if np.ptp(difference) < ROUNDING:  # for which a t-test has no spread to divide by
        return 1.0 if abs(difference[0]) < ROUNDING else 0.0
    return float(ttest_rel(difference, np.zeros_like(difference)).pvalue)
