"""The privacy risk score (Song & Mittal 2021), and its calibration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import chi2

from guestlist._case import PRIOR, Case
from guestlist._kernels import (
    count_and_range,
    count_in_bins,
    drop_unscored,
    optional_take,
    rows_by_label,
    scored_records,
)
from guestlist._util import integer, number, read_only
from guestlist.metrics import WITHHELD, ClusterSums, Estimate, clustered_proportion, error_of, proportion

SMALLEST = 1e-10  # smaller values count as this, since 0 has no logarithm


@dataclass(frozen=True)
class LogHistogram:
    """Bins of equal width in the logarithm, between the smallest and the largest value of a class.

    Args:
        bins: Number of bins.
        every: True to include values that rounding puts outside the edges.

    Raises:
        ValueError: If ``bins`` is less than 1.
    """

    bins: int = 5
    every: bool = True

    def __post_init__(self) -> None:
        integer("bins", self.bins, 1)

    def edges(self, values: np.ndarray) -> np.ndarray:
        """Return (bins + 1,) edges for (values,) of at least ``SMALLEST``."""
        low = values.min()
        high = values.max()
        edges = np.logspace(np.log10(low), np.log10(high), self.bins + 1)
        if self.every:
            edges = np.clip(edges, low, high)
            edges[0] = low
            edges[-1] = high
        return edges


HISTOGRAM = LogHistogram()


@dataclass(frozen=True)
class KnownValues:
    """Values of models whose members are known, and the truth, on some of the records.

    Args:
        values, member: (models, records) Values, of which NaN is ignored, and membership.
        records: Indices of the records to use.
    """

    values: np.ndarray
    member: np.ndarray
    records: np.ndarray


def risk_score(
    values: np.ndarray,
    labels: np.ndarray,
    *,
    known_values: np.ndarray,
    known_labels: np.ndarray,
    known_member: np.ndarray,
    prior: float = PRIOR,
    histogram: LogHistogram = HISTOGRAM,
) -> np.ndarray:
    """Estimate the probability that each record is a member, by class (Song & Mittal 2021, section 5).

    A value outside the histogram of its class is assigned to the nearest end bin, and a value in an empty bin to the
    nearest non-empty bin, the lower one of two. A class with known members only, or known non-members only, uses the
    histogram of all classes.

    Args:
        values: (records,) Modified entropies of the target, or another signal above 0.
        labels: (records,) Classes.
        known_values, known_labels, known_member: (known,) The same for models with known members, and their membership.
        prior: Share of members among the candidate records.
        histogram: Bins of the values of a class.

    Returns:
        (records,) in [0, 1]; NaN where a record has no value, or where there are no known members or non-members.

    >>> known = {"known_values": np.array([0.1, 0.1, 1.0, 1.0]), "known_labels": np.zeros(4, int)}
    >>> risk_score(np.array([0.05, 2.0]), np.zeros(2, int), known_member=np.array([True, True, True, False]), **known)
    array([1.  , 0.25])

    Raises:
        ValueError: If the prior is not in (0, 1).
    """
    number("prior", prior, 0, 1)
    known_values = np.asarray(known_values, dtype=np.float64)
    known_member = np.asarray(known_member, dtype=bool)
    classes, codes = np.unique(labels, return_inverse=True)
    numbers = np.searchsorted(classes, known_labels).clip(max=max(len(classes) - 1, 0))
    if len(classes):
        numbers = np.where(classes[numbers] == known_labels, numbers, -1)
    of_class = {int(numbers[rows[0]]): rows for rows in rows_by_label(numbers)}

    def known_of(records: np.ndarray | None) -> KnownValues:
        rows = np.arange(len(known_values))
        if records is not None:
            rows = of_class.get(int(codes[records[0]]), rows[:0])
        return KnownValues(known_values[None], known_member[None], rows)

    return _score_by_class(values, codes, known_of, prior, histogram)


def _score_by_class(
    values: np.ndarray,
    codes: np.ndarray,
    known_of: Callable[[np.ndarray | None], KnownValues],
    prior: float,
    histogram: LogHistogram = HISTOGRAM,
) -> np.ndarray:
    """Compute risk scores class by class; ``known_of`` returns the known values of a class, or of all."""
    values = np.asarray(values, dtype=np.float64)
    scores = np.full(len(values), np.nan)
    every = cache(lambda: _bin_probabilities(known_of(None), prior, histogram))
    for records in rows_by_label(codes):
        bins = _bin_probabilities(known_of(records), prior, histogram) or every()
        if bins is not None:
            edges, probabilities = bins
            scored = records[~np.isnan(values[records])]
            scores[scored] = probabilities[
                np.clip(np.searchsorted(edges, values[scored], side="right") - 1, 0, histogram.bins - 1)
            ]
    return scores


def _bin_probabilities(
    known: KnownValues, prior: float, histogram: LogHistogram
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return edges of bins and (bins,) probabilities of membership of one class; None without both sets."""
    values = read_only(known.values)
    member = read_only(known.member)
    sizes, ends = count_and_range(values, member, known.records)
    if not sizes.all():
        return None
    edges = histogram.edges(np.maximum(ends, SMALLEST))
    inside, outside = count_in_bins(values, member, known.records, edges, SMALLEST) / sizes[:, None]
    nonempty = np.flatnonzero(inside + outside > 0)
    if not len(nonempty):  # rounding has put all known values outside the edges
        return edges, np.full(histogram.bins, np.nan)
    # argmin takes the first of equals: of two bins equally near, the lower one.
    nearest = nonempty[np.abs(nonempty - np.arange(histogram.bins)[:, None]).argmin(axis=1)]
    return edges, prior * inside[nearest] / (prior * inside[nearest] + (1 - prior) * outside[nearest])


