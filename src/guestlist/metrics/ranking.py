"""Area under the ROC curve: DeLong intervals, paired differences, and comparisons within folds."""

from typing import NamedTuple

import numpy as np
from scipy import special

from guestlist._kernels import (
    cached_argsort,
    cluster_codes,
    drop_unscored,
    optional_take,
    scored_records,
    tie_runs,
)
from guestlist.metrics.intervals import WITHHELD, ClusterSums, Estimate, error_of, logit_interval


class Placements(NamedTuple):
    """Placements of records among the other class: the structural components of DeLong et al. (1988).

    Ties count 0.5. The mean of either array is the AUC.

    Attributes:
        member: (members,) Share of non-members below each member.
        nonmember: (non-members,) Share of members above each non-member.

    Examples:
        >>> placed = gl.metrics.placements(np.array([3.0, 1.0, 2.0]), np.array([True, True, False]))
        >>> placed.member.tolist(), placed.nonmember.tolist(), placed.auc
        ([1.0, 0.0], [0.5], 0.5)
    """

    member: np.ndarray
    nonmember: np.ndarray

    @property
    def auc(self) -> float:
        return float(self.member.mean())


def placements(scores: np.ndarray, member: np.ndarray, weights: np.ndarray | None = None) -> Placements:
    """Compute placements in O(n log n), after Sun & Xu (2014), in the order of the records.

    Args:
        scores: (records,) without NaN.
        member: (records,) True for members.
        weights: (non-members,) Weights; by default all equal.

    Returns:
        The placements of members and of non-members.

    Examples:
        >>> gl.metrics.placements(np.array([3.0, 1.0, 2.0]), np.array([True, True, False])).member.tolist()
        [1.0, 0.0]
    """
    if weights is not None:
        members = scores[member]
        nonmembers = scores[~member]
        return Placements(_mid_rank(members, nonmembers, weights), 1 - _mid_rank(nonmembers, members))
    order = cached_argsort(scores)
    inside = member[order]
    starts, sizes = tie_runs(scores[order])
    tied_members = np.add.reduceat(inside.astype(np.int64), starts)
    tied = np.stack([tied_members, sizes - tied_members])
    at_most = np.cumsum(tied, axis=1)
    below = (2 * at_most - tied) / (2 * at_most[:, -1:])  # shares of members, and of non-members, below each run
    shares = np.empty(len(scores))
    shares[order] = np.where(inside, np.repeat(below[1], sizes), np.repeat(below[0], sizes))
    return Placements(shares[member], 1 - shares[~member])


class ClusterCodes(NamedTuple):
    """Cluster codes of the members and of the non-members; None for independent records."""

    member: np.ndarray | None
    nonmember: np.ndarray | None

    @classmethod
    def split(cls, clusters: np.ndarray | None, member: np.ndarray) -> "ClusterCodes":
        if clusters is None:
            return cls(None, None)
        return cls(clusters[member], clusters[~member])


def auc(
    scores: np.ndarray,
    member: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    confidence: float = 0.95,
    placed: Placements | None = None,
) -> Estimate:
    """Compute the area under the ROC curve by Mann-Whitney with mid-ranks, and DeLong's interval (DeLong et al. 1988).

    Args:
        scores: (records,) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (records,) True for members.
        clusters: (records,) Person of each record; by default every record is independent.
        weights: (records,) Weights of the non-members; those of members are ignored. By default all equal.
        confidence: Nominal coverage of the interval.
        placed: Placements of the scored records, if they are already known.

    Returns:
        The AUC of one target, exactly 0.5 for a constant score; withheld without scored members or non-members. For
        several targets, use :func:`pooled_auc`.

    Examples:
        >>> gl.metrics.auc(np.array([1.0, 1.0, 1.0]), np.array([True, False, True])).value
        0.5
        >>> print(gl.metrics.auc(np.arange(100.0), np.arange(100) % 4 > 0))
        0.520 [0.385, 0.652]
    """
    error = error_of(confidence)
    scores, member, clusters, weights = scored_records(scores, member, clusters, weights)
    if member.all() or not member.any():
        return WITHHELD
    codes = ClusterCodes.split(clusters, member)
    nonmember_weights = optional_take(weights, ~member)
    components = placed or placements(scores, member, nonmember_weights)
    component_weights = None
    if nonmember_weights is not None:
        component_weights = Placements(np.ones(len(components.member)), nonmember_weights)
    interval = _interval(components, auc_variance(components, codes, component_weights), error)
    return _widen(interval, _tie_bounds(scores, member, components, codes, error, nonmember_weights))


