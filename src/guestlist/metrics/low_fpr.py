"""Metrics at a low false positive rate.

The parameter is TPR(q) = P(member's score > q), where q is the (1 - fpr)-quantile of the non-members: the
smallest threshold that at most a share ``fpr`` of them exceeds. Exceeding is strict throughout, so that a
group of tied scores at the threshold is flagged neither by the estimate nor by its interval.

Two things are unknown: the threshold q, which order statistics of the non-members bracket, and the TPR at a
given threshold, which Clopper and Pearson bound. The interval combines the two by squares (MOVER, Zou & Donner
2008): a threshold whose z-score is ``a`` is paired with the Clopper-Pearson limit at the z-score ``b``, where
a² + b² = z², and the interval is the hull over all such pairs. Written this way it also holds for tied scores,
where adding up two distances by squares covers far less. Simulations show a coverage of 94 to 100% at a
nominal 95% (``benchmarks/error_rates/low_fpr.py``). A plain Clopper-Pearson interval at the threshold estimated from
the same records covers less than 80%.

Where persons have several records, bounds for clusters (``persons.py``) replace binomial ones, both for the
threshold and for the members.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from guestlist._kernels import (
    cached_argsort,
    consecutive_codes,
    optional_take,
    scored_records,
)
from guestlist.metrics.intervals import (
    ROUNDING,
    WITHHELD,
    ClusterSums,
    Estimate,
    clopper_pearson_lower,
    clopper_pearson_upper,
    error_of,
)


class Resolution(StrEnum):
    """Precision with which a number of non-members resolves a false positive rate: ``withheld``, ``weak`` or ``good``.

    Examples:
        >>> gl.metrics.Resolution.WEAK == "weak"
        True
    """

    WITHHELD = "withheld"
    WEAK = "weak"
    GOOD = "good"


@dataclass(frozen=True)
class SortedScores:
    """Scores of members, or of non-members, sorted upwards, and bounds on the share of the population above any of them."""

    scores: np.ndarray
    cluster_sums: ClusterSums | None  # for each number of top-ranked flagged records; None if records are independent

    weighted: bool = False

    @classmethod
    def from_scores(
        cls, scores: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
    ) -> "SortedScores":
        """Sort scores; ``weights`` are numbers of records that each counts for, by default 1."""
        if clusters is None and weights is None:
            return cls(np.sort(scores), None)
        order = np.argsort(scores, kind="stable")
        from_top = order[::-1]
        if clusters is None:
            codes = np.arange(len(scores))
        else:
            codes = consecutive_codes(clusters[from_top])
        cluster_sums = ClusterSums.from_ranking(codes, None if weights is None else weights[from_top])
        return cls(scores[order], cluster_sums, weights is not None and len(np.unique(weights)) > 1)

    @property
    def n_clusters(self) -> float:
        """Effective number of persons, or of independent records; smaller if a few have most of the weight."""
        if self.cluster_sums is None:
            return len(self.scores)
        if self.weighted and len(self.scores):
            return self.cluster_sums.effective_n
        return self.cluster_sums.n_clusters

    def allowed(self, share: float) -> int:
        """Return the largest number of top records that is at most a share of all."""
        if self.cluster_sums is None or not self.weighted:
            return math.floor(share * len(self.scores) + ROUNDING)
        total = np.asarray(self.cluster_sums.total)
        return int(np.searchsorted(total, share * total[-1] * (1 + ROUNDING), "right")) - 1

    def above(self, threshold: np.ndarray | float) -> np.ndarray:
        """Return the number of records with a larger score."""
        return len(self.scores) - np.searchsorted(self.scores, threshold, "right")

    def tails(self, count: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return P(at most) and P(at least ``count`` records) above a threshold that a ``share`` of all exceeds."""
        if self.cluster_sums is None:
            return special.bdtr(count, len(self.scores), share), special.bdtrc(count - 1, len(self.scores), share)
        return self.cluster_sums.at(count).tails(share)

    def lower(self, count: np.ndarray | float, error: np.ndarray | float) -> np.ndarray:
        """Return a lower bound on the share of the population above a fixed threshold that ``count`` records exceed."""
        if self.cluster_sums is None:
            return clopper_pearson_lower(count, len(self.scores), error)
        return self.cluster_sums.at(count).lower(error)

    def upper(self, count: np.ndarray | float, error: np.ndarray | float) -> np.ndarray:
        """Return an upper bound on the same share."""
        if self.cluster_sums is None:
            return clopper_pearson_upper(count, len(self.scores), error)
        return self.cluster_sums.at(count).upper(error)