def from_references(case: Case) -> np.ndarray:
    """Return (records,) the score fitted on references; NaN where the target was not queried."""
    entropies = case.view.reference("mentr")
    member = case.view.reference_member

    def known_of(records: np.ndarray | None) -> KnownValues:
        if records is None:
            records = np.arange(len(case.records))
        return KnownValues(entropies, member, records)

    return _score_by_class(case.view.target("mentr"), case.view.labels, known_of, case.prior)


def from_target(case: Case) -> np.ndarray:
    """Return (records,) the score fitted on the target with the ground truth: an upper bound; NaN if not evaluated."""
    entropy = case.view.target("mentr")
    labels = case.view.labels
    evaluated = case.truth.evaluated
    known = evaluated & ~np.isnan(entropy)
    return risk_score(
        np.where(evaluated, entropy, np.nan),
        labels,
        known_values=entropy[known],
        known_labels=labels[known],
        known_member=case.truth.member[known],
        prior=case.prior,
    )


THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
PRIORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Bin:
    """Records with risks in one part of [0, 1]: their number, mean risk, and share of members.

    Mean and share are weighted to the prior.
    """

    records: int
    risk: float
    share: Estimate


@dataclass(frozen=True)
class Calibration:
    """Risks compared with shares of members.

    Attributes:
        bins: Non-empty bins, lowest first.
        rmse: Root mean squared calibration error.
    """

    bins: tuple[Bin, ...]
    rmse: Estimate


@dataclass(frozen=True)
class AtThreshold:
    """Precision and recall of flagging the records with at least this risk."""

    threshold: float
    precision: Estimate
    recall: Estimate


@dataclass(frozen=True)
class AtPrior:
    """Calibration error if a share ``prior`` of the candidate records are members.

    Attributes:
        prior: Share of members.
        rmse: Root mean squared calibration error.
    """

    prior: float
    rmse: Estimate


