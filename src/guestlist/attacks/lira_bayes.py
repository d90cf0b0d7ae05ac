"""LiRA with priors that are fitted to all records, for few reference models.

LiRA takes either one variance for all records or one per record, and plugs in the means of the IN and of the OUT references.
With few references these are mostly noise, and a record without IN or without OUT references has no score. Here records
share three things (empirical Bayes):

* A record's variance has an inverse-gamma prior whose scale follows a trend over the records' mean margins (Smyth 2004; the
  trend as in Law et al. 2014). Outputs near the end of the scale vary less, and often not at all: a forest gives them a
  probability of exactly 1. The variance of IN references is a multiple of that of OUT references, one for all records.
* The shift, the mean difference of IN and OUT references, has a normal prior whose mean and variance follow
  trends too: records that models find hard shift more. With few references it is shrunk towards the trend, but by at most
  ``TRANSLATION`` standard errors (Efron & Morris 1972), so that a memorised record keeps a large shift. It is never
  below 0.
* The margin of the target is then Student-t distributed, with heavy tails where little is known.

With many references a record's own means and variance dominate.

The prior of variances is fitted to their *logarithms* (Smyth 2004, section 6.2). Fitted to the variances themselves, it
would follow the few records with the largest variances, while at low false positive rates the records with the smallest
variances are exposed. A record on which all references agree counts in that fit as if its variance were LiRA's floor,
``VARIANCE_FLOOR`` of the pooled one, and at least ``SMALLEST_VARIANCE``. Its posterior variance is then above zero, and
its score finite.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from guestlist._kernels import Moments, student_log_odds
from guestlist._views import View
from guestlist.attacks.likelihood import SMALLEST_VARIANCE, VARIANCE_FLOOR

# Range of the prior's shape: at the lower end only a record's own variance counts, and at the upper end all records
# have the same variance.
SHAPE_RANGE = (0.25, 50.0)

# A trend is a mean over bins of equal numbers of records: maximum number of bins, and minimum number of records per bin.
MAX_BINS = 20
MIN_IN_BIN = 100

# Maximum change of a record's own shift by the prior, in standard errors.
TRANSLATION = 2.0

# Digits to which mean margins are rounded, so that rounding errors do not decide the bin of a record.
DIGITS = 9


class Prior(NamedTuple):
    """Inverse-gamma prior of a record's variance: shape and scale, (1,) or (targets, 1)."""

    shape: np.ndarray
    scale: np.ndarray


class Predictive(NamedTuple):
    """Predictive distribution of a further model's margin of each record: Student-t.

    ``peak`` is the logarithm of the density at the mean, where the scale is 1.
    """

    dof: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    peak: np.ndarray


def lira_bayes(signals: View) -> np.ndarray:
    """Return the log predictive density of the margin under IN references minus that under OUT references.

    This is the likelihood ratio of Carlini et al. (2022, alg. 1) with a hierarchical model of margins instead of normal
    distributions with plugged-in moments.

    Returns:
        (records,) scores, or (models, records); NaN where there is no reference for the record.
    """
    x = signals.target("margin")
    inside, outside = predictives(signals.inside("margin"), signals.outside("margin"))
    return _log_density(x, inside) - _log_density(x, outside)


def lira_bayes_offline(signals: View) -> np.ndarray:
    """Return the log-odds that a model *not* trained on the record has a smaller margin, under the same hierarchical model.

    The test is one-sided, as in LiRA offline.

    Args:
        signals: The adversary's view.

    Returns:
        (records,) scores; NaN where every reference trained on the record.
    """
    outside = predictive(signals.outside("margin"))
    return student_log_odds((signals.target("margin") - outside.mean) / outside.scale, outside.dof)


def predictive(over: Moments) -> Predictive:
    """Compute the predictive distribution of a further model, with a flat prior of the mean.

    The posterior of the variance is inverse gamma with shape a0 + (n - 1)/2 and scale b0 + squares/2.
    """
    prior = prior_of(over)
    shape, peak = _posterior_shape(prior.shape, np.maximum(over.count - 1, 0))
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        variance = (prior.scale + over.squares / 2) * (1 + 1 / over.count) / shape
    return Predictive(2 * shape, over.mean, np.sqrt(variance), peak)