def auc_difference(
    scores_a: np.ndarray,
    scores_b: np.ndarray,
    member: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
    placed_a: Placements | None = None,
    placed_b: Placements | None = None,
) -> Estimate:
    """Compute the AUC of attack a minus that of attack b on the same records of one target (paired, DeLong et al. 1988).

    If the two attacks agree on every pair, for example because both separate perfectly, the interval keeps the width that
    a sample of this size cannot exclude.

    Args:
        scores_a: (records,) scores of one attack; NaN is ignored, together with its partner in ``scores_b``.
        scores_b: (records,) scores of the other attack.
        member: (records,) True for members.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.
        placed_a, placed_b: Placements of the records that the attack scored, if they are already known.

    Returns:
        The difference in [-1, 1]; withheld without scored members or non-members.

    Examples:
        >>> member = np.arange(100) % 2 == 0
        >>> print(gl.metrics.auc_difference(member + 0.0, np.arange(100.0), member))
        0.510 [0.394, 0.626]
    """
    error = error_of(confidence)
    both = ~(np.isnan(scores_a) | np.isnan(scores_b))
    member = np.asarray(member, dtype=bool)[both]
    codes = ClusterCodes.split(cluster_codes(clusters, np.where(both, scores_a, np.nan)), member)
    if member.all() or not member.any():
        return WITHHELD
    a = _placements_among(both, scores_a, member, placed_a)
    b = _placements_among(both, scores_b, member, placed_b)
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    return auc_difference_interval(a.auc - b.auc, auc_variance(gap, codes), error)


def _placements_among(
    chosen: np.ndarray, scores: np.ndarray, member: np.ndarray, placed: Placements | None
) -> Placements:
    """Return the placements of the chosen records: the known ones if exactly these records have a score."""
    if placed is not None and np.isnan(np.asarray(scores)[~chosen]).all():
        return placed
    return placements(*drop_unscored(np.asarray(scores)[chosen], member))


def auc_difference_interval(
    difference: float, variance: "AucVariance", error: float, extra_variance: float = 0.0
) -> Estimate:
    """Return a difference of AUCs with its interval; ``extra_variance`` is added to the variance due to records."""
    half = 1 - unanimous_bound(variance.pairs, error / 2)
    if variance.total > 0:
        half = max(half, variance.student(error) * np.sqrt(variance.total + extra_variance))
    return Estimate(difference, float(max(difference - half, -1.0)), float(min(difference + half, 1.0)))


def effective_sizes(
    scores: np.ndarray, member: np.ndarray, *, clusters: np.ndarray | None = None
) -> tuple[float, float]:
    """Compute the effective numbers of members and non-members for the AUC: records divided by the design effect.

    The design effect of a class is its part of the AUC's variance, divided by that of independent records.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.
        clusters: (records,) Person of each record; by default every record is independent.

    Returns:
        The two numbers, each at least 1 for a class with scores, and at most the number of records.

    Examples:
        >>> scores, member = np.repeat(np.arange(10.0), 5), np.repeat(np.arange(10) % 2 == 0, 5)
        >>> effective = gl.metrics.effective_sizes(scores, member, clusters=np.repeat(np.arange(10), 5))
        >>> bool(effective[0] < 25)  # 25 member records of 5 persons
        True
    """
    scores, member, clusters, _ = scored_records(scores, member, clusters)
    records = np.array([member.sum(), (~member).sum()], dtype=np.float64)
    if clusters is not None and records.all():
        components = placements(scores, member)
        independent = np.array(delong_variance_parts(components))
        clustered = auc_variance(components, ClusterCodes.split(clusters, member)).parts
        effect = np.divide(clustered, independent, out=np.ones(2), where=(independent > 0) & (clustered > 0))
        records = np.clip(records / effect, 1.0, records)
    return float(records[0]), float(records[1])