def calibration(
    risks: np.ndarray,
    member: np.ndarray,
    *,
    bins: int = 10,
    prior: float = PRIOR,
    persons: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Compare risks with the shares of members among records of equal risk (Song & Mittal 2021, section 5.2).

    The root mean squared difference is over records, each with the difference of its bin, weighted to the prior. By the
    triangle inequality its error is at most that of the shares. The squared error of the shares is distributed as a
    weighted sum of squared normal variables, which gives the interval. The interval is for risks that were estimated
    without these records' membership, as from references; for a risk fitted on that membership the estimate is too
    small. The interval is wide, and the estimate is above 0 even if the true error is 0.

    Args:
        risks: (records,) Probabilities in [0, 1]; NaN is ignored.
        member: (records,) Ground truth.
        bins: Number of bins of equal width.
        prior: Share of members that the risks assume; members and non-members are weighted to it.
        persons: (records,) Person identifiers; the interval then treats all records of a person as equal.
        confidence: Level of the interval.

    Returns:
        Withheld without members or without non-members.

    Raises:
        ValueError: If a risk is not in [0, 1].
    """
    error = error_of(confidence)
    risks, member, persons, _ = scored_records(risks, member, persons)
    if ((risks < 0) | (risks > 1)).any():
        raise ValueError("Expected risks in [0, 1]: only probabilities can be calibrated.")
    if member.all() or not member.any():
        return Calibration((), WITHHELD)
    odds = _odds(member, prior)
    weight = np.where(member, odds, 1.0)
    bin_of = np.minimum((risks * bins).astype(int), bins - 1)
    full = np.flatnonzero(np.bincount(bin_of, minlength=bins))
    records, members, weights, weighted = (
        np.bincount(bin_of, values, bins)[full] for values in (np.ones(len(risks)), member, weight, weight * risks)
    )
    shares = odds * members / weights
    risk = weighted / weights
    mass = weights / weights.sum()
    smooth = (members + 1) / (records + 2)  # a bin with only members does not show that there are no others
    slope = odds / (1 + (odds - 1) * smooth) ** 2
    # These are the variances of the shares, each bin weighted by its mass. A person's records count as one.
    independent = 1.0
    if persons is not None:
        independent = ClusterSums.from_values(member, persons).effective_n / len(risks)
    variances = mass * slope**2 * smooth * (1 - smooth) / (records * independent)
    # A scaled chi-squared distribution approximates that of a sum of squared normal variables.
    scale = np.square(variances).sum() / variances.sum()
    far = np.sqrt(scale * chi2.ppf(1 - error, variances.sum() ** 2 / np.square(variances).sum()))
    value = float(np.sqrt(np.square(shares - risk) @ mass))
    filled = []
    for at, n, r in zip(full, records, risk, strict=True):
        here = bin_of == at
        share = clustered_proportion(member[here], clusters=optional_take(persons, here), confidence=confidence)
        filled.append(Bin(int(n), float(r), _estimate(share, odds)))
    return Calibration(tuple(filled), Estimate(value, float(max(value - far, 0.0)), float(min(value + far, 1.0))))


def at_prior(risks: np.ndarray, prior: float, *, made_for: float = PRIOR) -> np.ndarray:
    """Convert probabilities of membership to a different prior, by Bayes' rule.

    Args:
        risks: (records,) probabilities.
        prior: New share of members, in (0, 1).
        made_for: Share of members that ``risks`` assume.

    Returns:
        (records,) probabilities.

    Raises:
        ValueError: If a prior is not in (0, 1).

    Examples:
        >>> gl.risks.at_prior(np.array([0.5, 0.8, 1.0]), 0.2).round(3).tolist()
        [0.2, 0.5, 1.0]
    """
    number("prior", prior, 0, 1)
    number("made_for", made_for, 0, 1)
    return _weighted(np.asarray(risks, dtype=np.float64), prior / (1 - prior) * (1 - made_for) / made_for)


def calibration_at_priors(
    risks: np.ndarray,
    member: np.ndarray,
    priors: Sequence[float] = PRIORS,
    *,
    made_for: float = PRIOR,
    bins: int = 10,
    persons: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[AtPrior, ...]:
    """Compute the calibration error of probabilities at several priors.

    The probabilities are converted to each prior, and members and non-members are weighted to it.

    Args:
        risks, member, bins, persons, confidence: As for :func:`calibration`.
        priors: Shares of members.
        made_for: Share of members that ``risks`` assume.

    Returns:
        One row per prior.
    """
    options: dict[str, Any] = {"bins": bins, "persons": persons, "confidence": confidence}
    adjusted = ((prior, at_prior(risks, prior, made_for=made_for)) for prior in priors)
    return tuple(AtPrior(prior, calibration(values, member, prior=prior, **options).rmse) for prior, values in adjusted)


def at_thresholds(
    risks: np.ndarray,
    member: np.ndarray,
    thresholds: tuple[float, ...] = THRESHOLDS,
    *,
    prior: float = PRIOR,
    confidence: float = 0.95,
) -> tuple[AtThreshold, ...]:
    """Compute precision at a prior, and recall, of flagging records by risk (Song & Mittal 2021, Figure 6).

    Args:
        risks: (records,) probabilities in [0, 1]; NaN is ignored.
        member: (records,) True for members.
        thresholds: Smallest risks that are flagged.
        prior: Share of members to which records are weighted.
        confidence: Level of the intervals.

    Returns:
        One row per threshold. A precision is withheld if no record is flagged; all are withheld without members or without
        non-members.
    """
    risks, member = drop_unscored(risks, member)
    odds = _odds(member, prior)
    rows = []
    for threshold in thresholds:
        flagged = risks >= threshold
        members = int(flagged[member].sum())
        recall = proportion(members, int(member.sum()), confidence=confidence)
        precision = proportion(members, int(flagged.sum()), confidence=confidence)
        rows.append(AtThreshold(threshold, _estimate(precision, odds), recall))
    return tuple(rows)


def _odds(member: np.ndarray, prior: float) -> float:
    """Return the weight of a member relative to a non-member for a share ``prior`` of members; NaN without both."""
    number("prior", prior, 0, 1)
    if member.all() or not member.any():
        return float("nan")
    return float(prior / (1 - prior) * (~member).sum() / member.sum())


def _weighted(share, odds: float):
    """Weight a share of members, which count ``odds`` times as much as non-members."""
    return share * odds / (share * odds + (1 - share))  # in this form a share of 1 stays exactly 1


def _estimate(share: Estimate, odds: float) -> Estimate:
    return Estimate(*(float(_weighted(end, odds)) for end in share))
