"""What an attack achieves at a low false positive rate.

The parameter is TPR(q) = P(member's score > q), where q is the (1 - fpr)-quantile of the non-members: the
smallest threshold that at most a share ``fpr`` of them exceeds. Exceeding is strict throughout, so that a
lump of equal scores at the threshold is called neither by the estimate nor by its interval.

The interval pays for both unknowns. Order statistics of the non-members bracket q; at either end of the
bracket Clopper and Pearson bound the share of members above. Each gets half of the error, and the union
bound makes the whole valid for every sample size and every distribution, continuous or not. The price is
width: simulated worlds show a coverage of 97 to 100 % at a nominal 95 %. A plain Clopper-Pearson interval at
the threshold picked on the same records would cover less than 80 %.

Where persons have several records, the same holds with bounds for persons in the place of binomial ones
(``persons.py``), for the threshold as for the members.
"""

from __future__ import annotations

import bisect
import math
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from guestlist.arrays.orders import rising
from guestlist.arrays.samples import check_share, error_of, of_those, paired, persons_of, weights_of
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import lower_share, upper_share
from guestlist.evaluate.persons import ROUNDING, Side


class Resolution(StrEnum):
    """How well a number of non-members resolves a false positive rate."""

    WITHHELD = "withheld"
    WEAK = "weak"
    GOOD = "good"


class Sides(NamedTuple):
    """Scores of members and of non-members, sorted."""

    members: Side
    nonmembers: Side


class Bracket(NamedTuple):
    """Ranks j of two non-members, the (j + 1)-th largest: the threshold lies between them. -1 and n: beyond all."""

    lower: np.ndarray
    upper: np.ndarray


def resolution(fpr: float, n_nonmembers: float) -> Resolution:
    """Withheld below one expected false positive, weak below ten, else good.

    Where persons have several records, non-members are persons: all records of one may be called together, and then
    ten calls are one false positive.

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


def tpr_at_fpr(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    *,
    persons: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Share of members called when at most a share ``fpr`` of the non-members is (Carlini et al. 2022).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        fpr: false positive rate, in [0, 1].
        persons: (records,) labels of those whose records these are; by default each record stands alone.
        weights: (records,) how much each non-member counts; those of members are not read. By default all alike. They are
            taken as known, and the interval is then no longer valid for every distribution of them.
        confidence: which the interval holds for every sample size and distribution, and
            usually covers more.

    Returns:
        The share and its interval; withheld when ``fpr`` times the non-members (persons, where they are given, and as many as
        the weights are worth) is below 1.
    """
    members, nonmembers = sides_of(scores, member, persons, weights)
    if _withheld(members, nonmembers, fpr):
        return WITHHELD
    side = error_of(confidence) / 4
    return _tpr(members, nonmembers, fpr, _bracket(nonmembers, fpr, side), side)


