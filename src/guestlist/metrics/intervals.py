"""Estimates with confidence intervals, for single records and for clusters of records."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from guestlist._kernels import consecutive_codes


class Estimate(NamedTuple):
    """A value and the ends of its confidence interval; NaN if it is withheld.

    Attributes:
        value: Point estimate.
        low: Lower end of the interval; 95% unless the function that computed it has another level.
        high: Upper end of the interval.

    Examples:
        >>> gl.Estimate(0.7, low=0.6, high=0.8)
        Estimate(value=0.7, low=0.6, high=0.8)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "withheld"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


WITHHELD = Estimate(float("nan"), float("nan"), float("nan"))


def error_of(confidence: float) -> float:
    """Return the error 1 - ``confidence``.

    Args:
        confidence: Nominal coverage, in (0, 1).

    Returns:
        The error.

    Raises:
        ValueError: If the confidence is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"Expected confidence={confidence} in (0, 1).")
    return 1 - confidence


def proportion(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Return a share of successes with its exact interval (Clopper & Pearson 1934).

    Args:
        successes: Number of successes.
        n: Number of independent trials.
        confidence: Nominal coverage of the interval.

    Returns:
        The share; withheld if ``n`` is 0.

    Raises:
        ValueError: If there are more successes than trials.

    Examples:
        >>> print(gl.metrics.proportion(3, 10))
        0.300 [0.067, 0.652]
    """
    error = error_of(confidence)
    if not 0 <= successes <= n:
        raise ValueError(f"Expected successes={successes} in [0, n={n}].")
    if n == 0:
        return WITHHELD
    bounds = (bound(successes, n, error / 2) for bound in (clopper_pearson_lower, clopper_pearson_upper))
    return Estimate(successes / n, *map(float, bounds))


def proportion_difference(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, confidence: float = 0.95
) -> Estimate:
    """Return the difference of two independent shares, by Newcombe's squaring and adding (1998) of two intervals.

    Each end of the difference combines the worst case of one share with the best case of the other, so it inherits
    the asymmetry of single intervals near 0 and 1. The single intervals are Clopper-Pearson's. With Wilson's, which Newcombe
    used, coverage near 0 and 1 falls to 88% at a nominal 95%; with these it is at least 93%.

    Args:
        successes_a, n_a: Successes and trials of the first sample.
        successes_b, n_b: Successes and trials of the second sample.
        confidence: Nominal coverage of the interval.

    Returns:
        Share a minus share b.

    Examples:
        >>> print(gl.metrics.proportion_difference(9, 10, 3, 10))
        0.600 [0.107, 0.853]
    """
    samples = ((successes_a, n_a), (successes_b, n_b))
    return newcombe_difference(*(proportion(*sample, confidence=confidence) for sample in samples))


def newcombe_difference(a: Estimate, b: Estimate) -> Estimate:
    """Return the difference of two independent estimates, by Newcombe's squaring and adding (1998).

    Args:
        a, b: Estimates from independent samples, with intervals of one confidence level.

    Returns:
        a minus b, with an interval of that level.

    Examples:
        >>> print(gl.metrics.newcombe_difference(gl.Estimate(0.9, 0.8, 0.95), gl.Estimate(0.5, 0.4, 0.6)))
        0.400 [0.259, 0.512]
    """
    value = a.value - b.value
    low = value - np.hypot(a.value - a.low, b.high - b.value)
    high = value + np.hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, float(low), float(high))


def clopper_pearson_lower(
    successes: np.ndarray | float, n: np.ndarray | float, error: np.ndarray | float
) -> np.ndarray:
    """Return Clopper-Pearson's one-sided lower bound on a share.

    Args:
        successes, n: Numbers of successes and of trials; they may be fractional.
        error: One-sided error, in (0, 1).

    Returns:
        The bounds, of the broadcast shape.

    Examples:
        >>> round(float(gl.metrics.clopper_pearson_lower(3, 10, 0.025)), 3)
        0.067
    """
    successes = np.asarray(successes, dtype=np.float64)
    bound = scipy.special.betaincinv(np.maximum(successes, 1e-300), n - successes + 1, error)
    return np.where(successes > 0, bound, 0.0)


def clopper_pearson_upper(
    successes: np.ndarray | float, n: np.ndarray | float, error: np.ndarray | float
) -> np.ndarray:
    """Return Clopper-Pearson's one-sided upper bound on a share.

    Args:
        successes, n: Numbers of successes and of trials; they may be fractional.
        error: One-sided error, in (0, 1).

    Returns:
        The bounds, of the broadcast shape.

    Examples:
        >>> round(float(gl.metrics.clopper_pearson_upper(3, 10, 0.025)), 3)
        0.652
    """
    return 1 - clopper_pearson_lower(n - np.asarray(successes, dtype=np.float64), n, error)


