"""Area under the ROC curve: the chance that a random member scores above a random non-member.

Intervals are DeLong's, on the scale of log-odds and with Student's quantile. DeLong's variance is 0 when
members and non-members are separated perfectly, and too small when they nearly are. A finite sample cannot be
that sure, so the interval never excludes what an exact argument leaves open (``_exact_room``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from guestlist.arrays.samples import error_of, paired
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import logit_interval, unanimous_bound


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


def auc(scores: np.ndarray, member: np.ndarray, *, confidence: float = 0.95) -> Estimate:
    """Area under the ROC curve by Mann-Whitney with mid-ranks, and DeLong's interval (DeLong et al. 1988).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        confidence: of the interval.

    Returns:
        The AUC, exactly 0.5 for a constant score; withheld without scored members or non-members. For one
        target: where several are pooled, use :func:`pooled_auc`.

    >>> auc(np.array([1.0, 1.0, 1.0]), np.array([True, False, True])).value
    0.5
    """
    error = error_of(confidence)
    scores, member = paired(scores, member)
    if member.all() or not member.any():
        return WITHHELD
    return _interval(placements(scores, member), error)


def auc_difference(
    scores_a: np.ndarray, scores_b: np.ndarray, member: np.ndarray, *, confidence: float = 0.95
) -> Estimate:
    """AUC of attack a minus AUC of attack b on the same records of one target (paired, DeLong et al. 1988).

    The interval is never narrower than what a sample of this size leaves open when the two attacks agree on
    every pair, as they do when both separate perfectly: see ``_exact_room``.

    Args:
        scores_a: (records,) scores of one attack; NaN is left out, together with its partner in ``scores_b``.
        scores_b: (records,) scores of the other attack.
        member: (records,) the truth.
        confidence: of the interval.
    """
    error = error_of(confidence)
    both = ~(np.isnan(scores_a) | np.isnan(scores_b))
    member = np.asarray(member, dtype=bool)[both]
    if member.all() or not member.any():
        return WITHHELD
    a, b = (placements(*paired(np.asarray(scores)[both], member)) for scores in (scores_a, scores_b))
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    value, variance = a.auc - b.auc, sum(variance_parts(gap))
    half = 1 - unanimous_bound(min(map(len, gap)), error / 2)
    if variance > 0:
        half = max(half, _student(gap, error) * np.sqrt(variance))
    return Estimate(value, float(max(value - half, -1.0)), float(min(value + half, 1.0)))


def smallest_detectable_auc(n_members: int, n_nonmembers: int) -> float:
    """The AUC that an audit of this size finds with 80 % power in a two-sided test at 5 %.

    0.5 + (1.96 + 0.84) standard deviations of the AUC of a score that knows nothing. Stands next to "nothing
    found".

    >>> round(smallest_detectable_auc(500, 500), 3)
    0.551
    """
    return float(0.5 + 2.8 * np.sqrt((1 / n_members + 1 / n_nonmembers) / 12))


def variance_parts(of: Placements) -> tuple[float, float]:
    """What members and what non-members contribute to DeLong's variance of the AUC, or of a difference."""
    members, nonmembers = (float(np.var(x, ddof=1)) / len(x) if len(x) > 1 else 0.0 for x in of)
    return members, nonmembers


def _student(of: Placements, error: float) -> float:
    """Student's quantile with Satterthwaite's degrees of freedom: few records tell little of their spread."""
    parts = np.array(variance_parts(of))
    freedom = parts.sum() ** 2 / (parts**2 / [max(len(x) - 1, 1) for x in of]).sum()
    return float(special.stdtrit(freedom, 1 - error / 2))


def _interval(of: Placements, error: float) -> Estimate:
    value, variance = of.auc, sum(variance_parts(of))
    low, high = _exact_room(of, error)
    if variance == 0:
        return Estimate(value, low, high)
    smooth = logit_interval(value, np.sqrt(variance), _student(of, error))
    return Estimate(value, min(smooth.low, low), max(smooth.high, high))


def _exact_room(of: Placements, error: float) -> tuple[float, float]:
    """What no sample of this size can exclude.

    Match members and non-members in min(n1, n0) pairs that share no record. The pairs are independent, and
    each is in the right order with a chance equal to the AUC, so perfect separation refutes an AUC below
    (error / 2)**(1 / pairs). A sample that is not perfectly separated must not claim more than that; nor, the
    other way round, one that is not perfectly reversed.

    A group of n whose placements are all the same, as in a lump of ties, shows no variance. By the same
    argument a share of up to 1 - (error / 2)**(1 / n) of its population may be placed anywhere else.
    """
    value = of.auc
    low = unanimous_bound(min(map(len, of)), error / 2)
    high = 1 - low
    for n in (len(x) for x in of if np.ptp(x) == 0):
        bound = unanimous_bound(n, error / 2)
        low, high = min(low, value * bound), max(high, 1 - (1 - value) * bound)
    return low, high


def _mid_rank(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Share of ``among`` below each value, ties counting one half."""
    among = np.sort(among)
    return (np.searchsorted(among, of, "left") + np.searchsorted(among, of, "right")) / (2 * len(among))
