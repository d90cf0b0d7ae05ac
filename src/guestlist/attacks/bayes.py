"""LiRA with variances learnt as a Bayesian would: records lend each other what few references cannot tell.

LiRA takes either one variance for all records or one per record. With few references the first ignores that
records differ and the second is mostly noise. Here every record's variance has an inverse-gamma prior, one for the IN
references and one for the OUT references, whose two parameters are fitted to all records (empirical Bayes). What the
target should say is then Student-t distributed, with heavy tails where little is known. With many references a record's
own spread takes over.

No floor is needed beside the prior: a record on which all references agree has a posterior variance above zero as long
as some record has one. Where none has, the prior's mean is ``SMALLEST_VARIANCE``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, hyp2f1, stdtr

from guestlist.attacks.likelihood import SMALLEST_VARIANCE
from guestlist.moments import Moments
from guestlist.signals import Rotation, Signals

# The prior's shape: below 2 it would have no variance, and beyond 50 records no longer differ.
SHAPE_RANGE = (2.01, 50.0)

# Below this, a tail probability has lost digits or is 0, and its logarithm is computed by a series instead.
_SMALLEST_TAIL = 1e-290


class Prior(NamedTuple):
    """Inverse-gamma prior of a record's variance: shape and scale, (1,) or (targets, 1)."""

    shape: np.ndarray
    scale: np.ndarray


class Predictive(NamedTuple):
    """What a further model would say about each record: Student-t with these degrees of freedom."""

    freedom: np.ndarray
    mean: np.ndarray
    scale: np.ndarray


def lira_bayes(signals: Signals | Rotation) -> np.ndarray:
    """Log predictive density of the margin under IN references minus that under OUT references.

    The likelihood ratio of Carlini et al. (2022, alg. 1) with a normal-inverse-gamma model of each side instead of a
    normal one with plugged-in moments.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the record.
    """
    x = signals.target("margin")
    return _log_density(x, predictive(signals.inside("margin"))) - _log_density(x, predictive(signals.outside("margin")))


def lira_bayes_offline(signals: Signals | Rotation) -> np.ndarray:
    """Log-odds that a model which did *not* train on the record has a smaller margin, under the same model.

    One-sided, as LiRA offline. NaN where no reference is without the record.
    """
    outside = predictive(signals.outside("margin"))
    return log_odds_of_tail((signals.target("margin") - outside.mean) / outside.scale, outside.freedom)


def predictive(over: Moments) -> Predictive:
    """What a further model of this kind would say: posterior shape a0 + n/2, scale b0 + squares/2, flat prior mean."""
    prior = prior_of(over)
    shape, scale = prior.shape + over.count / 2, prior.scale + over.squares / 2
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        variance = scale * (1 + 1 / over.count) / shape
    return Predictive(2 * shape, over.mean, np.sqrt(variance))


def prior_of(over: Moments) -> Prior:
    """The prior whose first two moments of the variance are those found over records with at least two references.

    A sample variance of n normal values has mean s and second moment s^2 (1 + 2 / (n - 1)), so dividing each square by
    that factor estimates the second moment of the *true* variances. Without such records, the prior is the narrowest.
    """
    known = over.count > 1
    records = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    variance = np.where(known, over.variance, 0.0)
    noise = 1 + 2 / np.maximum(over.count - 1, 1)
    mean = np.maximum(variance.sum(axis=-1, keepdims=True) / records, SMALLEST_VARIANCE)
    second = (np.square(variance) / noise).sum(axis=-1, keepdims=True) / records
    excess = np.maximum(second - np.square(mean), np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # a shape beyond all bounds is clipped
        shape = np.clip(2 + np.square(mean) / excess, *SHAPE_RANGE)
    return Prior(shape, mean * (shape - 1))


def log_odds_of_tail(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Logarithm of P(T < t) / P(T > t) for Student's T, finite for every finite ``t``.

    >>> log_odds_of_tail(np.array([0.0, 1e9]), np.array([60.0, 60.0])).round(1)
    array([   0. , 1161.9])
    """
    tail = stdtr(freedom, -np.abs(t))
    far = tail < _SMALLEST_TAIL  # False for NaN
    with np.errstate(divide="ignore"):
        log_tail = np.log(tail)
    if far.any():
        t, freedom = np.broadcast_arrays(t, freedom)
        log_tail[far] = _log_far_tail(t[far], freedom[far])
    return np.sign(t) * (np.log1p(-tail) - log_tail)


def _log_far_tail(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Logarithm of P(T > |t|) where it is tiny: the incomplete beta function by its hypergeometric series."""
    a, x = freedom / 2, freedom / (freedom + np.square(t))
    series = np.log(hyp2f1(a + 0.5, 1.0, a + 1, x))
    return a * np.log(x) + 0.5 * np.log1p(-x) - np.log(2 * a) - betaln(a, 0.5) + series


def _log_density(x: np.ndarray, of: Predictive) -> np.ndarray:
    t = (x - of.mean) / of.scale
    half = of.freedom / 2
    constant = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(2 * np.pi * half) - np.log(of.scale)
    return constant - (half + 0.5) * np.log1p(np.square(t) / of.freedom)
