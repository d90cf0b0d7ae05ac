"""Memorisation: the increase in the probability of a correct prediction by training on the record."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.samples import error_of
from guestlist.case import Case
from guestlist.evaluate.intervals import clopper_pearson_lower, clopper_pearson_upper
from guestlist.risks.bounded import WithInterval


def memorisation(case: Case) -> WithInterval:
    """Return (records,) P(correct | trained on it) - P(correct | not), over references (Feldman & Zhang 2020).

    NaN where no reference trained, or none did not train, on the record.
    """
    inside = case.view.inside("correct")
    outside = case.view.outside("correct")
    counts = [np.rint(np.nan_to_num(side.mean) * side.count) for side in (inside, outside)]
    return difference_of_shares(counts[0], inside.count, counts[1], outside.count)


def difference_of_shares(
    right: np.ndarray, n: np.ndarray, right_outside: np.ndarray, n_outside: np.ndarray, *, confidence: float = 0.95
) -> WithInterval:
    """Return (records,) differences of shares, as ``evaluate.proportion_difference`` does for one record.

    The interval is for a record that was named beforehand; among the largest of many values it covers less.
    """
    error = error_of(confidence) / 2
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        a = right / n
        b = right_outside / n_outside
    below, above = _bounds(right, np.maximum(n, 1), error)
    below_outside, above_outside = _bounds(right_outside, np.maximum(n_outside, 1), error)
    low = np.hypot(a - below, above_outside - b)
    high = np.hypot(above - a, b - below_outside)
    return WithInterval(a - b, a - b - low, a - b + high)


def _bounds(right: np.ndarray, n: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute Clopper-Pearson bounds, once for all records with equal counts."""
    # Pairs are coded as one number, since sorting rows of a table takes ten times as long.
    base = n.max(initial=0) + 1
    pairs, which = np.unique(right * base + n, return_inverse=True)
    low, high = (end(pairs // base, pairs % base, error) for end in (clopper_pearson_lower, clopper_pearson_upper))
    return low[which], high[which]
