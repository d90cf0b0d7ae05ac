"""Likelihood-ratio attacks: is the target's output likelier from a model that trained on the record?

The margin of a record is close to normal over models that did, and over models that did not, train on it
(Carlini et al. 2022). All functions take the view of one target, or of all targets in turn.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from guestlist.arrays.moments import Moments
from guestlist.views.view import View

Variance = Literal["auto", "pooled", "record"]

_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)

# From this many references on, a record's own variance is known well enough (Carlini et al. 2022, sec. V-C).
ENOUGH_FOR_RECORD = 64

# A record on which all references agree (a saturated answer, a deterministic trainer) has no variance of its
# own. Its variance is taken as this share of the pooled one: a choice that keeps the score finite and ranks
# such records by how far the target is from the agreement.
VARIANCE_FLOOR = 1e-4

# Where hardly any record has a variance, the pooled one is nothing but rounding. Margins are log-odds, and no
# variance of theirs counts as smaller than this: a standard deviation of 1e-6, the rounding of float32 near 10.
SMALLEST_VARIANCE = 1e-12


def lira(signals: View, *, variance: Variance = "auto") -> np.ndarray:
    """LiRA online: log-density of the margin under IN references minus that under OUT (Carlini et al. 2022, alg. 1).

    Args:
        variance: one for all records, pooled *within* records; one per record; or pooled below 64 references
            and per record from there on.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the
        record.
    """
    x = signals.target("margin")
    inside = signals.inside("margin")
    outside = signals.outside("margin")
    per_record = _uses_record_variance(variance, inside, outside)
    return _log_density(x, inside, per_record) - _log_density(x, outside, per_record)


def lira_offline(signals: View, *, variance: Variance = "auto") -> np.ndarray:
    """LiRA offline: log-odds that a model which did *not* train on the record has a smaller margin.

    One-sided, so that unusually low confidence never counts as membership (Carlini et al. 2022, eq. 4).
    """
    outside = signals.outside("margin")
    t = (signals.target("margin") - outside.mean) / standard_deviation(
        outside, _uses_record_variance(variance, outside)
    )
    return log_ndtr(t) - log_ndtr(-t)


def standard_deviation(over: Moments, per_record: bool | np.ndarray) -> np.ndarray:
    """Return the standard deviation over references, ``per_record`` or pooled; never below the floor."""
    pooled = np.maximum(over.pooled_variance, SMALLEST_VARIANCE)
    record_variance = np.maximum(np.where(over.count > 1, over.variance, pooled), VARIANCE_FLOOR * pooled)
    return np.sqrt(np.where(per_record, record_variance, pooled))


def _uses_record_variance(variance: Variance, *sides: Moments) -> bool | np.ndarray:
    """Return True, for each target, if records have separate variances.

    With "auto" they have if there are enough IN, and enough OUT, references.
    """
    if variance not in ("auto", "pooled", "record"):
        raise ValueError(f"Expected variance={variance!r} to be 'auto', 'pooled' or 'record'.")
    if variance != "auto":
        return variance == "record"
    fewest = np.min([np.median(side.count, axis=-1, keepdims=True) for side in sides], axis=0)
    return fewest >= ENOUGH_FOR_RECORD / 2


def _log_density(x: np.ndarray, over: Moments, per_record: bool | np.ndarray) -> np.ndarray:
    scale = standard_deviation(over, per_record)
    return -0.5 * np.square((x - over.mean) / scale) - np.log(scale) - _HALF_LOG_TAU