def smallest_detectable_auc(n_members: float, n_nonmembers: float) -> float:
    """Return the AUC that an audit of this size detects with 80% power in a two-sided test at 5%.

    It is 0.5 + (1.96 + 0.84) standard deviations of the AUC of an uninformative score.

    Args:
        n_members, n_nonmembers: Numbers of records; if persons have several, those of :func:`effective_sizes`.

    Returns:
        The AUC.

    Examples:
        >>> round(gl.metrics.smallest_detectable_auc(500, 500), 3)
        0.551
    """
    return float(0.5 + 2.8 * np.sqrt((1 / n_members + 1 / n_nonmembers) / 12))


def delong_variance_parts(components: Placements) -> tuple[float, float]:
    """Return the parts of DeLong's variance due to members and to non-members."""
    members, nonmembers = (float(np.var(x, ddof=1)) / len(x) if len(x) > 1 else 0.0 for x in components)
    return members, nonmembers


class AucVariance(NamedTuple):
    """Variance of an AUC, or of a difference of AUCs.

    Args:
        parts: Parts due to members and to non-members.
        shared: Part due to persons with records in both classes.
        dof: Degrees of freedom of the two parts.
        effective_n: Effective numbers of persons in the two classes (Kish 1965).
        n_clusters: Number of persons in total.
    """

    parts: np.ndarray
    shared: float
    dof: np.ndarray
    effective_n: tuple[float, float]
    n_clusters: int

    @property
    def pairs(self) -> float:
        """Number of pairs of a member and a non-member, no two of which share a person."""
        return min(*self.effective_n, self.n_clusters / 2)

    @property
    def total(self) -> float:
        """Total variance, never below the larger part: negative covariance of shared persons is not trusted."""
        return float(max(self.parts.sum() + self.shared, self.parts.max()))

    def student(self, error: float) -> float:
        """Student's quantile with Satterthwaite's degrees of freedom."""
        dof = self.parts.sum() ** 2 / (self.parts**2 / np.maximum(self.dof, 1)).sum()
        return float(special.stdtrit(dof, 1 - error / 2))


def auc_variance(components: Placements, codes_of: ClusterCodes, weights: Placements | None = None) -> AucVariance:
    """Compute DeLong's variance, or Obuchowski's if persons have several records: sums within persons.

    A person with many records pulls the mean towards those records. Each person's deviation is therefore divided by the
    root of one minus the person's share of the records (Bell & McCaffrey 2002). With one record each, this is DeLong's
    n - 1.

    Args:
        components: Placements, or differences of placements.
        codes_of: Clusters of the records.
        weights: Weights of the components; a person then counts with the sum of the weights. By default all equal.
    """
    if codes_of.member is None or codes_of.nonmember is None:
        sizes = len(components.member), len(components.nonmember)
        if weights is None:
            return AucVariance(
                parts=np.array(delong_variance_parts(components)),
                shared=0.0,
                dof=np.array(sizes) - 1,
                effective_n=sizes,
                n_clusters=sum(sizes),
            )
        codes = np.arange(sizes[0]), sizes[0] + np.arange(sizes[1])
    else:
        codes = codes_of.member, codes_of.nonmember
    if weights is None:
        weights = Placements(*map(np.ones_like, components))
    n_clusters = int(max(side_codes.max() for side_codes in codes)) + 1
    deviations = np.zeros((2, n_clusters))
    records = np.empty((2, n_clusters))
    for side, (values, side_codes, weight) in enumerate(zip(components, codes, weights, strict=True)):
        total = weight.sum()
        records[side] = np.bincount(side_codes, weight, minlength=n_clusters)
        other_share = 1 - records[side] / total
        sums = np.bincount(side_codes, weight * (values - (weight @ values) / total), minlength=n_clusters) / total
        # The variance within a single cluster is unknown.
        np.divide(sums, np.sqrt(other_share), out=deviations[side], where=other_share > 0)
    parts = np.square(deviations).sum(axis=1)
    shared = 2 * float(deviations[0] @ deviations[1])
    squares = np.square(records)
    # Degrees of freedom as if all records of a person were equal.
    dof = squares.sum(axis=1) ** 2 / np.square(squares).sum(axis=1) - 1
    effective_n = records.sum(axis=1) ** 2 / squares.sum(axis=1)
    return AucVariance(
        parts=parts,
        shared=shared,
        dof=dof,
        effective_n=(float(effective_n[0]), float(effective_n[1])),
        n_clusters=n_clusters,
    )