def logit_interval(value: float, standard_error: float, quantile: float) -> Estimate:
    """Return ``value`` in (0, 1) with an interval that is symmetric in log-odds, so that it stays inside (0, 1)."""
    half = quantile * standard_error / (value * (1 - value))
    centre = scipy.special.logit(value)
    return Estimate(float(value), float(scipy.special.expit(centre - half)), float(scipy.special.expit(centre + half)))


ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996 instead of 29


@dataclass(frozen=True)
class ClusterSums:
    """Sums over persons that bounds on a mean need: s is a person's sum of values in [0, 1], m their number of records.

    Attributes:
        total: Sum over persons of s; an array for many means at once.
        squares: Sum over persons of s².
        cross: Sum over persons of s·m.
        records: Sum over persons of m.
        size_squares: Sum over persons of m².
        n_clusters: Number of persons; an array if the means are of different persons.

    Examples:
        >>> sums = gl.metrics.ClusterSums.from_values(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
        >>> float(sums.total), int(sums.n_clusters)
        (2.0, 2)
    """

    total: np.ndarray | float
    squares: np.ndarray | float
    cross: np.ndarray | float
    records: Any
    size_squares: Any
    n_clusters: Any

    @classmethod
    def from_values(
        cls, values: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
    ) -> "ClusterSums":
        """Return the sums of (records,) values; ``clusters`` are person codes, None for independent records.

        Args:
            weights: (records,) number of records that each counts for; by default 1.
        """
        values = np.asarray(values, dtype=np.float64)
        if clusters is None and weights is None:
            total = float(values.sum())
            return cls(
                total=total,
                squares=float(np.square(values).sum()),
                cross=total,
                records=len(values),
                size_squares=len(values),
                n_clusters=len(values),
            )
        if clusters is None:
            clusters = np.arange(len(values))
        occupied = np.bincount(clusters) > 0
        sums = np.bincount(clusters, values if weights is None else weights * values)[occupied]
        sizes = np.bincount(clusters, weights)[occupied]
        return cls(
            total=float(sums.sum()),
            squares=float(np.square(sums).sum()),
            cross=float(sums @ sizes),
            records=len(values) if weights is None else float(weights.sum()),
            size_squares=float(np.square(sizes).sum()),
            n_clusters=len(sums),
        )

    @classmethod
    def from_ranking(cls, clusters: np.ndarray, weights: np.ndarray | None = None) -> "ClusterSums":
        """Return the sums over the first k = 0, 1, … flagged records, which belong to ``clusters``, in that order.

        Args:
            weights: (records,) number of records that each counts for; by default 1.
        """
        if weights is None:
            weights = np.ones(len(clusters))
        sizes = np.bincount(clusters, weights)
        order = np.argsort(clusters, kind="stable")
        running = np.cumsum(weights[order])
        first = np.searchsorted(clusters[order], clusters[order], "left")
        earlier = np.empty(len(clusters))  # weight of the same person's records that are flagged before this one
        earlier[order] = running - weights[order] - np.where(first > 0, running[first - 1], 0.0)
        squares = np.append(0.0, np.cumsum(weights * (2 * earlier + weights)))
        cross, total = (np.append(0.0, np.cumsum(weights * each)) for each in (sizes[clusters], 1.0))
        return cls(
            total=total,
            squares=squares,
            cross=cross,
            records=float(total[-1]),
            size_squares=float(np.square(sizes).sum()),
            n_clusters=len(np.unique(clusters)),
        )

    @classmethod
    def stack(cls, parts: Sequence["ClusterSums"]) -> "ClusterSums":
        """Return the sums of several means as arrays."""
        return cls(*(np.array([getattr(part, each.name) for part in parts], dtype=np.float64) for each in fields(cls)))

    def where(self, condition: np.ndarray, others: "ClusterSums") -> "ClusterSums":
        """Return the sums of these means where a condition holds, otherwise those of others."""
        pairs = ((getattr(self, each.name), getattr(others, each.name)) for each in fields(self))
        return ClusterSums(*(np.where(condition, *pair) for pair in pairs))

    def at(self, index: np.ndarray | float) -> "ClusterSums":
        """Return one, or some, of many means; between two of them, interpolate linearly."""
        below = np.floor(index).astype(np.int64)
        above = np.ceil(index).astype(np.int64)
        fraction = index - below
        total, squares, cross = (
            (1 - fraction) * np.asarray(part)[below] + fraction * np.asarray(part)[above]
            for part in (self.total, self.squares, self.cross)
        )
        return replace(self, total=total, squares=squares, cross=cross)

    @property
    def mean(self) -> Any:
        """Mean of the values."""
        return self.total / self.records

    @property
    def effective_n(self) -> float:
        """Effective number of persons, smaller if a few of them have most of the records (Kish 1965)."""
        return self.records**2 / self.size_squares

    def upper(self, error: np.ndarray | float) -> np.ndarray:
        """Return the one-sided upper bound on the mean at level ``error``.

        If a few persons have most of the records, or of the weight, and high scores too, the sample may have missed such a
        person. The unobserved person therefore counts with the effective number of records per person.
        """
        a, b, inside = self.beta()
        return np.where(inside, scipy.special.betaincinv(a, b, 1 - error), 1.0)

    def lower(self, error: np.ndarray | float) -> np.ndarray:
        """Return the one-sided lower bound on the mean at level ``error``."""
        return 1 - self.complement().upper(error)

    def interval(self, error: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bound on the mean, with half of ``error`` on each side."""
        return self.lower(error / 2), self.upper(error / 2)

    def tails(self, mean: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the one-sided errors at which the upper and the lower bound equal ``mean``.

        They are the p-values of a smaller and of a larger mean."""
        a, b, inside = self.beta()
        smaller = np.where(inside, scipy.special.betaincc(a, b, mean), 1.0)
        a, b, inside = self.complement().beta()
        return smaller, np.where(inside, scipy.special.betaincc(a, b, 1 - mean), 1.0)

    def beta(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the parameters of the beta distribution whose quantiles are upper bounds, and where it is defined."""
        one_more = self.records / self.effective_n
        records = self.records + one_more
        draws = self.n_clusters + 1
        mean = (self.total + one_more) / records
        off = self.squares - 2 * mean * self.cross + mean**2 * self.size_squares + ((1 - mean) * one_more) ** 2
        variance = np.maximum(off, 1e-300) / records**2 * draws / (draws + 1)
        strength = mean * (1 - mean) / variance - 1
        inside = (mean < 1) & (strength > 0)
        mean = np.where(inside, mean, 0.5)
        strength = np.where(inside, strength, 1.0)
        return mean * strength, (1 - mean) * strength, inside

    def complement(self) -> "ClusterSums":
        """Return the sums of one minus the values."""
        return replace(
            self,
            total=self.records - self.total,
            squares=self.size_squares - 2 * self.cross + self.squares,
            cross=self.size_squares - self.cross,
        )


def clustered_proportion(
    flagged: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> Estimate:
    """Return the share of records that are flagged, with its interval.

    Args:
        flagged: (records,) True where the record is flagged.
        clusters: (records,) Person of each record; by default every record is independent, and the
            interval is Clopper and Pearson's.
        confidence: Nominal coverage of the interval.

    Returns:
        The share; withheld without records.

    Raises:
        ValueError: If there is not one cluster per record.

    Examples:
        >>> flagged = np.repeat([True, False, False], 4)
        >>> print(gl.metrics.clustered_proportion(flagged))
        0.333 [0.099, 0.651]
        >>> print(gl.metrics.clustered_proportion(flagged, clusters=np.repeat([1, 2, 3], 4)))
        0.333 [0.008, 0.906]
    """
    flagged = np.asarray(flagged, dtype=bool)
    if clusters is None:
        return proportion(int(flagged.sum()), len(flagged), confidence=confidence)
    error = error_of(confidence)
    if np.shape(clusters) != flagged.shape:
        raise ValueError(f"Expected clusters {flagged.shape}, one per record, found {np.shape(clusters)}.")
    if len(flagged) == 0:
        return WITHHELD
    sums = ClusterSums.from_values(flagged, consecutive_codes(np.asarray(clusters)))
    return Estimate(float(flagged.mean()), *map(float, sums.interval(error)))


def proportions_by_class(
    flagged: np.ndarray, member: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> tuple[Estimate, Estimate]:
    """Return the flagged shares of members and of non-members (TPR and FPR); see :func:`clustered_proportion`."""
    tpr, fpr = (
        clustered_proportion(
            flagged[side], clusters=None if clusters is None else clusters[side], confidence=confidence
        )
        for side in (member, ~member)
    )
    return tpr, fpr
