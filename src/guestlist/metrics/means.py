"""Means of groups with Holm correction, correlations, and calibration error."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special
from scipy.stats import norm, pearsonr, rankdata

from guestlist._kernels import consecutive_codes, drop_unscored
from guestlist.metrics.intervals import WITHHELD, ClusterSums, Estimate, error_of

MIN_CORRELATION_SIZE = 4  # with three values, Fisher's interval is (-1, 1)


def pearson(a: np.ndarray, b: np.ndarray, *, confidence: float = 0.95) -> Estimate:
    """Return Pearson's correlation with Fisher's interval (1921), which assumes a bivariate normal distribution.

    Args:
        a, b: (n,) paired values.
        confidence: Nominal coverage of the interval.

    Returns:
        The correlation; withheld if one of the two is constant, or with fewer than four values.

    Examples:
        >>> print(gl.metrics.pearson(np.arange(20.0), np.arange(20.0) ** 2))
        0.965 [0.913, 0.986]
    """
    return _correlation_estimate(a, b, len(a), confidence, lambda: pearsonr(a, b).statistic, lambda value: 1.0)


def spearman(a: np.ndarray, b: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95) -> Estimate:
    """Return Spearman's rank correlation with the interval of Bonett & Wright (2000).

    Args:
        a, b: (records,) paired values.
        clusters: (records,) Person of each record; each person counts once in the width of the interval. By default every
            record is independent.
        confidence: Nominal coverage of the interval.

    Returns:
        The correlation; withheld if one of the two is constant, or with fewer than four records.

    Examples:
        >>> print(gl.metrics.spearman(np.arange(20.0), np.arange(20.0) ** 2))
        1.000 [1.000, 1.000]
    """
    n = len(a) if clusters is None else len(np.unique(clusters))
    return _correlation_estimate(a, b, n, confidence, lambda: _rank_correlation(a, b), lambda value: 1 + value**2 / 2)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the statistic of ``scipy.stats.spearmanr``, without its p-value, which would take ten times as long."""
    if np.isnan(a).any() or np.isnan(b).any():
        return float("nan")
    return np.corrcoef(np.column_stack([rankdata(a), rankdata(b)]), rowvar=False)[1, 0]


def _correlation_estimate(a, b, n: int, confidence: float, correlation, variance) -> Estimate:
    """Return a correlation whose Fisher transform has variance ``variance`` / (n - 3)."""
    error = error_of(confidence)
    if n < MIN_CORRELATION_SIZE or is_constant(a) or is_constant(b):
        return WITHHELD
    value = float(correlation())
    # A sample correlation of exactly 1 in a few records does not show that the true correlation is 1.
    centre = np.arctanh(min(max(value, -1 + 1e-9), 1 - 1e-9))
    half = norm.isf(error / 2) * np.sqrt(variance(value) / (n - 3))
    low = np.tanh(centre - half)
    high = np.tanh(centre + half)
    return Estimate(value, min(float(low), value), max(float(high), value))


def is_constant(values: np.ndarray) -> bool:
    """Return whether values differ by rounding only.

    Args:
        values: At least one value.

    Returns:
        True if they are equal up to a relative difference of 1e-9.

    Examples:
        >>> gl.metrics.is_constant(np.array([0.3, 0.1 + 0.2]))
        True
    """
    if np.isfinite(values).all():
        return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())
    return len(np.unique(values)) < 2


SMALLEST_P = 1e-12  # smallest p-value that is distinguished from 0
BISECTIONS = 30  # enough for eight digits


@dataclass(frozen=True)
class GroupMean:
    """Mean of a group, its difference from the mean of all other records, and the p-value of that difference.

    The p-value is for one group; correct for several groups with :func:`holm`. Withheld, and NaN, where there is no value, or
    no other record has one.
    """

    mean: Estimate
    beyond_rest: Estimate
    p_value: float


NOTHING = GroupMean(WITHHELD, WITHHELD, float("nan"))


