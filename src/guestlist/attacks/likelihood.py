"""Likelihood-ratio attacks: is what the target says likelier from a model that trained on the record?

The margin of a record is close to normal over models that did, and over models that did not, train on it
(Carlini et al. 2022). All functions take one target's :class:`Signals`, or a :class:`Rotation` of all targets.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm

from guestlist.moments import Moments
from guestlist.signals import Rotation, Signals

Variance = Literal["auto", "pooled", "record"]

# From this many references on, a record's own variance is known well enough (Carlini et al. 2022, section V-C).
ENOUGH_FOR_RECORD = 64

# A record on which all references agree (a saturated answer, a deterministic trainer) has no variance of its own. Its
# variance is taken as this share of the pooled one, and as this number where even that is zero: a choice that
# keeps the score finite and ranks such records by how far the target is from the agreement.
VARIANCE_FLOOR = 1e-4


def lira(signals: Signals | Rotation, *, variance: Variance = "auto") -> np.ndarray:
    """LiRA online: log-density of the margin under IN references minus that under OUT (Carlini et al. 2022, alg. 1).

    Args:
        variance: one for all records, pooled *within* records; one per record; or pooled below 64 references and per
            record from there on.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the record.
    """
    x = signals.target("margin")
    inside, outside = signals.inside("margin"), signals.outside("margin")
    variance = _settled(variance, inside, outside)
    return _log_density(x, inside, variance) - _log_density(x, outside, variance)


def lira_offline(signals: Signals | Rotation, *, variance: Variance = "auto") -> np.ndarray:
    """LiRA offline: log-odds that a model which did *not* train on the record has a smaller margin.

    One-sided, so that unusually low confidence never counts as membership (Carlini et al. 2022, eq. 4).
    """
    outside = signals.outside("margin")
    t = (signals.target("margin") - outside.mean) / spread(outside, _settled(variance, outside))
    return log_ndtr(t) - log_ndtr(-t)


def spread(over: Moments, variance: Literal["pooled", "record"]) -> np.ndarray:
    """Standard deviation over references, per record or pooled, never below the floor."""
    pooled = over.pooled_variance
    floor = np.where(pooled > 0, VARIANCE_FLOOR * pooled, VARIANCE_FLOOR)
    if variance == "pooled":
        return np.sqrt(np.maximum(pooled, floor))
    own = np.where(over.count > 1, over.variance, pooled)
    return np.sqrt(np.maximum(own, floor))


def _settled(variance: Variance, *sides: Moments) -> Literal["pooled", "record"]:
    """What "auto" comes to: a variance per record where every side has half of the references that takes."""
    if variance not in ("auto", "pooled", "record"):
        raise ValueError(f"Expected variance={variance!r} to be 'auto', 'pooled' or 'record'.")
    if variance != "auto":
        return variance
    return "record" if min(np.median(side.count) for side in sides) >= ENOUGH_FOR_RECORD / 2 else "pooled"


def _log_density(x: np.ndarray, over: Moments, variance: Variance) -> np.ndarray:
    return norm.logpdf(x, over.mean, spread(over, variance))
