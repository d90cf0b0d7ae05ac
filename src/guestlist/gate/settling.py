"""Number of records that would decide whether a limit holds, at the present estimate.

An interval for a share has its upper end h where (h - value)**2 = c h (1 - h) / n, whatever c is: Wilson's for a proportion,
and close to those in use for an AUC and for a TPR. The end in the results tells c / n, and the limit in the place of h tells
the n that is needed. Persons with several records are counted rightly too, as c holds what they cost.
"""

from __future__ import annotations

import numpy as np

from guestlist.evaluate import Estimate
from guestlist.findings.gated import Limit


def sample_size_factor(estimate: Estimate, limit: Limit) -> float:
    """Return the factor by which the audit must grow; infinite if no size suffices, NaN if unknown.

    It cannot be told from an upper end of 1, which says nothing about the next record.

    >>> round(times_as_many(Estimate(0.55, 0.5, 0.6), Limit(0.575)), 1)
    3.9
    """
    value, high, limit_share = (_as_share(number, limit) for number in (estimate.value, estimate.high, limit.most))
    if value >= limit_share:
        return np.inf
    if not high < 1:  # or it is withheld
        return np.nan
    return _looseness(value, high) / _looseness(value, limit_share) if limit_share < 1 else 0.0


def _as_share(number: float, limit: Limit) -> float:
    """An advantage lies in [-1, 1]; as a balanced accuracy it is a share like the others."""
    return (1 + number) / 2 if limit.measure == "advantage" else number


def _looseness(value: float, high: float) -> float:
    """Return the squared half-width over the variance at the upper end; it falls as 1/n."""
    return (high - value) ** 2 / (high * (1 - high))