def group_means(
    values: np.ndarray,
    groups: Sequence[np.ndarray],
    *,
    bounds: tuple[float, float] | None = None,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[GroupMean, ...]:
    """Compute the mean of each group and compare it with all records outside the group.

    Args:
        values: (records,) Values; those that are not finite are ignored.
        groups: (records,) masks; they may overlap.
        bounds: Smallest and largest possible value; by default those of these values.
        clusters: (records,) Person of each record; by default every record is independent. Persons with records inside and
            outside a group count in both means; the interval is then conservative.
        confidence: Nominal coverage of each interval.

    Returns:
        One mean for each group; withheld if all values are equal and ``bounds`` are not given.

    Raises:
        ValueError: If a value is outside ``bounds``.

    Examples:
        >>> values, first = np.array([0.0, 0, 1, 0, 1, 1, 1, 1]), np.arange(8) < 4
        >>> (first_group,) = gl.metrics.group_means(values, [first])
        >>> print(first_group.mean, first_group.beyond_rest)
        0.250 [0.006, 0.806] -0.750 [-0.994, 0.070]
    """
    error = error_of(confidence)
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    if not known.any():
        return (NOTHING,) * len(groups)
    floor, ceiling = bounds or (float(values[known].min()), float(values[known].max()))
    reach = ceiling - floor
    if reach == 0:
        return (NOTHING,) * len(groups)
    scaled = np.where(known, (values - floor) / reach, 0.0)
    if (scaled < 0).any() or (scaled > 1).any():
        raise ValueError(f"Expected values in bounds={bounds}, found {values[known].min()} to {values[known].max()}.")
    codes = None if clusters is None else consecutive_codes(np.asarray(clusters))
    inside = ClusterSums.stack([_sums(scaled, codes, known & group) for group in groups])
    outside = ClusterSums.stack([_sums(scaled, codes, known & ~group) for group in groups])
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: no record
        low, high = inside.interval(error)
        below, above = _ends(inside, outside, error)
        p_values = _p_values(inside, outside)
        means = inside.mean
        gaps = means - outside.mean
    results = []
    for at, mean in enumerate(means):
        if np.isnan(mean):
            results.append(NOTHING)
            continue
        group_mean = Estimate(*(float(floor + reach * end) for end in (mean, low[at], high[at])))
        gap = Estimate(*(float(reach * end) for end in (gaps[at], below[at], above[at])))
        results.append(GroupMean(group_mean, WITHHELD if np.isnan(gap.value) else gap, float(p_values[at])))
    return tuple(results)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values for multiple testing (Holm 1979).

    Args:
        p_values: p-values of a family of tests; NaN is ignored.

    Returns:
        Adjusted p-values: rejecting those of at most alpha keeps the family-wise error rate at alpha.

    Examples:
        >>> gl.metrics.holm(np.array([0.01, 0.04, 0.03, np.nan])).tolist()
        [0.03, 0.06, 0.06, nan]
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _sums(values: np.ndarray, all_codes: np.ndarray | None, rows: np.ndarray) -> ClusterSums:
    codes = None if all_codes is None else consecutive_codes(all_codes[rows])
    return ClusterSums.from_values(values[rows], codes)


def _ends(inside: ClusterSums, outside: ClusterSums, error: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of the differences."""
    low, high = inside.interval(error)
    outside_low, outside_high = outside.interval(error)
    inside_mean = inside.mean
    outside_mean = outside.mean
    gap = inside_mean - outside_mean
    below = gap - np.hypot(inside_mean - low, outside_high - outside_mean)
    return below, gap + np.hypot(high - inside_mean, outside_mean - outside_low)


def _p_values(inside: ClusterSums, outside: ClusterSums) -> np.ndarray:
    """Return the errors at which the intervals of the differences end at 0, by binary search; NaN if undefined."""
    gap = inside.mean - outside.mean
    # Only the end towards 0 is needed: the lower end of the larger mean and the upper end of the smaller.
    above = gap > 0
    larger = inside.where(above, outside)
    smaller = outside.where(above, inside)
    larger_mean = larger.mean
    smaller_mean = smaller.mean
    *lower_shape, has_lower = larger.complement().beta()
    *upper_shape, has_upper = smaller.beta()
    low = np.full(len(gap), np.log(SMALLEST_P))
    high = np.zeros(len(gap))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        half = np.exp(middle) / 2
        lower = 1 - np.where(has_lower, special.betaincinv(*lower_shape, 1 - half), 1.0)
        upper = np.where(has_upper, special.betaincinv(*upper_shape, 1 - half), 1.0)
        room = np.hypot(larger_mean - lower, upper - smaller_mean)
        apart = np.abs(gap) > room
        low = np.where(apart, low, middle)
        high = np.where(apart, middle, high)
    return np.where(np.isnan(gap), np.nan, np.where(gap == 0, 1.0, np.exp(high)))


BINS = 10
DRAWS = 4000  # simulated draws of the probabilities of all bins
SEED = 0


def calibration_error(
    sureness: np.ndarray, correct: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> Estimate:
    """Compute the expected calibration error: the mean distance of confidence and accuracy over bins.

    Args:
        sureness: (records,) Probability of the predicted class.
        correct: (records,) Whether that class is the true one.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.

    Returns:
        The error in [0, 1]; withheld without records.

    Examples:
        >>> right = np.arange(400) % 10 < 7
        >>> print(gl.metrics.calibration_error(np.full(400, 0.9), right))
        0.200 [0.155, 0.245]
    """
    error = error_of(confidence)
    sureness, correct = drop_unscored(sureness, correct)
    if not len(sureness):
        return WITHHELD
    bins = _bins(sureness)
    value = float(np.abs(np.bincount(bins, sureness - correct)).sum() / len(bins))
    chances = _normal(bins.max() + 1) @ _root(_covariance(bins, correct, clusters))
    room = float(np.quantile(np.abs(chances).sum(axis=1), 1 - error))
    return Estimate(value, max(value - room, 0.0), min(value + room, 1.0))


@lru_cache(maxsize=BINS)
def _normal(bins: int) -> np.ndarray:
    return np.random.default_rng(SEED).normal(size=(DRAWS, bins))


def _bins(sureness: np.ndarray) -> np.ndarray:
    """Return (records,) numbers of bins of about equal size; equal values share a bin."""
    edges = np.unique(np.quantile(sureness, np.arange(1, BINS) / BINS))
    return consecutive_codes(np.searchsorted(edges, sureness))


def _covariance(bins: np.ndarray, correct: np.ndarray, clusters: np.ndarray | None) -> np.ndarray:
    """Return the (bins, bins) sampling covariance of the signed distances of the bins, as shares of all records."""
    size = np.bincount(bins)
    right = np.bincount(bins, correct)
    off = correct - (right / size)[bins]
    if clusters is None:
        covariance = np.diag(np.bincount(bins, off**2))
    else:
        owner = consecutive_codes(np.asarray(clusters))
        sums = np.zeros((owner.max() + 1, len(size)))
        np.add.at(sums, (owner, bins), off)
        covariance = sums.T @ sums
    # A bin in which all predictions are correct has variance 0: add two successes and two failures (Agresti & Coull
    # 1998).
    likely = (right + 2) / (size + 4)
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), size * likely * (1 - likely)))
    return covariance / len(bins) ** 2


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T
