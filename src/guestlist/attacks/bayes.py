"""LiRA with variances learnt as a Bayesian would: records lend each other what few references cannot tell.

LiRA takes either one variance for all records or one per record. With few references the first ignores that
records differ and the second is mostly noise. Here every record's variance has an inverse-gamma prior, one
for the IN references and one for the OUT references, whose two parameters are fitted to all records
(empirical Bayes). What the target should say is then Student-t distributed, with heavy tails where little is
known. With many references a record's own spread takes over.

The prior is fitted to the *logarithms* of the records' variances (Smyth 2004, section 6.2). Fitted to the
variances themselves, it follows the few records with the largest ones, while at low false-positive rates it
is the records with the smallest ones that are exposed.

A record on which all references agree counts in that fit as if its variance were LiRA's floor,
``VARIANCE_FLOOR`` of the pooled one, and at least ``SMALLEST_VARIANCE``. Its posterior variance is then above
zero, and its score finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from guestlist.arrays.moments import Moments
from guestlist.attacks.likelihood import SMALLEST_VARIANCE, VARIANCE_FLOOR
from guestlist.views.view import View

# The prior's shape: below this a record's own variance is all that counts, and beyond it records no longer
# differ.
SHAPE_RANGE = (0.25, 50.0)


class Prior(NamedTuple):
    """Inverse-gamma prior of a record's variance: shape and scale, (1,) or (targets, 1)."""

    shape: np.ndarray
    scale: np.ndarray


class Predictive(NamedTuple):
    """What a further model would say about each record: Student-t with these degrees of freedom.

    ``peak`` is the logarithm of the density at the mean, where the scale is 1.
    """

    freedom: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    peak: np.ndarray


def lira_bayes(signals: View) -> np.ndarray:
    """Log predictive density of the margin under IN references minus that under OUT references.

    The likelihood ratio of Carlini et al. (2022, alg. 1) with a normal-inverse-gamma model of each side
    instead of a normal one with plugged-in moments.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the
        record.
    """
    x = signals.target("margin")
    return _log_density(x, predictive(signals.inside("margin"))) - _log_density(
        x, predictive(signals.outside("margin"))
    )


def lira_bayes_offline(signals: View) -> np.ndarray:
    """Log-odds that a model which did *not* train on the record has a smaller margin, under the same model.

    One-sided, as LiRA offline. NaN where no reference is without the record.
    """
    outside = predictive(signals.outside("margin"))
    return log_odds_of_tail((signals.target("margin") - outside.mean) / outside.scale, outside.freedom)


def predictive(over: Moments) -> Predictive:
    """What a further model of this kind would say, when nothing is known beforehand about the mean.

    The posterior of the variance is inverse gamma with shape a0 + (n - 1)/2 and scale b0 + squares/2.
    """
    prior = prior_of(over)
    # There are few counts, and many records with each.
    shapes = prior.shape + np.maximum(np.arange(np.max(over.count, initial=0) + 1) - 1, 0) / 2
    peaks = gammaln(shapes + 0.5) - gammaln(shapes) - 0.5 * np.log(2 * np.pi * shapes)
    index = over.count.astype(np.intp)
    shape, peak = (np.take_along_axis(table, index, axis=-1) for table in (shapes, peaks))
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        variance = (prior.scale + over.squares / 2) * (1 + 1 / over.count) / shape
    return Predictive(2 * shape, over.mean, np.sqrt(variance), peak)


def prior_of(over: Moments) -> Prior:
    """The prior under which log-variances would have the mean and the spread that they have over records.

    With d = n - 1, log v - digamma(d/2) + log(d/2) has mean log b0 - digamma(a0) and variance trigamma(d/2) +
    trigamma(a0). Records with fewer than two references tell nothing; without any others, the
    prior is the narrowest one.
    """
    known = over.count > 1
    records = np.maximum(known.sum(axis=-1, keepdims=True), 1)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.where(known, values, 0.0).sum(axis=-1, keepdims=True) / records

    floor = np.maximum(VARIANCE_FLOOR * np.nan_to_num(over.pooled_variance), SMALLEST_VARIANCE)
    bias, noise = _log_chi_square(over.count)
    logs = np.log(np.maximum(np.where(known, over.variance, 0.0), floor)) - bias
    centre = np.where(known.any(axis=-1, keepdims=True), mean(logs), np.log(floor))
    shape = _inverse_trigamma(mean(np.square(logs - centre) - noise))
    return Prior(shape, np.exp(centre + digamma(shape)))


def _log_chi_square(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the logarithm of a mean square with ``count - 1`` degrees of freedom around 1."""
    half = np.maximum(np.arange(np.max(count, initial=0) + 1) - 1, 1) / 2
    index = count.astype(np.intp)
    return (digamma(half) - np.log(half))[index], polygamma(1, half)[index]


def _inverse_trigamma(y: np.ndarray) -> np.ndarray:
    """The prior's shape whose trigamma is ``y``, within its range, by Newton's method (Smyth 2004, appendix)."""
    low, high = SHAPE_RANGE
    y = np.clip(y, polygamma(1, high), polygamma(1, low))
    x = 0.5 + 1 / y
    for _ in range(10):  # converges quadratically from above; five would do
        value = polygamma(1, x)
        x = x + value * (1 - value / y) / polygamma(2, x)
    return np.clip(x, low, high)


def log_odds_of_tail(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Logarithm of P(T < t) / P(T > t) for Student's T, finite for every finite ``t``.

    >>> log_odds_of_tail(np.array([0.0, 1e9]), np.array([60.0, 60.0])).round(1)
    array([   0. , 1123.5])
    """
    from guestlist.arrays.student import fill_log_odds  # imports numba

    t, freedom = np.broadcast_arrays(t, freedom)
    found = np.empty(t.shape)
    fill_log_odds(t.ravel(), freedom.ravel(), found.reshape(-1))
    return found


def _log_density(x: np.ndarray, of: Predictive) -> np.ndarray:
    t = (x - of.mean) / of.scale
    return of.peak - np.log(of.scale) - (of.freedom + 1) / 2 * np.log1p(np.square(t) / of.freedom)
