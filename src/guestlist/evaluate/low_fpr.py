"""What an attack achieves at a low false positive rate.

The parameter is TPR(q) = P(member's score > q), where q is the (1 - fpr)-quantile of the non-members: the
smallest threshold that at most a share ``fpr`` of them exceeds. Exceeding is strict throughout, so that a
lump of equal scores at the threshold is called neither by the estimate nor by its interval.

The interval pays for both unknowns. Order statistics of the non-members bracket q; at either end of the
bracket Clopper and Pearson bound the share of members above. Each gets half of the error, and the union
bound makes the whole valid for every sample size and every distribution, continuous or not. The price is
width: simulated worlds show a coverage of 97 to 100 % at a nominal 95 %. A plain Clopper-Pearson interval at
the threshold picked on the same records would cover less than 80 %.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from guestlist.arrays.samples import check_share, error_of, split
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import lower_share, upper_share

ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29


class Resolution(StrEnum):
    """How well a number of non-members resolves a false positive rate."""

    WITHHELD = "withheld"
    WEAK = "weak"
    GOOD = "good"


def resolution(fpr: float, n_nonmembers: int) -> Resolution:
    """Withheld below one expected false positive, weak below ten, else good.

    >>> str(resolution(0.001, 5000))
    'weak'
    """
    check_share(fpr=fpr)
    expected = fpr * n_nonmembers + ROUNDING
    return Resolution.WITHHELD if expected < 1 else Resolution.WEAK if expected < 10 else Resolution.GOOD


def records_needed(fpr: float) -> int:
    """Number of non-members that resolves ``fpr`` well: ten expected false positives.

    >>> records_needed(0.001)
    10000
    """
    if not 0 < fpr <= 1:
        raise ValueError(f"Expected fpr={fpr} in (0, 1].")
    return math.ceil(10 / fpr - ROUNDING)


def tpr_at_fpr(scores: np.ndarray, member: np.ndarray, fpr: float, *, confidence: float = 0.95) -> Estimate:
    """Share of members called when at most a share ``fpr`` of the non-members is (Carlini et al. 2022).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        fpr: false positive rate, in [0, 1].
        confidence: which the interval holds for every sample size and distribution, and
            usually covers more.

    Returns:
        The share and its interval; withheld when ``fpr`` times the non-members is below 1.
    """
    members, nonmembers = split(scores, member)
    if len(members) == 0 or resolution(fpr, len(nonmembers)) is Resolution.WITHHELD:
        return WITHHELD
    value = _count_above(members, nonmembers, _allowed(fpr, len(nonmembers))) / len(members)
    low, high = _limits(members, nonmembers, fpr, confidence)
    return Estimate(float(value), float(low), float(high))


def roc_band(
    scores: np.ndarray, member: np.ndarray, fprs: np.ndarray, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the TPR at each of ``fprs``, as in :func:`tpr_at_fpr`: pointwise, not joint.

    Also given where :func:`tpr_at_fpr` withholds its value; the lower limit is 0 there. NaN without scored
    members or non-members.
    """
    fprs = np.asarray(fprs, dtype=np.float64)
    check_share(fprs=fprs)
    members, nonmembers = split(scores, member)
    if min(len(members), len(nonmembers)) == 0:
        return np.full(fprs.shape, np.nan), np.full(fprs.shape, np.nan)
    return _limits(members, nonmembers, fprs, confidence)


def threshold_at_fpr(scores_of_nonmembers: np.ndarray, fpr: float) -> np.floating:
    """The smallest threshold at which calls ``score >= threshold`` meet ``fpr`` on these non-members.

    It is the first float above the non-member that must not be called, in the precision of the scores. NaN,
    at which nobody is called, when more than a share ``fpr`` of them scores +inf, or none is scored.

    >>> threshold_at_fpr(np.array([0.0, 1.0, 2.0, 3.0]), 0.25) > 2
    np.True_
    """
    check_share(fpr=fpr)
    scores = np.asarray(scores_of_nonmembers)
    scores = scores if np.issubdtype(scores.dtype, np.floating) else scores.astype(np.float64)
    scores = np.sort(scores[~np.isnan(scores)])
    infinity = scores.dtype.type(np.inf)
    allowed = _allowed(fpr, len(scores))
    if len(scores) and allowed == len(scores):
        return -infinity
    if len(scores) == 0 or scores[-1 - allowed] == infinity:
        return scores.dtype.type(np.nan)
    return np.nextafter(scores[-1 - allowed], infinity)