class SplitScores(NamedTuple):
    """Scores of members and of non-members, sorted once for several metrics; :func:`split_scores` makes them.

    Attributes:
        members: Sorted scores of the members.
        nonmembers: Sorted scores of the non-members.
    """

    members: SortedScores
    nonmembers: SortedScores


class RankBracket(NamedTuple):
    """Ranks of two non-members that enclose the threshold: rank j is the (j + 1)-th largest; -1 and n are beyond all."""

    lower: np.ndarray
    upper: np.ndarray


class ThresholdRanks(NamedTuple):
    """Thresholds at rising z-scores from 0 to z, as fractional ranks of non-members; arrays (STEPS + 1, rates).

    Attributes:
        strict: Ranks of the thresholds above the estimate: the non-member with this rank and the one before it
            (``strict`` - 1) enclose the threshold.
        strict_share: Position between the two; 1 is at the rank before it.
        lenient: Ranks of the thresholds below the estimate: enclosed by ``lenient`` - 1 and ``lenient``.
        lenient_share: Position between the two; 1 is at ``lenient``.
        error: (STEPS + 1, 1) remaining one-sided error, for the share of members above the threshold.
    """

    strict: np.ndarray
    strict_share: np.ndarray
    lenient: np.ndarray
    lenient_share: np.ndarray
    error: np.ndarray


STEPS = 12  # number of z-scores of the threshold that are paired with those of the TPR
# Share of the error that is used where non-members tie. If a group of ties ends exactly at the FPR, each side of the
# interval is a one-sided test of two quantities, and together they err in exp(-z²/2) / 4 + (1 - Phi(z)) of samples.
TIES = 0.85
POWER = 0.8
SIMULATED = 2000  # number of simulated audits that estimate the smallest detectable TPR
FARTHEST = 12.0  # distance of two normal distributions whose samples do not overlap


def check_share(**named: np.ndarray | float) -> None:
    """Raise unless every named value lies in [0, 1]."""
    for name, value in named.items():
        if not np.all((np.asarray(value) >= 0) & (np.asarray(value) <= 1)):
            raise ValueError(f"Expected {name}={value} in [0, 1].")


def resolution(fpr: float, n_nonmembers: float) -> Resolution:
    """Return how well a number of non-members resolves an FPR.

    Args:
        fpr: False positive rate, in [0, 1].
        n_nonmembers: Number of non-members; of persons, if persons have several records, because all records of one person
            may be flagged together.

    Returns:
        Withheld below one expected false positive, weak below ten, otherwise good.

    Examples:
        >>> str(gl.metrics.resolution(0.001, 5000))
        'weak'
    """
    check_share(fpr=fpr)
    expected = fpr * n_nonmembers + ROUNDING
    if expected < 1:
        return Resolution.WITHHELD
    if expected < 10:
        return Resolution.WEAK
    return Resolution.GOOD


def records_needed(fpr: float) -> int:
    """Return the number of non-members that resolves ``fpr`` well: ten expected false positives.

    Args:
        fpr: False positive rate, in (0, 1].

    Returns:
        The number of non-members.

    Raises:
        ValueError: If ``fpr`` is not in (0, 1].

    Examples:
        >>> gl.metrics.records_needed(0.001)
        10000
    """
    if not 0 < fpr <= 1:
        raise ValueError(f"Expected fpr={fpr} in (0, 1].")
    return math.ceil(10 / fpr - ROUNDING)