def predictives(inside: Moments, outside: Moments) -> tuple[Predictive, Predictive]:
    """Compute the predictive distributions of a further model that trained on a record, and of one that did not.

    Records share the ratio of the two variances, the prior of the variances and the prior of the shift. ``centre`` is the
    mean over all references, weighted by precision; its error is independent of that of the shift.
    """
    ratio = _variance_ratio(inside, outside)
    weight_in = inside.count / ratio
    weight = weight_in + outside.count
    mean_in, mean_out = (np.where(side.count > 0, side.mean, 0.0) for side in (inside, outside))
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: there is no reference, and no score
        centre = (weight_in * mean_in + outside.count * mean_out) / weight
        share_in = weight_in / weight
        share_out = outside.count / weight
    dof, variance, peak = _shared_variance(inside, outside, ratio, centre)
    both = (inside.count > 0) & (outside.count > 0)
    error = variance * (ratio / np.maximum(inside.count, 1) + 1 / np.maximum(outside.count, 1))
    shift, shift_variance = _shift(centre, mean_in - mean_out, error, both)
    with np.errstate(divide="ignore"):
        centre_variance = variance * (1 + 1 / weight)
        variance_in = ratio * variance + centre_variance - variance + np.square(share_out) * shift_variance
        variance_out = centre_variance + np.square(share_in) * shift_variance
    return (
        Predictive(dof, centre + share_out * shift, np.sqrt(variance_in), peak),
        Predictive(dof, centre - share_in * shift, np.sqrt(variance_out), peak),
    )


def _variance_ratio(inside: Moments, outside: Moments) -> np.ndarray:
    """Return (1,) or (targets, 1) the variance of IN references over that of OUT references; 1 where either is unknown."""
    pooled = [np.maximum(side.pooled_variance, SMALLEST_VARIANCE) for side in (inside, outside)]
    ratio = np.clip(pooled[0] / pooled[1], VARIANCE_FLOOR, 1 / VARIANCE_FLOOR)
    return np.where(np.isnan(ratio), 1.0, ratio)