def positive_predictive_value(
    scores: np.ndarray, member: np.ndarray, fpr: float, prior: float, *, confidence: float = 0.95
) -> Estimate:
    """Share of true members among those called at ``fpr``, when a share ``prior`` of people are members.

    prior * TPR / (prior * TPR + (1 - prior) * fpr), with the TPR of :func:`tpr_at_fpr`, whose interval
    already pays for the threshold that realises ``fpr``. It rises with the TPR, so the ends carry over. With
    tied scores the calls may stay below ``fpr``; the figure is then for the whole budget: a lower bound.
    """
    return predictive_value_of(tpr_at_fpr(scores, member, fpr, confidence=confidence), fpr, prior)


def predictive_value_of(tpr: Estimate, fpr: float, prior: float) -> Estimate:
    """The same from a TPR that is known already."""
    check_share(prior=prior)
    return Estimate(*(_ppv(share, fpr, prior) for share in tpr))


def smallest_detectable_tpr(fpr: float, n_members: int, n_nonmembers: int, *, confidence: float = 0.95) -> float:
    """The TPR at ``fpr`` for which :func:`tpr_at_fpr`'s interval lies above ``fpr`` with 80 % power.

    The threshold of the lower end is stricter than ``fpr``, so power depends on the curve to the left of
    ``fpr``: it is taken to be binormal, TPR = Phi(Phi^-1(FPR) + mu). NaN where even a TPR of 1 would not do.
    """
    check_share(fpr=fpr)
    side = error_of(confidence) / 4
    rank = stats.binom.ppf(side, n_nonmembers, fpr) - 1
    counts = np.arange(n_members + 1)
    enough = counts[lower_share(counts, n_members, side) > fpr]
    if rank < 0 or len(enough) == 0:
        return float("nan")
    # The real FPR at the (rank + 1)-th largest non-member has a beta distribution; 200 midpoints of it.
    fprs = stats.beta.ppf((np.arange(200) + 0.5) / 200, rank + 1, n_nonmembers - rank)

    def lacking(mu: float) -> float:
        tpr = special.ndtr(special.ndtri(fprs) + mu)
        return stats.binom.sf(enough[0] - 1, n_members, tpr).mean() - 0.8

    if lacking(40.0) < 0:
        return float("nan")
    return float(special.ndtr(special.ndtri(fpr) + optimize.brentq(lacking, 0.0, 40.0)))


def _limits(
    members: np.ndarray, nonmembers: np.ndarray, fpr: np.ndarray | float, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Limits of TPR(q) from sorted scores; a quarter of the error for each of two bounds on two sides.

    q above the (j+1)-th largest non-member means that at most j of them reach q, though each does with chance
    >= fpr. q below it means that more than j exceed q, though each does with chance <= fpr. So binomial tails
    give the two ranks, ties or not.
    """
    side = error_of(confidence) / 4
    fprs = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
    lower, upper = (ranks.reshape(np.shape(fpr)) for ranks in _binomial_ranks(side, len(nonmembers), fprs.tobytes()))
    strict, lenient = _count_above(members, nonmembers, lower), _count_above(members, nonmembers, upper)
    return lower_share(strict, len(members), side), upper_share(lenient, len(members), side)


@lru_cache(maxsize=64)
def _binomial_ranks(side: float, n: int, fprs: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the non-members whose scores bound a threshold on either side: the same for every attack of an audit."""
    rates = np.frombuffer(fprs)
    return stats.binom.ppf(side, n, rates) - 1, stats.binom.isf(side, n, rates)


def _allowed(fpr: float, n: int) -> int:
    return math.floor(fpr * n + ROUNDING)


def _count_above(members: np.ndarray, nonmembers: np.ndarray, rank: np.ndarray | int) -> np.ndarray:
    """Members strictly above the (rank + 1)-th largest non-member; none for rank -1, and all for rank n."""
    rank, n = np.asarray(rank, dtype=np.int64), len(nonmembers)
    threshold = nonmembers[np.clip(n - 1 - rank, 0, n - 1)]
    above = len(members) - np.searchsorted(members, threshold, "right")
    return np.where(rank < 0, 0, np.where(rank >= n, len(members), above))


def _ppv(tpr: float, fpr: float, prior: float) -> float:
    called = prior * tpr + (1 - prior) * fpr
    return prior * tpr / called if called > 0 else float("nan")
