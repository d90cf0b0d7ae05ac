"""Bounds on means and shares where persons have several records: persons are the sampling unit.

Records of one person resemble each other, so a hundred of them may be worth ten. Bounds on a share must then hold
whatever the resemblance, up to persons with all records flagged. Clopper and Pearson's are the special case of
one record each of a bound by Gaffke (2004) on the mean of draws from [0, 1]: give the draws, and one more that stands at
the far end, random weights (uniform on the simplex), and take a quantile of the weighted mean. Here a draw is a person,
and the additional one has as many records as the person of a record has on average, because an unseen person may be
influential. The quantile is that of the beta distribution with the weighted mean's first two moments, which is exact where every
person is called wholly or not at all.

The price is width: with few persons no bound is narrower than what one unseen person could change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from guestlist.arrays.samples import consecutive_codes, error_of
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import clopper_pearson_lower, clopper_pearson_upper, proportion

ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29


@dataclass(frozen=True)
class ClusterSums:
    """Persons' sums s of values in [0, 1] and their numbers of records m, as far as bounds on the mean need them.

    Args:
        total, squares, cross: the sums over persons of s, of s² and of s·m; arrays for many means at once.
        records, size_squares: the sums over persons of m and of m².
        clusters: how many there are; like the two before, an array where the means are of different persons.
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
    ) -> ClusterSums:
        """Sums of (records,) values; ``clusters`` are their numbers, None where each record stands alone.

        Args:
            weights: (records,) as how many records each counts; by default as one.
        """
        values = np.asarray(values, dtype=np.float64)
        if weights is not None:
            clusters = np.arange(len(values)) if clusters is None else clusters
            occupied = np.bincount(clusters) > 0
            sums, sizes = (np.bincount(clusters, weights * each)[occupied] for each in (values, 1.0))
            squares = float(np.square(sums).sum())
            size_squares = float(np.square(sizes).sum())
            return cls(float(sums.sum()), squares, float(sums @ sizes), float(weights.sum()), size_squares, len(sums))
        if clusters is None:
            total = float(values.sum())
            return cls(total, float(np.square(values).sum()), total, len(values), len(values), len(values))
        sizes = np.bincount(clusters)
        sums = np.bincount(clusters, values)[sizes > 0]
        sizes = sizes[sizes > 0]
        squares = float(np.square(sums).sum())
        size_squares = float(np.square(sizes).sum())
        return cls(float(sums.sum()), squares, float(sums @ sizes), len(values), size_squares, len(sizes))

    @classmethod
    def from_ranking(cls, clusters: np.ndarray, weights: np.ndarray | None = None) -> ClusterSums:
        """Sums for each number of calls k = 0, 1, …: of the first k records, which belong to ``clusters``, in that order.

        Args:
            weights: (records,) as how many records each counts; by default as one.
        """
        if weights is not None:
            return cls._from_weighted_ranking(clusters, weights)
        counts = np.bincount(clusters)
        order = np.argsort(clusters, kind="stable")
        earlier = np.empty(len(clusters))  # records of the same person that are called before this one
        earlier[order] = np.arange(len(clusters)) - np.repeat(np.cumsum(counts) - counts, counts)
        squares = np.append(0.0, np.cumsum(2 * earlier + 1))
        cross = np.append(0.0, np.cumsum(counts[clusters], dtype=np.float64))
        total = np.arange(len(clusters) + 1.0)
        return cls(total, squares, cross, len(clusters), float(np.square(counts).sum()), int((counts > 0).sum()))

    @classmethod
    def _from_weighted_ranking(cls, clusters: np.ndarray, weights: np.ndarray) -> ClusterSums:
        sizes = np.bincount(clusters, weights)
        order = np.argsort(clusters, kind="stable")
        running = np.cumsum(weights[order])
        first = np.searchsorted(clusters[order], clusters[order], "left")
        earlier = np.empty(len(clusters))  # what the same person's records weigh that are called before this one
        earlier[order] = running - weights[order] - np.where(first > 0, running[first - 1], 0.0)
        squares = np.append(0.0, np.cumsum(weights * (2 * earlier + weights)))
        cross, total = (np.append(0.0, np.cumsum(weights * each)) for each in (sizes[clusters], 1.0))
        n_clusters = len(np.unique(clusters))
        return cls(total, squares, cross, float(total[-1]), float(np.square(sizes).sum()), n_clusters)

    def at(self, index: np.ndarray | float) -> ClusterSums:
        """One, or some, of many means; between two of them by linear interpolation."""
        below = np.floor(index).astype(np.int64)
        above = np.ceil(index).astype(np.int64)
        fraction = index - below
        total, squares, cross = (
            (1 - fraction) * np.asarray(part)[below] + fraction * np.asarray(part)[above]
            for part in (self.total, self.squares, self.cross)
        )
        return replace(self, total=total, squares=squares, cross=cross)

    @property
    def effective_n(self) -> float:
        """Number of persons, less where a few of them have most of the records (Kish 1965)."""
        return self.records**2 / self.size_squares

    def upper(self, error: np.ndarray | float) -> np.ndarray:
        """Upper bound on the mean, ``error`` all on this side.

        Where a few have most of the records, or of the weight, and high scores too, it may be one of those that was missed: who
        was not seen counts as one of as many as these are worth.
        """
        a, b, inside = self._beta()
        return np.where(inside, special.betaincinv(a, b, 1 - error), 1.0)

    def lower(self, error: np.ndarray | float) -> np.ndarray:
        """Lower bound on the mean, ``error`` all on this side."""
        return 1 - self._complement().upper(error)

    def tails(self, mean: float) -> tuple[np.ndarray, np.ndarray]:
        """One-sided errors at which the upper and the lower bound equal ``mean``: the p-values of a smaller and a larger one."""
        a, b, inside = self._beta()
        smaller = np.where(inside, special.betaincc(a, b, mean), 1.0)
        a, b, inside = self._complement()._beta()
        return smaller, np.where(inside, special.betaincc(a, b, 1 - mean), 1.0)

    def _beta(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parameters of the beta distribution whose quantiles are upper bounds, and where there is one."""
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

    def _complement(self) -> ClusterSums:
        """The same of one minus the values."""
        return ClusterSums(
            total=self.records - self.total,
            squares=self.size_squares - 2 * self.cross + self.squares,
            cross=self.size_squares - self.cross,
            records=self.records,
            size_squares=self.size_squares,
            n_clusters=self.n_clusters,
        )


@dataclass(frozen=True)
class SortedScores:
    """Scores of members, or of non-members, sorted upwards, and bounds on the share of the population above any of them."""

    scores: np.ndarray
    calls: ClusterSums | None  # for each number of calls from the top; None where each record stands alone

    weighted: bool = False

    @classmethod
    def from_scores(
        cls, scores: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
    ) -> SortedScores:
        """Sort scores; ``weights`` are numbers of records that each counts for, by default 1."""
        if clusters is None and weights is None:
            return cls(np.sort(scores), None)
        order = np.argsort(scores, kind="stable")
        from_top = order[::-1]
        codes = np.arange(len(scores)) if clusters is None else consecutive_codes(clusters[from_top])
        calls = ClusterSums.from_ranking(codes, None if weights is None else weights[from_top])
        return cls(scores[order], calls, weights is not None and bool(np.ptp(weights) > 0))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_clusters(self) -> float:
        """Number of persons, or of independent records; less where a few have most of the weight."""
        if self.calls is None:
            return len(self.scores)
        return self.calls.effective_n if self.weighted and len(self) else self.calls.n_clusters

    def allowed(self, share: float) -> int:
        """Return the largest number of top records that is at most a share of all."""
        if self.calls is None or not self.weighted:
            return math.floor(share * len(self) + ROUNDING)
        total = np.asarray(self.calls.total)
        return int(np.searchsorted(total, share * total[-1] * (1 + ROUNDING), "right")) - 1

    def above(self, threshold: np.ndarray | float) -> np.ndarray:
        """Number of records with a larger score."""
        return len(self.scores) - np.searchsorted(self.scores, threshold, "right")

    def tails(self, count: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Chances of at most, and of at least, ``count`` records above a threshold that a ``share`` of the population exceeds."""
        if self.calls is None:
            return special.bdtr(count, len(self), share), special.bdtrc(count - 1, len(self), share)
        return self.calls.at(count).tails(share)

    def lower(self, count: np.ndarray | float, error: np.ndarray | float) -> np.ndarray:
        """Lower bound on the share of the population above a fixed threshold that ``count`` records exceed."""
        return (
            clopper_pearson_lower(count, len(self), error) if self.calls is None else self.calls.at(count).lower(error)
        )

    def upper(self, count: np.ndarray | float, error: np.ndarray | float) -> np.ndarray:
        """Upper bound on the same."""
        return (
            clopper_pearson_upper(count, len(self), error) if self.calls is None else self.calls.at(count).upper(error)
        )


def clustered_proportion(
    flagged: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> Estimate:
    """Share of records that are called, with its interval; withheld without records.

    Args:
        called: (records,) true or false.
        clusters: (records,) Person of each record; by default every record is independent, and the
            interval is Clopper and Pearson's.
        confidence: Nominal coverage of the interval.

    >>> called = np.repeat([True, False, False], 4)
    >>> print(clustered_proportion(called))
    0.333 [0.099, 0.651]
    >>> print(clustered_proportion(called, clusters=np.repeat([1, 2, 3], 4)))
    0.333 [0.008, 0.906]
    """
    flagged = np.asarray(flagged, dtype=bool)
    error = error_of(confidence)
    if clusters is None:
        return proportion(int(flagged.sum()), len(flagged), confidence=confidence)
    if np.shape(clusters) != flagged.shape:
        raise ValueError(f"Expected clusters {flagged.shape}, one per record, found {np.shape(clusters)}.")
    if len(flagged) == 0:
        return WITHHELD
    sums = ClusterSums.from_values(flagged, consecutive_codes(np.asarray(clusters)))
    return Estimate(float(flagged.mean()), float(sums.lower(error / 2)), float(sums.upper(error / 2)))
