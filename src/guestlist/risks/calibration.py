"""Whether a risk that claims to be a probability is one, and what calling records at its thresholds is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from guestlist.arrays.samples import error_of, paired
from guestlist.case import PRIOR
from guestlist.evaluate import WITHHELD, Estimate, proportion

THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Bin:
    """Records whose risks lie in one part of [0, 1]: how many, their mean risk, and the share that are members."""

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
    """What calling the records with at least this risk is worth: the share of members among them, and of members called."""

    threshold: float
    precision: Estimate
    recall: Estimate


def calibration(
    risks: np.ndarray, member: np.ndarray, *, bins: int = 10, prior: float = PRIOR, confidence: float = 0.95
) -> Calibration:
    """How far risks are from the shares of members among records of such risk (Song & Mittal 2021, section 5.2).

    The root of the mean squared difference is over records, each with that of its bin. By the triangle inequality it is no
    farther from the true one than the shares are from theirs, and chance alone takes them as far as a weighted sum of squared
    normal variables goes: that bounds it on either side. The interval is for risks that were made without these records'
    membership, as from references; a risk that learnt it looks better than it is. It is wide: at a true 0 the figure is above 0.

    Args:
        risks: (records,) in [0, 1]; NaN is left out.
        member: (records,) the truth.
        bins: of equal width.
        prior: share of members that the risks were made for; members and non-members are weighted to it.

    Returns:
        Withheld without members or without non-members.
    """
    error = error_of(confidence)
    risks, member = paired(risks, member)
    if ((risks < 0) | (risks > 1)).any():
        raise ValueError("Expected risks in [0, 1], found others: only probabilities can be calibrated.")
    if member.all() or not member.any():
        return Calibration((), WITHHELD)
    place = np.minimum((risks * bins).astype(int), bins - 1)
    records, members = np.bincount(place, minlength=bins), np.bincount(place, member, bins)
    full = np.flatnonzero(records)
    records, members, risk = records[full], members[full], np.bincount(place, risks, bins)[full] / records[full]
    odds = _odds(member, prior)
    share = _weighted(members / records, odds)
    smooth = (members + 1) / (records + 2)  # a bin with members alone is no proof that there are no others
    slope = odds / (1 + (odds - 1) * smooth) ** 2
    # Of (shares - true shares)², each bin weighted by its records: n of them have a variance of 1/n.
    spread = slope**2 * smooth * (1 - smooth) / records.sum()
    far = np.sqrt(_quantile_of_squares(spread, 1 - error))
    value = float(np.sqrt((np.square(share - risk) * records).sum() / records.sum()))
    found = []
    for n, m, r in zip(records, members, risk, strict=True):
        found.append(Bin(int(n), float(r), _estimate(proportion(int(m), int(n), confidence=confidence), odds)))
    return Calibration(tuple(found), Estimate(value, max(value - far, 0.0), min(value + far, 1.0)))


def at_thresholds(
    risks: np.ndarray,
    member: np.ndarray,
    thresholds: tuple[float, ...] = THRESHOLDS,
    *,
    prior: float = PRIOR,
    confidence: float = 0.95,
) -> tuple[AtThreshold, ...]:
    """Precision at a prior, and recall, of calling records with at least each risk (Song & Mittal 2021, Figure 6).

    NaN is left out; a precision is withheld where nobody has so large a risk, and all is without both kinds of records.
    """
    risks, member = paired(risks, member)
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
    """How much more a member counts than a non-member, for a share ``prior`` of them; NaN without both."""
    if not 0 < prior < 1:
        raise ValueError(f"Expected prior={prior} in (0, 1).")
    both = member.any() and not member.all()
    return float(prior / (1 - prior) * (~member).sum() / member.sum()) if both else float("nan")


def _weighted(share, odds: float):
    """A share of members where they count ``odds`` times as much as non-members."""
    return share * odds / (1 + (odds - 1) * share)


def _estimate(share: Estimate, odds: float) -> Estimate:
    return Estimate(*(float(_weighted(end, odds)) for end in share))


def _quantile_of_squares(variances: np.ndarray, level: float) -> float:
    """Quantile of a sum of squared normal variables, by the multiple of a chi-squared with its mean and variance."""
    total, squares = variances.sum(), np.square(variances).sum()
    return float(squares / total * chi2.ppf(level, total**2 / squares))