def unanimous_bound(blocks: float, error: float) -> float:
    """Return a one-sided lower bound on the probability of an event that happened in all of ``blocks`` trials.

    If the trials are independent and the event has probability p, it happens in all of them with probability p**blocks,
    which refutes any p below error**(1 / blocks).
    """
    return error ** (1 / blocks)


def _interval(components: Placements, variance: AucVariance, error: float) -> Estimate:
    value = components.auc
    low, high = _exact_bounds(components, variance, error)
    # Weights cause rounding errors where all placements are equal, hence the second condition.
    if variance.total == 0 or not 0 < value < 1:
        return Estimate(value, min(low, value), max(high, value))
    smooth = logit_interval(value, np.sqrt(variance.total), variance.student(error))
    return _widen(smooth, (low, high))


def _widen(interval: Estimate, bounds: tuple[float, float]) -> Estimate:
    return Estimate(interval.value, min(interval.low, bounds[0]), max(interval.high, bounds[1]))


def _exact_bounds(components: Placements, variance: AucVariance, error: float) -> tuple[float, float]:
    """Return bounds that no sample of this size can exclude.

    Match members and non-members in min(n1, n0) pairs that share no record, and no person. The pairs are independent,
    and each is in the right order with probability AUC, so perfect separation refutes an AUC below (error / 2)**(1 /
    pairs). A sample that is not perfectly separated must not claim more than that. The same holds for the reversed
    order.

    A class of n records with equal placements, as in a group of ties, has a sample variance of 0. By the same argument
    a share of up to 1 - (error / 2)**(1 / n) of its population may have any other placement.
    """
    value = components.auc
    low = unanimous_bound(variance.pairs, error / 2)
    high = 1 - low
    for n in (n for x, n in zip(components, variance.effective_n, strict=True) if np.ptp(x) == 0):
        bound = unanimous_bound(n, error / 2)
        low = min(low, value * bound)
        high = max(high, 1 - (1 - value) * bound)
    return low, high


