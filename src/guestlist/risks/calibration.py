"""Calibration of risks that are probabilities, and precision and recall at their thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from guestlist.arrays.samples import cluster_codes, drop_unscored, error_of, optional_take
from guestlist.case import PRIOR
from guestlist.evaluate import WITHHELD, Estimate, clustered_proportion, proportion
from guestlist.evaluate.persons import ClusterSums

THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
PRIORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Bin:
    """Records whose risks lie in one part of [0, 1]: how many, their mean risk, and the share that are members.

    Mean and share are weighted to the prior.
    """

    records: int
    risk: float
    share: Estimate


@dataclass(frozen=True)
class Calibration:
    """Risks against shares of members: the bins that hold records, lowest first, and how far they are off in all."""

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
    """Calibration error if a share ``prior`` of the candidate records are members."""

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

    The root of the mean squared difference is over records, each with that of its bin, and weighted to the prior. By the
    triangle inequality it is no farther from the true one than the shares are from theirs, and chance alone takes them as far as
    a weighted sum of squared normal variables goes: that bounds it on either side. The interval is for risks that were made
    without these records' membership, as from references; a risk that learnt it looks better than it is. It is wide: at a true 0
    the figure is above 0.

    Args:
        risks: (records,) in [0, 1]; NaN is left out.
        member: (records,) the truth.
        bins: of equal width.
        prior: share of members that the risks were made for; members and non-members are weighted to it.
        persons: (records,) whose records these are; the interval is then as wide as if all of a person's were alike.

    Returns:
        Withheld without members or without non-members.
    """
    error, persons = error_of(confidence), cluster_codes(persons, risks)
    risks, member = drop_unscored(risks, member)
    if ((risks < 0) | (risks > 1)).any():
        raise ValueError("Expected risks in [0, 1], found others: only probabilities can be calibrated.")
    if member.all() or not member.any():
        return Calibration((), WITHHELD)
    odds = _odds(member, prior)
    weight = np.where(member, odds, 1.0)
    place = np.minimum((risks * bins).astype(int), bins - 1)
    full = np.flatnonzero(np.bincount(place, minlength=bins))
    records, members, weights, weighted = (
        np.bincount(place, of, bins)[full] for of in (np.ones(len(risks)), member, weight, weight * risks)
    )
    shares, risk, mass = odds * members / weights, weighted / weights, weights / weights.sum()
    smooth = (members + 1) / (records + 2)  # a bin with members alone is no proof that there are no others
    slope = odds / (1 + (odds - 1) * smooth) ** 2
    # Of (shares - true shares)², each bin weighted by its mass. A person's records tell as much as one.
    told = 1.0 if persons is None else ClusterSums.from_values(member, persons).effective_n / len(risks)
    spread = mass * slope**2 * smooth * (1 - smooth) / (records * told)
    far = np.sqrt(_quantile_of_squares(spread, 1 - error))
    value = float(np.sqrt(np.square(shares - risk) @ mass))
    found = []
    for at, n, r in zip(full, records, risk, strict=True):
        here = place == at
        own = clustered_proportion(member[here], clusters=optional_take(persons, here), confidence=confidence)
        found.append(Bin(int(n), float(r), _estimate(own, odds)))
    return Calibration(tuple(found), Estimate(value, float(max(value - far, 0.0)), float(min(value + far, 1.0))))


def at_prior(risks: np.ndarray, prior: float, *, made_for: float = PRIOR) -> np.ndarray:
    """(records,) probabilities of membership at another prior than they were made for, by Bayes' rule.

    >>> at_prior(np.array([0.5, 0.8, 1.0]), 0.2)
    array([0.2, 0.5, 1. ])
    """
    for name, value in (("prior", prior), ("made_for", made_for)):
        if not 0 < value < 1:
            raise ValueError(f"Expected {name}={value} in (0, 1).")
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

    The probabilities are moved to each prior, and members and non-members are weighted to it.

    Args:
        made_for: the prior of ``risks``; the others are as for :func:`calibration`.
    """
    found = []
    for prior in priors:
        moved = at_prior(risks, prior, made_for=made_for)
        off = calibration(moved, member, bins=bins, prior=prior, persons=persons, confidence=confidence)
        found.append(AtPrior(prior, off.rmse))
    return tuple(found)


def at_thresholds(
    risks: np.ndarray,
    member: np.ndarray,
    thresholds: tuple[float, ...] = THRESHOLDS,
    *,
    prior: float = PRIOR,
    confidence: float = 0.95,
) -> tuple[AtThreshold, ...]:
    """Precision at a prior, and recall, of calling records with at least each risk (Song & Mittal 2021, Figure 6).

    NaN is left out; a precision is withheld if no record has so large a risk, and all are without members or without non-members.
    """
    risks, member = drop_unscored(risks, member)
    odds = _odds(member, prior)
    found = []
    for threshold in thresholds:
        called = risks >= threshold
        members = int(called[member].sum())
        recall = proportion(members, int(member.sum()), confidence=confidence)
        among = proportion(members, int(called.sum()), confidence=confidence)
        found.append(AtThreshold(threshold, _estimate(among, odds), recall))
    return tuple(found)


def _odds(member: np.ndarray, prior: float) -> float:
    """Return the weight of a member relative to a non-member for a share ``prior`` of members; NaN without both."""
    if not 0 < prior < 1:
        raise ValueError(f"Expected prior={prior} in (0, 1).")
    both = member.any() and not member.all()
    return float(prior / (1 - prior) * (~member).sum() / member.sum()) if both else float("nan")


def _weighted(share, odds: float):
    """A share of members where they count ``odds`` times as much as non-members."""
    return share * odds / (share * odds + (1 - share))  # so written, a share of 1 stays 1 to the last bit


def _estimate(share: Estimate, odds: float) -> Estimate:
    return Estimate(*(float(_weighted(end, odds)) for end in share))


def _quantile_of_squares(variances: np.ndarray, level: float) -> float:
    """Quantile of a sum of squared normal variables, by the multiple of a chi-squared with its mean and variance."""
    total, squares = variances.sum(), np.square(variances).sum()
    return float(squares / total * chi2.ppf(level, total**2 / squares))
