"""How much likelier a model is right about a record when it trained on it."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.samples import error_of
from guestlist.case import Case
from guestlist.evaluate.intervals import clopper_pearson_lower, clopper_pearson_upper
from guestlist.risks.bounded import WithInterval


def memorisation(case: Case) -> WithInterval:
    """(records,) P(right | trained on it) - P(right | not), over references (Feldman & Zhang 2020).

    NaN where no reference trained, or none did not train, on the record.
    """
    inside, outside = case.view.inside("correct"), case.view.outside("correct")
    counts = [np.rint(np.nan_to_num(side.mean) * side.count) for side in (inside, outside)]
    return difference_of_shares(counts[0], inside.count, counts[1], outside.count)


def difference_of_shares(
    right: np.ndarray, n: np.ndarray, right_outside: np.ndarray, n_outside: np.ndarray, *, confidence: float = 0.95
) -> WithInterval:
    """(records,) share minus share, as ``evaluate.proportion_difference`` gives it for one record.

    The interval is for a record that was named beforehand; among the largest of many values it covers less.
    """
    error = error_of(confidence) / 2
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        a, b = right / n, right_outside / n_outside
    with_any = np.maximum(n, 1), np.maximum(n_outside, 1)
    (below, above), (below_outside, above_outside) = (
        _bounds(count, of, error) for count, of in zip((right, right_outside), with_any, strict=True)
    )
    low, high = np.hypot(a - below, above_outside - b), np.hypot(above - a, b - below_outside)
    return WithInterval(a - b, a - b - low, a - b + high)


def _bounds(right: np.ndarray, n: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's, each once for all records that have them: so many of so many."""
    # One whole number for each pair: to sort rows of a table takes ten times as long.
    most = n.max(initial=0) + 1
    pairs, which = np.unique(right * most + n, return_inverse=True)
    low, high = (end(pairs // most, pairs % most, error) for end in (clopper_pearson_lower, clopper_pearson_upper))
    return low[which], high[which]