def _tie_bounds(
    scores: np.ndarray,
    member: np.ndarray,
    components: Placements,
    codes: ClusterCodes,
    error: float,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """Return bounds from the mean placements of the two classes, combined by squares; used only if scores tie.

    Scores with two distinct values have two placements. With more values there may be unseen ones, anywhere in [0, 1].
    """
    ordered = scores[cached_argsort(scores)]
    value = components.auc
    values = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    if len(values) == len(scores):
        return value, value
    limits = Placements(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    if len(values) == 2:
        limits = Placements(_mid_rank(values, scores[~member], weights), 1 - _mid_rank(values[::-1], scores[member]))
    below = 0.0
    above = 0.0
    for placed, side_codes, (floor, ceiling), side_weights in zip(
        components, codes, limits, (None, weights), strict=True
    ):
        sums = ClusterSums.from_values((placed - floor) / (ceiling - floor), side_codes, side_weights)
        low, high = (floor + (ceiling - floor) * end for end in sums.interval(error))
        below = np.hypot(below, value - low)
        above = np.hypot(above, high - value)
    return float(max(value - below, 0.0)), float(min(value + above, 1.0))


def _mid_rank(values: np.ndarray, population: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the share of ``population`` below each value; ties count 0.5."""
    if weights is None:
        ordered = np.sort(population)
        below = np.arange(len(ordered) + 1)
    else:
        order = np.argsort(population, kind="stable")
        ordered = population[order]
        below = np.append(0.0, np.cumsum(weights[order]))
    left, right = (below[np.searchsorted(ordered, values, side)] for side in ("left", "right"))
    return (left + right) / (2 * below[-1])


def auc_gain_within_folds(
    scores: np.ndarray,
    fitted: np.ndarray,
    member: np.ndarray,
    fold: np.ndarray,
    *,
    baseline_sd: float = 0.0,
    at_least: float | None = None,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute the AUC of ``scores`` minus that of cross-fitted scores, over pairs of records of one fold.

    Args:
        scores: (records,) scores of an attack; NaN is ignored, together with its partner.
        fitted: (records,) scores of the classifier, which was fitted on other folds.
        member: (records,) True for members.
        fold: (records,) numbers of the folds.
        baseline_sd: Standard deviation of the classifier's AUC under permuted membership.
        at_least: AUC that replaces the classifier's if that is smaller, such as 0.5; the result is then the smaller of two
            differences, and so is each end of its interval. None compares with the classifier's AUC only.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.

    Returns:
        The difference in AUC; withheld if no fold has scored members and non-members.

    Examples:
        >>> member, fold = np.arange(100) % 2 == 0, np.arange(100) // 50
        >>> gain = gl.metrics.auc_gain_within_folds(member + 0.0, np.zeros(100), member, fold)
        >>> gain.value
        0.5
    """
    error = error_of(confidence)
    compared = ~(np.isnan(scores) | np.isnan(fitted))
    for number in np.unique(fold[compared]):  # A fold without both classes is dropped.
        kinds = np.unique(member[compared & (fold == number)])
        compared &= (fold != number) | (len(kinds) == 2)
    if not compared.any():
        return WITHHELD
    member = np.asarray(member, dtype=bool)[compared]
    fold = fold[compared]
    codes = ClusterCodes.split(cluster_codes(clusters, np.where(compared, scores, np.nan)), member)
    a, b = (
        _placements_within(np.asarray(values, dtype=np.float64)[compared], member, fold) for values in (scores, fitted)
    )
    pairs = Placements(*(np.bincount(fold, ~side)[fold[side]] for side in (member, ~member)))  # in each record's fold
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    value = float(pairs.member @ gap.member / pairs.member.sum())
    extra_variance = max(baseline_sd**2 - auc_variance(b, codes, pairs).total, 0.0)
    beyond = auc_difference_interval(value, auc_variance(gap, codes, pairs), error, extra_variance)
    if at_least is None:
        return beyond
    gain_over_floor = float(pairs.member @ a.member / pairs.member.sum()) - at_least
    over_floor = auc_difference_interval(gain_over_floor, auc_variance(a, codes, pairs), error)
    return Estimate(*(min(ends) for ends in zip(beyond, over_floor, strict=True)))


def _placements_within(scores: np.ndarray, member: np.ndarray, fold: np.ndarray) -> Placements:
    """Compute placements among the other class within each fold, in the order of the records."""
    shares = np.empty(len(scores))
    for number in np.unique(fold):
        inside = fold == number
        of_fold = placements(scores[inside], member[inside])
        shares[inside & member], shares[inside & ~member] = of_fold
    return Placements(shares[member], shares[~member])