def _shared_variance(
    inside: Moments, outside: Moments, ratio: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the posterior of the OUT variance: degrees of freedom, variance, and log-density at the mean for scale 1."""
    record_dof = np.maximum(inside.count - 1, 0) + np.maximum(outside.count - 1, 0)
    squares = np.where(inside.count > 1, inside.squares, 0.0) / ratio + np.where(
        outside.count > 1, outside.squares, 0.0
    )
    known = record_dof > 0
    total = record_dof.sum(axis=-1, keepdims=True)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(total, 1)
    floor = np.maximum(VARIANCE_FLOOR * pooled, SMALLEST_VARIANCE)
    bias, noise = _log_chi_square(record_dof + 1)
    logs = np.log(np.maximum(squares / np.maximum(record_dof, 1), floor)) - bias
    expected = np.where(known.any(axis=-1, keepdims=True), trend_over(centre, known)(logs), np.log(floor))
    excess = np.where(known, np.square(logs - expected) - noise, 0.0).sum(axis=-1, keepdims=True)
    shape = _inverse_trigamma(excess / np.maximum(known.sum(axis=-1, keepdims=True), 1))
    posterior, peak = _posterior_shape(shape, record_dof)
    return 2 * posterior, (np.exp(expected + scipy.special.digamma(shape)) + squares / 2) / posterior, peak


def _posterior_shape(shape: np.ndarray, dof: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shapes of the posteriors of variances, and the log-densities at the mean of their Student-t for scale 1.

    Args:
        shape: Shape of the prior, (1,) or (targets, 1).
        dof: Degrees of freedom of each record's variance. Many records share each of a few values.
    """
    shapes = shape + np.arange(np.max(dof, initial=0) + 1) / 2
    peaks = scipy.special.gammaln(shapes + 0.5) - scipy.special.gammaln(shapes) - 0.5 * np.log(2 * np.pi * shapes)
    index = dof.astype(np.intp)
    return np.take_along_axis(shapes, index, axis=-1), np.take_along_axis(peaks, index, axis=-1)


def _shift(
    centre: np.ndarray, observed: np.ndarray, error: np.ndarray, both: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior mean and variance of each record's shift.

    Args:
        centre: the records' mean margins, over which the prior has a trend.
        observed: mean of IN references minus mean of OUT references.
        error: its variance.
        both: true for records with IN and OUT references; others take the prior.
    """
    trend = trend_over(centre, both)
    expected = trend(observed)
    excess = np.square(observed - expected) - error
    between_records = trend(excess)
    # The prior variance is the part of the differences between records beyond their standard error.
    in_bin = both.sum(axis=-1, keepdims=True) / _bins(both.sum(axis=-1, keepdims=True))
    doubt = np.sqrt(trend(np.square(excess - between_records)) / np.maximum(in_bin, 1))
    prior = np.maximum(between_records - doubt, 0.0)
    reliability = prior / (prior + error)
    shrinkage = (1 - reliability) * (observed - expected)
    limit = TRANSLATION * np.sqrt(error)
    shift = np.where(both, observed - np.clip(shrinkage, -limit, limit), expected)
    return np.maximum(shift, 0.0), np.where(both, reliability * error, prior)


def trend_over(at: np.ndarray, known: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from values to their mean as a function of ``at``: means over bins, linear between their centres.

    Args:
        at: (records,), or (targets, records), each target with a separate trend. The values have the same shape.
        known: true for records to include; without any, the trend is 0.
    """
    if at.ndim > 1:
        rows = [trend_over(*row) for row in zip(at, known, strict=True)]
        return lambda values: np.stack([trend(row) for trend, row in zip(rows, values, strict=True)])
    if not known.any():
        return lambda values: np.zeros(at.shape)
    at = np.round(at, DIGITS)
    edges = np.unique(np.quantile(at[known], np.linspace(0, 1, int(_bins(known.sum())) + 1)))
    if len(edges) < 3:
        return lambda values: np.full(at.shape, values[known].mean())
    bins = np.clip(np.searchsorted(edges, at[known], "right") - 1, 0, len(edges) - 2)
    count, centres = (np.bincount(bins, weights, len(edges) - 1) for weights in (None, at[known]))
    filled = count > 0

    def trend(values: np.ndarray) -> np.ndarray:
        means = np.bincount(bins, values[known], len(edges) - 1)
        return np.interp(at, centres[filled] / count[filled], means[filled] / count[filled])

    return trend


def _bins(records: np.ndarray) -> np.ndarray:
    return np.clip(records // MIN_IN_BIN, 1, MAX_BINS)


def prior_of(over: Moments) -> Prior:
    """Fit the prior to the mean and the variance of the log-variances over records.

    With d = n - 1, log v - digamma(d/2) + log(d/2) has mean log b0 - digamma(a0) and variance trigamma(d/2) +
    trigamma(a0). Records with fewer than two references are omitted; if all are omitted, the prior is the narrowest
    one.

    Args:
        over: Counts, means and variances of the references per record.

    Returns:
        Shape and scale of the prior.
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
    return Prior(shape, np.exp(centre + scipy.special.digamma(shape)))


def _log_chi_square(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the logarithm of a mean square with ``count - 1`` degrees of freedom and mean 1."""
    half = np.maximum(np.arange(np.max(count, initial=0) + 1) - 1, 1) / 2
    index = count.astype(np.intp)
    return (scipy.special.digamma(half) - np.log(half))[index], scipy.special.polygamma(1, half)[index]


def _inverse_trigamma(y: np.ndarray) -> np.ndarray:
    """Return the prior's shape whose trigamma is ``y``, within its range, by Newton's method (Smyth 2004, appendix)."""
    low, high = SHAPE_RANGE
    y = np.clip(y, scipy.special.polygamma(1, high), scipy.special.polygamma(1, low))
    x = 0.5 + 1 / y
    for _ in range(10):  # converges quadratically from above; five steps would be enough
        value = scipy.special.polygamma(1, x)
        x = x + value * (1 - value / y) / scipy.special.polygamma(2, x)
    return np.clip(x, low, high)


def _log_density(x: np.ndarray, predictive: Predictive) -> np.ndarray:
    t = (x - predictive.mean) / predictive.scale
    tail = (predictive.dof + 1) / 2 * np.log1p(np.square(t) / predictive.dof)
    return predictive.peak - np.log(predictive.scale) - tail