def roc_band(
    scores: np.ndarray,
    member: np.ndarray,
    fprs: np.ndarray,
    *,
    persons: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the TPR at each of ``fprs``, as in :func:`tpr_at_fpr`: pointwise, not joint.

    Also given where :func:`tpr_at_fpr` withholds its value; the lower limit is 0 there. NaN without scored
    members or non-members.
    """
    return band_of(sides_of(scores, member, persons), fprs, confidence=confidence)


def band_of(sides: Sides, fprs: np.ndarray, *, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """:func:`roc_band` of scores that are sorted already."""
    fprs = np.asarray(fprs, dtype=np.float64)
    check_share(fprs=fprs)
    members, nonmembers = sides
    if min(len(members), len(nonmembers)) == 0:
        return np.full(fprs.shape, np.nan), np.full(fprs.shape, np.nan)
    side = error_of(confidence) / 4
    return _limits(members, nonmembers, _bracket(nonmembers, fprs, side), side)


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
    unknown = np.isnan(scores)
    scores = scores[~unknown] if unknown.any() else scores
    infinity = scores.dtype.type(np.inf)
    allowed = math.floor(fpr * len(scores) + ROUNDING)
    if len(scores) and allowed == len(scores):
        return -infinity
    last = np.partition(scores, -1 - allowed)[-1 - allowed] if len(scores) else infinity
    return scores.dtype.type(np.nan) if last == infinity else np.nextafter(last, infinity)


def positive_predictive_value(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    prior: float,
    *,
    persons: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Share of true members among those called at ``fpr``, when a share ``prior`` of people are members.

    prior * TPR / (prior * TPR + (1 - prior) * FPR) of calls above the threshold of :func:`tpr_at_fpr`. Their FPR is
    ``fpr`` itself where scores do not tie, and less where a lump of equal scores at the threshold is left uncalled: then
    it is as unknown as the TPR, and the interval pays for both. Withheld with the TPR, and where nobody is called.

    Args:
        scores, member, fpr, persons, confidence: as for :func:`tpr_at_fpr`.
        prior: share of members among the people in question, in [0, 1].
    """
    return tpr_and_ppv_at_fpr(scores, member, fpr, prior, persons=persons, confidence=confidence)[1]


def tpr_and_ppv_at_fpr(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    prior: float,
    *,
    persons: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """:func:`tpr_at_fpr` and :func:`positive_predictive_value` together, for less than both apart."""
    return rates_of(sides_of(scores, member, persons), fpr, prior, confidence=confidence)


def rates_of(sides: Sides, fpr: float, prior: float, *, confidence: float = 0.95) -> tuple[Estimate, Estimate]:
    """:func:`tpr_and_ppv_at_fpr` of scores that are sorted already."""
    check_share(prior=prior)
    members, nonmembers = sides
    if _withheld(members, nonmembers, fpr):
        return WITHHELD, WITHHELD
    side = error_of(confidence) / 4
    bracket = _bracket(nonmembers, fpr, side)
    tpr = _tpr(members, nonmembers, fpr, bracket, side)
    return tpr, _predictive_value(tpr, members, nonmembers, fpr, prior, bracket, side / 2)


def smallest_detectable_tpr(fpr: float, n_members: int, n_nonmembers: int, *, confidence: float = 0.95) -> float:
    """The TPR at ``fpr`` for which :func:`tpr_at_fpr`'s interval lies above ``fpr`` with 80 % power.

    The threshold of the lower end is stricter than ``fpr``, so power depends on the curve to the left of
    ``fpr``: it is taken to be binormal, TPR = Phi(Phi^-1(FPR) + mu). NaN where even a TPR of 1 would not do.
    Where persons have several records, the numbers are those of persons: what is found is at most this large, and as
    large where a person's records are all alike.
    """
    check_share(fpr=fpr)
    side = error_of(confidence) / 4
    rank = stats.binom.ppf(side, n_nonmembers, fpr) - 1
    # The fewest members whose share is surely above fpr: bounds rise with the number.
    enough = bisect.bisect_right(
        range(n_members + 1), fpr, key=lambda count: float(lower_share(count, n_members, side))
    )
    if rank < 0 or enough > n_members:
        return float("nan")
    # The real FPR at the (rank + 1)-th largest non-member has a beta distribution; 200 midpoints of it.
    fprs = stats.beta.ppf((np.arange(200) + 0.5) / 200, rank + 1, n_nonmembers - rank)

    def lacking(mu: float) -> float:
        tpr = special.ndtr(special.ndtri(fprs) + mu)
        return stats.binom.sf(enough - 1, n_members, tpr).mean() - 0.8

    if lacking(40.0) < 0:
        return float("nan")
    return float(special.ndtr(special.ndtri(fpr) + optimize.brentq(lacking, 0.0, 40.0)))


def sides_of(
    scores: np.ndarray, member: np.ndarray, persons: np.ndarray | None, weights: np.ndarray | None = None
) -> Sides:
    """Members and non-members, each sorted: once for all that is asked about them."""
    persons, weights = persons_of(persons, scores), weights_of(weights, scores)
    scores, member = paired(scores, member)
    if persons is None and weights is None:
        order = rising(scores)
        ordered, kind = scores[order], member[order]
        return Sides(Side(ordered[kind], None), Side(ordered[~kind], None))
    inside = Side.of(scores[member], of_those(persons, member))
    return Sides(inside, Side.of(scores[~member], of_those(persons, ~member), of_those(weights, ~member)))


def _withheld(members: Side, nonmembers: Side, fpr: float) -> bool:
    return resolution(fpr, nonmembers.persons) is Resolution.WITHHELD or len(members) == 0


def _tpr(members: Side, nonmembers: Side, fpr: float, bracket: Bracket, error: float) -> Estimate:
    value = _count_above(members, nonmembers, nonmembers.allowed(fpr)) / len(members)
    low, high = _limits(members, nonmembers, bracket, error)
    return Estimate(float(value), float(low), float(high))


def _limits(members: Side, nonmembers: Side, bracket: Bracket, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits of TPR(q) for any q in the bracket. A bracket and two limits have four ends, each with ``error``."""
    strict, lenient = (_count_above(members, nonmembers, rank) for rank in bracket)
    return members.lower(strict, error), members.upper(lenient, error)


def _bracket(nonmembers: Side, fpr: np.ndarray | float, error: float) -> Bracket:
    """Between which non-members q lies, up to ``error`` on either side.

    q above the (j+1)-th largest non-member means that at most j of them reach q, though each does with chance
    >= fpr. q below it means that more than j exceed q, though each does with chance <= fpr. So binomial tails
    give the two ranks, ties or not; so do, for persons, bounds on the share that reaches or exceeds a threshold.
    """
    fprs = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
    if nonmembers.calls is None:
        ranks = _binomial_ranks(error, len(nonmembers), fprs.tobytes())
    else:
        counts = np.arange(len(nonmembers) + 1)
        most, least = nonmembers.upper(counts, error), nonmembers.lower(counts, error)
        # The first count that chance >= fpr leaves possible, and the last that chance <= fpr does.
        first = np.searchsorted(np.maximum.accumulate(most), fprs, "left")
        last = np.searchsorted(np.minimum.accumulate(least[::-1])[::-1], fprs, "right") - 1
        ranks = first - 1, last
    return Bracket(*(rank.reshape(np.shape(fpr)) for rank in ranks))


@lru_cache(maxsize=64)
def _binomial_ranks(side: float, n: int, fprs: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the non-members whose scores bound a threshold on either side: the same for every attack of an audit."""
    rates = np.frombuffer(fprs)
    return stats.binom.ppf(side, n, rates) - 1, stats.binom.isf(side, n, rates)


def _count_above(members: Side, nonmembers: Side, rank: np.ndarray | int) -> np.ndarray:
    """Members strictly above the (rank + 1)-th largest non-member; none for rank -1, and all for rank n."""
    rank, n = np.asarray(rank, dtype=np.int64), len(nonmembers)
    threshold = nonmembers.scores[np.clip(n - 1 - rank, 0, n - 1)]
    return np.where(rank < 0, 0, np.where(rank >= n, len(members), members.above(threshold)))


def _predictive_value(
    tpr: Estimate, members: Side, nonmembers: Side, fpr: float, prior: float, bracket: Bracket, error: float
) -> Estimate:
    """The PPV of calls above q: without ties in the bracket of q their FPR is ``fpr``, and the TPR's ends carry over.

    With ties q may be any of the values in the bracket. Each gives two counts, hence bounds on TPR and FPR there, each end
    with ``error``; the interval is the hull over the values.
    """
    values = _values_in(nonmembers, bracket)
    false, true = nonmembers.above(values), members.above(values)
    lump = len(nonmembers) - np.searchsorted(nonmembers.scores, values, "left") - false
    if lump.max() <= 1:
        return Estimate(*map(float, _ppv(np.array(tpr), fpr, prior)))
    # The FPR is at most fpr, and less by no more than the lump at q.
    least = nonmembers.lower(false, error)
    if nonmembers.calls is None:
        least = np.maximum(least, fpr - upper_share(lump, len(nonmembers), error))
    # It is surely less only at the lowest value: above that, q may lie between two values, in no lump.
    most = np.full(len(values), float(fpr))
    most[0] = min(fpr, nonmembers.upper(false[0], error))
    low = np.nan_to_num(_ppv(members.lower(true, error), most, prior), nan=0.0).min()
    high = np.nan_to_num(_ppv(members.upper(true, error), least, prior), nan=1.0).max()
    called = _count_above(nonmembers, nonmembers, nonmembers.allowed(fpr)) / len(nonmembers)
    value = float(_ppv(np.array(tpr.value), called, prior))
    return WITHHELD if np.isnan(value) else Estimate(value, min(float(low), value), max(float(high), value))


def _values_in(nonmembers: Side, bracket: Bracket) -> np.ndarray:
    """The distinct scores between two ranks; infinity stands for what lies beyond the first or the last."""
    n = len(nonmembers)
    first, last = (int(np.clip(rank, 0, n - 1)) for rank in bracket)
    beyond = [end for end, there in ((-np.inf, bracket.upper >= n), (np.inf, bracket.lower < 0)) if there]
    return np.union1d(nonmembers.scores[n - 1 - last : n - first], beyond)


def _ppv(tpr: np.ndarray, fpr: np.ndarray | float, prior: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: nobody is called
        return prior * tpr / (prior * tpr + (1 - prior) * fpr)