def tpr_at_fpr(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    *,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute the share of members flagged when at most a share ``fpr`` of the non-members is (Carlini et al. 2022).

    Args:
        scores: (records,) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (records,) True for members.
        fpr: False positive rate, in [0, 1].
        clusters: (records,) Person of each record; by default every record is independent.
        weights: (records,) Weights of the non-members; those of members are ignored. By default all equal. They are
            taken as known, so that the interval is not valid for every distribution of them.
        confidence: Nominal coverage of the interval.

    Returns:
        The share and its interval; withheld if ``fpr`` times the number of non-members is below 1. Persons count instead of
        records if they are given, and weighted records by their effective sample size.

    Examples:
        >>> member = np.arange(400) < 200
        >>> print(gl.metrics.tpr_at_fpr(np.arange(400)[::-1] + 0.0, member, fpr=0.05))
        1.000 [0.982, 1.000]
    """
    check_share(fpr=fpr)
    members, nonmembers = split_scores(scores, member, clusters, weights)
    if _withheld(members, nonmembers, fpr):
        return WITHHELD
    return _tpr(members, nonmembers, fpr, error_of(confidence))


def roc_band(
    scores: np.ndarray,
    member: np.ndarray,
    fprs: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Return pointwise limits of the TPR at each of ``fprs``, as in :func:`tpr_at_fpr`.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.
        fprs: False positive rates, in [0, 1].
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage at each rate; not joint over all rates.

    Returns:
        Lower and upper limits. Where :func:`tpr_at_fpr` withholds its value, the lower limit is 0. NaN without scored
        members or non-members.

    Examples:
        >>> low, high = gl.metrics.roc_band(np.arange(400)[::-1] + 0.0, np.arange(400) < 200, np.array([0.05, 0.5]))
        >>> low.round(3).tolist(), high.tolist()
        ([0.982, 0.982], [1.0, 1.0])
    """
    return roc_band_of_split(split_scores(scores, member, clusters), fprs, confidence=confidence)


def roc_band_of_split(
    sides: SplitScores, fprs: np.ndarray, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`roc_band` for scores that are already sorted.

    Args:
        sides: Scores of members and of non-members, from :func:`split_scores`.
        fprs, confidence: As for :func:`roc_band`.

    Returns:
        Lower and upper limits.
    """
    fprs = np.asarray(fprs, dtype=np.float64)
    check_share(fprs=fprs)
    members, nonmembers = sides
    if min(len(members.scores), len(nonmembers.scores)) == 0:
        return np.full(fprs.shape, np.nan), np.full(fprs.shape, np.nan)
    return _limits(members, nonmembers, fprs, error_of(confidence))


def threshold_at_fpr(scores_of_nonmembers: np.ndarray, fpr: float) -> np.floating:
    """Return the smallest threshold at which flags ``score >= threshold`` meet ``fpr`` on these non-members.

    It is the first float above the non-member that must not be flagged, in the precision of the scores.

    Args:
        scores_of_nonmembers: (non-members,) scores; NaN is ignored.
        fpr: Largest share of them that may be flagged.

    Returns:
        The threshold; NaN, at which no record is flagged, if more than a share ``fpr`` scores +inf, or none is scored.

    Examples:
        >>> bool(gl.metrics.threshold_at_fpr(np.array([0.0, 1.0, 2.0, 3.0]), 0.25) > 2)
        True
    """
    check_share(fpr=fpr)
    scores = np.asarray(scores_of_nonmembers)
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    unknown = np.isnan(scores)
    if unknown.any():
        scores = scores[~unknown]
    infinity = scores.dtype.type(np.inf)
    allowed = math.floor(fpr * len(scores) + ROUNDING)
    if len(scores) and allowed == len(scores):
        return -infinity
    last = np.partition(scores, -1 - allowed)[-1 - allowed] if len(scores) else infinity
    if last == infinity:
        return scores.dtype.type(np.nan)
    return np.nextafter(last, infinity)


def positive_predictive_value(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    prior: float,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute the share of true members among records flagged at ``fpr``, if a share ``prior`` of tested records are members.

    It is prior * TPR / (prior * TPR + (1 - prior) * FPR) above the threshold of :func:`tpr_at_fpr`. Without ties the FPR is
    ``fpr`` itself. With tied scores at the threshold, which are not flagged, it is smaller and estimated; the interval then
    accounts for both rates.

    Args:
        scores, member, fpr, clusters, confidence: As for :func:`tpr_at_fpr`.
        prior: Share of members among the tested records, in [0, 1].

    Returns:
        The share; withheld if the TPR is, and if no record is flagged.

    Examples:
        >>> scores, member = np.arange(400)[::-1] + 0.0, np.arange(400) < 200
        >>> print(gl.metrics.positive_predictive_value(scores, member, fpr=0.05, prior=0.5))
        0.952 [0.952, 0.952]
    """
    return tpr_and_ppv_at_fpr(scores, member, fpr, prior, clusters=clusters, confidence=confidence)[1]


def tpr_and_ppv_at_fpr(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    prior: float,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """Compute :func:`tpr_at_fpr` and :func:`positive_predictive_value` together, which is faster.

    Args:
        scores, member, fpr, clusters, confidence: As for :func:`tpr_at_fpr`.
        prior: Share of members among the tested records, in [0, 1].

    Returns:
        The TPR and the positive predictive value.
    """
    return rates_of_split(split_scores(scores, member, clusters), (fpr,), prior, confidence=confidence)[0]


def rates_of_split(
    sides: SplitScores, fprs: Sequence[float], prior: float, *, confidence: float = 0.95
) -> list[tuple[Estimate, Estimate]]:
    """Compute :func:`tpr_and_ppv_at_fpr` at several rates, for scores that are already sorted.

    Args:
        sides: Scores of members and of non-members, from :func:`split_scores`.
        fprs: False positive rates, in [0, 1].
        prior: Share of members among the tested records, in [0, 1].
        confidence: Nominal coverage of each interval.

    Returns:
        The TPR and the positive predictive value at each rate.
    """
    check_share(prior=prior, fprs=np.array(fprs))
    members, nonmembers = sides
    error = error_of(confidence)
    rates = []
    for fpr in fprs:
        if _withheld(members, nonmembers, fpr):
            rates.append((WITHHELD, WITHHELD))
            continue
        tpr = _tpr(members, nonmembers, fpr, error)
        bracket = _bracket(nonmembers, fpr, error / 4)
        ppv = _predictive_value(tpr, members, nonmembers, fpr, prior, bracket, error / 8)
        rates.append((tpr, ppv))
    return rates


def smallest_detectable_tpr(fpr: float, n_members: int, n_nonmembers: int, *, confidence: float = 0.95) -> float:
    """Return the TPR at ``fpr`` that an audit of this size distinguishes from guessing with 80% power.

    Power is the share of simulated audits in which the interval of :func:`tpr_at_fpr` lies above ``fpr``. Thresholds in
    the interval are stricter than ``fpr``, so power depends on the ROC curve to the left of ``fpr``: the curve is assumed
    to be binormal, TPR = Phi(Phi^-1(FPR) + d).

    Args:
        fpr: False positive rate, in [0, 1].
        n_members, n_nonmembers: Numbers of records; of persons, if persons have several. The result is then an upper bound,
            which is reached if all records of a person have equal scores.
        confidence: Nominal coverage of the interval.

    Returns:
        The TPR; NaN if even a TPR of 1 would not be distinguished.

    Examples:
        >>> round(gl.metrics.smallest_detectable_tpr(0.05, 1000, 1000), 2)
        0.09
    """
    check_share(fpr=fpr)
    thresholds = _binomial_thresholds(error_of(confidence), n_nonmembers, np.float64(fpr).tobytes())
    ranks = np.unique([thresholds.strict - 1, thresholds.strict]).astype(np.int64)
    if ranks[0] < 0 or clopper_pearson_lower(n_members, n_members, thresholds.error.min()) <= fpr:
        return float("nan")
    # Number of members above each threshold at which the lower limit is the FPR.
    enough = [
        optimize.brentq(lambda count, error=error: clopper_pearson_lower(count, n_members, error) - fpr, 0.0, n_members)
        for error in thresholds.error[:, 0]
    ]
    false_rates = _simulated_false_rates(ranks, n_nonmembers)

    def missing_power(shift: float) -> float:
        counts = _simulated_counts(special.ndtr(special.ndtri(false_rates) + shift), n_members)
        above = dict(zip(ranks, counts.T, strict=True))
        detected = np.full(SIMULATED, True)
        for rank, share, needed in zip(thresholds.strict[:, 0], thresholds.strict_share[:, 0], enough, strict=True):
            outer = above[rank - 1]
            inner = above[rank]
            detected &= inner + share * (outer - inner) > needed
        return POWER - float(detected.mean())

    low = 0.0
    high = FARTHEST
    if missing_power(high) > 0:
        return float("nan")
    while high - low > 0.005:
        middle = (low + high) / 2
        if missing_power(middle) > 0:
            low = middle
        else:
            high = middle
    return float(special.ndtr(special.ndtri(fpr) + high))


def split_scores(
    scores: np.ndarray, member: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
) -> SplitScores:
    """Split scores into sorted members and non-members, once for several metrics.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.
        clusters: (records,) Person of each record; None if every record is independent.
        weights: (records,) Weights of the non-members; those of members are ignored. By default all equal.

    Returns:
        The sorted scores of both.
    """
    scores, member, clusters, weights = scored_records(scores, member, clusters, weights)
    if clusters is None and weights is None:
        order = cached_argsort(scores)
        ordered = scores[order]
        kind = member[order]
        return SplitScores(SortedScores(ordered[kind], None), SortedScores(ordered[~kind], None))
    nonmember_clusters = optional_take(clusters, ~member)
    return SplitScores(
        members=SortedScores.from_scores(scores[member], optional_take(clusters, member)),
        nonmembers=SortedScores.from_scores(scores[~member], nonmember_clusters, optional_take(weights, ~member)),
    )


def _withheld(members: SortedScores, nonmembers: SortedScores, fpr: float) -> bool:
    return len(members.scores) == 0 or fpr * nonmembers.n_clusters + ROUNDING < 1


def _tpr(members: SortedScores, nonmembers: SortedScores, fpr: float, error: float) -> Estimate:
    value = _count_above(members, nonmembers, nonmembers.allowed(fpr)) / len(members.scores)
    low, high = _limits(members, nonmembers, np.array([fpr]), error)
    return Estimate(float(value), min(float(low[0]), float(value)), max(float(high[0]), float(value)))


def _limits(
    members: SortedScores, nonmembers: SortedScores, fprs: np.ndarray, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence limits of TPR(q) at each of ``fprs``, with a two-sided ``error``."""
    if nonmembers.weighted:
        # Few records with large weights determine the threshold: only a union bound over all four ends has coverage.
        bracket = _bracket(nonmembers, fprs, error / 4)
        strict, lenient = (_count_above(members, nonmembers, rank) for rank in bracket)
        return members.lower(strict, error / 4), members.upper(lenient, error / 4)
    tied = _tied(nonmembers.scores)
    low, high = _hull(members, nonmembers, _thresholds(nonmembers, fprs, error), tied)
    if not tied.any():
        return low, high
    # Limits at thresholds among ties are wider.
    low_tied, high_tied = _hull(members, nonmembers, _thresholds(nonmembers, fprs, TIES * error), tied, only_tied=True)
    return np.minimum(low, low_tied), np.maximum(high, high_tied)


def _hull(
    members: SortedScores,
    nonmembers: SortedScores,
    thresholds: ThresholdRanks,
    tied: np.ndarray,
    *,
    only_tied: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest lower and the largest upper limit over thresholds.

    Between two non-members without ties the number of members above the threshold is interpolated; among ties it is that
    of the outer one, since no score lies between them.
    """

    def count(inner: np.ndarray, outer: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = np.stack([inner, outer])
        between = np.logical_and(*_single(both, tied))
        inside, outside = _count_above(members, nonmembers, both)
        return np.where(between, inside + share * (outside - inside), outside), between

    above, between = count(thresholds.strict, thresholds.strict - 1, thresholds.strict_share)
    low = members.lower(above, thresholds.error)
    above, between_lenient = count(thresholds.lenient - 1, thresholds.lenient, thresholds.lenient_share)
    high = members.upper(above, thresholds.error)
    if only_tied:
        low = np.where(between, 1.0, low)
        high = np.where(between_lenient, 0.0, high)
    return low.min(axis=0), high.max(axis=0)


def _tied(scores: np.ndarray) -> np.ndarray:
    """Return (n,) from the largest score down: True if another record has the same score."""
    equal = scores[::-1][1:] == scores[::-1][:-1]
    return np.append(equal, False) | np.append(False, equal)


def _single(rank: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """Return True where a rank is that of a non-member without ties."""
    inside = (rank >= 0) & (rank < len(tied))
    return inside & ~tied[np.clip(rank, 0, len(tied) - 1).astype(np.int64)]


def _thresholds(nonmembers: SortedScores, fprs: np.ndarray, error: float) -> ThresholdRanks:
    if nonmembers.cluster_sums is None:
        return _binomial_thresholds(error, len(nonmembers.scores), np.ascontiguousarray(fprs).tobytes())
    scores, tails = _z_scores(error)
    bracket = _bracket(nonmembers, fprs, float(tails[-1]))
    columns = [
        _cluster_thresholds(nonmembers, float(fpr), int(first), int(last), scores)
        for fpr, first, last in zip(fprs, bracket.lower, bracket.upper, strict=True)
    ]
    strict, strict_share, lenient, lenient_share = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
    return ThresholdRanks(
        strict=strict,
        strict_share=strict_share,
        lenient=lenient,
        lenient_share=lenient_share,
        error=_error_left(scores),
    )


def _z_scores(error: float) -> tuple[np.ndarray, np.ndarray]:
    """Return z-scores from 0 to that of a two-sided ``error``, and their tails."""
    scores = np.linspace(0.0, -special.ndtri(error / 2), STEPS + 1)
    return scores, special.ndtr(-scores)


def _error_left(scores: np.ndarray) -> np.ndarray:
    """Return (scores, 1) one-sided errors at the z-scores b with a² + b² = z², where a are ``scores`` and z is the last."""
    return special.ndtr(-np.sqrt(np.maximum(scores[-1] ** 2 - scores**2, 0.0)))[:, None]


@lru_cache(maxsize=64)
def _binomial_thresholds(error: float, n: int, fprs: bytes) -> ThresholdRanks:
    """Return the thresholds for independent records, which are the same for every attack of an audit."""
    rates = np.frombuffer(fprs)
    scores, tails = (values[:, None] for values in _z_scores(error))
    strict = stats.binom.ppf(tails, n, rates)
    lenient = stats.binom.isf(tails, n, rates)
    return ThresholdRanks(
        strict=strict,
        strict_share=_share_between(scores, *(_z(stats.binom.cdf(rank, n, rates)) for rank in (strict, strict - 1))),
        lenient=lenient,
        lenient_share=_share_between(scores, *(_z(stats.binom.sf(rank, n, rates)) for rank in (lenient - 1, lenient))),
        error=_error_left(scores[:, 0]),
    )


def _cluster_thresholds(
    nonmembers: SortedScores, fpr: float, first: int, last: int, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the thresholds of one rate if records have weights or persons; ``first`` and ``last`` bracket them."""
    counts = np.arange(max(first - 1, 0), min(last + 1, len(nonmembers.scores)) + 1)
    at_most, at_least = nonmembers.tails(counts, fpr)
    z_fewer = _z(np.maximum.accumulate(at_most))
    strict = np.searchsorted(-z_fewer, -scores, "left").clip(0, len(counts) - 1)
    # P(more than k) = P(at least k + 1), which decreases with k.
    z_more = _z(np.append(np.minimum.accumulate(at_least)[1:], 0.0))
    lenient = np.searchsorted(z_more, scores, "left").clip(0, len(counts) - 1)
    before = np.append(np.inf, z_fewer)[strict]
    strict_share = _share_between(scores, z_fewer[strict], before)
    lenient_share = _share_between(scores, np.append(0.0, z_more)[lenient], z_more[lenient])
    return counts[strict], strict_share, counts[lenient], lenient_share


def _z(tail: np.ndarray) -> np.ndarray:
    """Return the z-score of a one-sided tail."""
    return -special.ndtri(np.clip(tail, 0.0, 1.0))


def _share_between(score: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Return the position of a z-score between two others, clipped at 0 from below; 1 if the outer one is infinite."""
    inner = np.maximum(inner, 0.0)
    known = np.isfinite(outer) & (outer > inner)
    return np.where(known, (score - inner) / np.where(known, outer - inner, 1.0), 1.0).clip(0.0, 1.0)


def _simulated_false_rates(ranks: np.ndarray, n: int) -> np.ndarray:
    """Return (SIMULATED, ranks) shares of the population of non-members above those with the given rising ranks."""
    rng = np.random.default_rng(0)
    steps = np.diff(ranks, prepend=-1)
    gaps = rng.standard_gamma(steps, (SIMULATED, len(ranks)))
    remainder = rng.standard_gamma(n - ranks[-1], (SIMULATED, 1))
    return gaps.cumsum(axis=1) / (gaps.sum(axis=1, keepdims=True) + remainder)


def _simulated_counts(shares: np.ndarray, n: int) -> np.ndarray:
    """Return (SIMULATED, ranks) numbers of members above thresholds that rising ``shares`` of them exceed."""
    rng = np.random.default_rng(1)
    counts = np.zeros(shares.shape, dtype=np.int64)
    below = np.full(len(shares), n)
    last = np.zeros(len(shares))
    for column in range(shares.shape[1]):
        chance = (shares[:, column] - last) / np.maximum(1 - last, 1e-300)
        counts[:, column] = rng.binomial(below, chance.clip(0.0, 1.0))
        below = below - counts[:, column]
        last = shares[:, column]
    return counts.cumsum(axis=1)


def _bracket(nonmembers: SortedScores, fpr: np.ndarray | float, error: float) -> RankBracket:
    """Return the ranks of the non-members between which q lies, with a one-sided ``error`` for each.

    If q is above the (j+1)-th largest non-member, at most j of them reach q, although each does with probability >=
    fpr. If q is below it, more than j exceed q, although each does with probability <= fpr. Binomial tails therefore
    give the two ranks, with or without ties. For persons, bounds on the share that reaches or exceeds a threshold give
    them.
    """
    fprs = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
    if nonmembers.cluster_sums is None:
        ranks = _binomial_ranks(error, len(nonmembers.scores), fprs.tobytes())
    else:
        counts = np.arange(len(nonmembers.scores) + 1)
        upper = nonmembers.upper(counts, error)
        lower = nonmembers.lower(counts, error)
        # First count that is possible with probability >= fpr, and last that is possible with probability <= fpr.
        first = np.searchsorted(np.maximum.accumulate(upper), fprs, "left")
        last = np.searchsorted(np.minimum.accumulate(lower[::-1])[::-1], fprs, "right") - 1
        ranks = first - 1, last
    return RankBracket(*(rank.reshape(np.shape(fpr)) for rank in ranks))


@lru_cache(maxsize=64)
def _binomial_ranks(side: float, n: int, fprs: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks of the non-members that bound a threshold on both sides: the same for every attack of an audit."""
    rates = np.frombuffer(fprs)
    return stats.binom.ppf(side, n, rates) - 1, stats.binom.isf(side, n, rates)


def _count_above(members: SortedScores, nonmembers: SortedScores, rank: np.ndarray | int) -> np.ndarray:
    """Count members strictly above the (rank + 1)-th largest non-member: none for rank -1, all for rank n."""
    rank = np.asarray(rank, dtype=np.int64)
    n = len(nonmembers.scores)
    threshold = nonmembers.scores[np.clip(n - 1 - rank, 0, n - 1)]
    return np.where(rank < 0, 0, np.where(rank >= n, len(members.scores), members.above(threshold)))


def _predictive_value(
    tpr: Estimate,
    members: SortedScores,
    nonmembers: SortedScores,
    fpr: float,
    prior: float,
    bracket: RankBracket,
    error: float,
) -> Estimate:
    """Return the PPV of flags above q.

    Without ties in the bracket of q the FPR of the flags is ``fpr``, and the ends of the TPR's interval carry over.
    With ties q may be any of the values in the bracket. Each value gives two counts, and these give bounds on TPR and
    FPR, each with one-sided ``error``. The interval is the hull over the values.
    """
    values = _values_in(nonmembers, bracket)
    false = nonmembers.above(values)
    true = members.above(values)
    n_tied = len(nonmembers.scores) - np.searchsorted(nonmembers.scores, values, "left") - false
    if n_tied.max() <= 1:
        return Estimate(*map(float, _ppv(np.array(tpr), fpr, prior)))
    # The FPR is at most fpr, and lower by at most the group of ties at q.
    lowest_fpr = nonmembers.lower(false, error)
    if nonmembers.cluster_sums is None:
        lowest_fpr = np.maximum(lowest_fpr, fpr - clopper_pearson_upper(n_tied, len(nonmembers.scores), error))
    # It is certainly lower only at the lowest value: above it, q may lie between two values, outside any group of ties.
    highest_fpr = np.full(len(values), float(fpr))
    highest_fpr[0] = min(fpr, nonmembers.upper(false[0], error))
    low = np.nan_to_num(_ppv(members.lower(true, error), highest_fpr, prior), nan=0.0).min()
    high = np.nan_to_num(_ppv(members.upper(true, error), lowest_fpr, prior), nan=1.0).max()
    flagged_share = _count_above(nonmembers, nonmembers, nonmembers.allowed(fpr)) / len(nonmembers.scores)
    value = float(_ppv(np.array(tpr.value), flagged_share, prior))
    if np.isnan(value):
        return WITHHELD
    return Estimate(value, min(float(low), value), max(float(high), value))


def _values_in(nonmembers: SortedScores, bracket: RankBracket) -> np.ndarray:
    """Return the distinct scores between two ranks; infinity represents scores beyond the first or the last."""
    n = len(nonmembers.scores)
    first, last = (int(np.clip(rank, 0, n - 1)) for rank in bracket)
    beyond = [end for end, included in ((-np.inf, bracket.upper >= n), (np.inf, bracket.lower < 0)) if included]
    return np.union1d(nonmembers.scores[n - 1 - last : n - first], beyond)


def _ppv(tpr: np.ndarray, fpr: np.ndarray | float, prior: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no record is flagged.
        return prior * tpr / (prior * tpr + (1 - prior) * fpr)
