"""Area under the ROC curve: the chance that a random member scores above a random non-member.

Intervals are DeLong's, on the scale of log-odds. DeLong's variance is 0 when members and non-members are
separated perfectly, and too small when they nearly are. A finite sample cannot say that, so the interval
never excludes what the exact argument for perfect separation leaves open (``_exact_room``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import logit_interval, square_and_add, unanimous_bound
from guestlist.evaluate.samples import error_of, paired


class Placements(NamedTuple):
    """Where each record stands in the other group: the structural components of DeLong et al. (1988).

    ``member[i]``: share of non-members below member i; ``nonmember[j]``: share of members above non-member j;
    ties count one half. The mean of either is the AUC.
    """

    member: np.ndarray
    nonmember: np.ndarray

    @property
    def auc(self) -> float:
        return float(self.member.mean())


def placements(scores: np.ndarray, member: np.ndarray) -> Placements:
    """Placements in O(n log n), after Sun & Xu (2014), in the order in which the records are given."""
    members, nonmembers = scores[member], scores[~member]
    return Placements(_mid_rank(members, nonmembers), 1 - _mid_rank(nonmembers, members))


def auc(scores: np.ndarray, member: np.ndarray, *, level: float = 0.95) -> Estimate:
    """Area under the ROC curve by Mann-Whitney with mid-ranks, and DeLong's interval (DeLong et al. 1988).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        level: confidence level.

    Returns:
        The AUC, exactly 0.5 for a constant score; withheld without scored members or non-members. For one
        target: where several are pooled, use :func:`pooled_auc`.

    >>> auc(np.array([1.0, 1.0, 1.0]), np.array([True, False, True])).value
    0.5
    """
    error = error_of(level)
    scores, member = paired(scores, member)
    if member.all() or not member.any():
        return WITHHELD
    return _interval(placements(scores, member), error)


def auc_difference(
    scores_a: np.ndarray, scores_b: np.ndarray, member: np.ndarray, *, level: float = 0.95
) -> Estimate:
    """AUC of attack a minus AUC of attack b on the same records of one target, with a paired interval.

    The correlation of the two is DeLong's (1988); the two single intervals are put together with it by
    squaring and adding (Zou & Donner 2008). That agrees with the usual paired DeLong interval in large
    samples, and unlike it does not collapse when both attacks separate (nearly) perfectly.

    Args:
        scores_a: (records,) scores of one attack; NaN is left out, together with its partner in ``scores_b``.
        scores_b: (records,) scores of the other attack.
        member: (records,) the truth.
        level: confidence level.
    """
    error = error_of(level)
    both = ~(np.isnan(scores_a) | np.isnan(scores_b))
    member = np.asarray(member, dtype=bool)[both]
    if member.all() or not member.any():
        return WITHHELD
    a, b = (placements(*paired(np.asarray(scores)[both], member)) for scores in (scores_a, scores_b))
    return square_and_add(_interval(a, error), _interval(b, error), _correlation(a, b))


def smallest_detectable_auc(n_members: int, n_nonmembers: int) -> float:
    """The AUC that an audit of this size finds with 80 % power in a two-sided test at 5 %.

    0.5 + (1.96 + 0.84) standard deviations of the AUC of a score that knows nothing. Stands next to "nothing
    found".

    >>> round(smallest_detectable_auc(500, 500), 3)
    0.551
    """
    return float(0.5 + 2.8 * np.sqrt((1 / n_members + 1 / n_nonmembers) / 12))


def covariance(a: Placements, b: Placements) -> float:
    """DeLong's covariance of two AUCs on the same records; NaN with fewer than two of either kind."""
    if min(len(a.member), len(a.nonmember)) < 2:
        return float("nan")
    return sum(
        float((x - x.mean()) @ (y - y.mean())) / (len(x) - 1) / len(x)
        for x, y in ((a.member, b.member), (a.nonmember, b.nonmember))
    )


def _interval(of: Placements, error: float) -> Estimate:
    value, variance = of.auc, covariance(of, of)
    low_room, high_room = _exact_room(of, error)
    if np.isnan(variance) and 0 < value < 1:
        return Estimate(value, 0.0, 1.0)
    if not 0 < value < 1 or variance <= 0:
        return Estimate(value, low_room, high_room)
    smooth = logit_interval(value, np.sqrt(variance), special.ndtri(1 - error / 2))
    return Estimate(value, min(smooth.low, low_room), max(smooth.high, high_room))


def _exact_room(of: Placements, error: float) -> tuple[float, float]:
    """What no sample of this size can exclude: the exact bounds for a unanimous sample.

    Match members and non-members in min(n1, n0) pairs that share no record. The pairs are independent, and
    each is in the right order with a chance equal to the AUC, so perfect separation refutes an AUC below
    (error / 2)**(1 / pairs). A sample that is not perfectly separated must not claim more than that. The same
    goes for full reversal, and for a sample of nothing but ties, where the chance of a tie is bounded.
    """
    bound = unanimous_bound(min(len(of.member), len(of.nonmember)), error / 2)
    all_tied = np.ptp(of.member) == 0 and 0 < of.auc < 1 and np.ptp(of.nonmember) == 0
    if all_tied:
        return bound / 2, 1 - bound / 2
    return (bound if of.auc > 0 else 0.0), (1 - bound if of.auc < 1 else 1.0)


def _correlation(a: Placements, b: Placements) -> float:
    product = covariance(a, a) * covariance(b, b)
    return float(np.clip(covariance(a, b) / np.sqrt(product), -1, 1)) if product > 0 else 0.0


def _mid_rank(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Share of ``among`` below each value, ties counting one half."""
    among = np.sort(among)
    return (np.searchsorted(among, of, "left") + np.searchsorted(among, of, "right")) / (2 * len(among))
