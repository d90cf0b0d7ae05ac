"""Records flagged as members at a threshold, and the advantage of flagging. A record is flagged if ``score >= threshold``.

A threshold that is chosen on the evaluated records overstates the attack. So it is either a number from elsewhere, or
estimated by :class:`CrossFit` on other records than those it flags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.orders import cached_argsort
from guestlist.arrays.samples import cluster_codes, consecutive_codes, drop_unscored, optional_take
from guestlist.arrays.thresholds import best_threshold_sorted
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import newcombe_difference
from guestlist.evaluate.persons import clustered_proportion


@dataclass(frozen=True)
class CrossFit:
    """Estimate the best threshold on one half of the records, flag the other half, and vice versa.

    The halves are drawn with ``seed`` and hold equal shares of members. A person's records stay together; a person with a
    member record counts as a member.
    """

    seed: int = 0

    def halves(self, member: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
        """(records,) false for the first half, true for the second."""
        codes = np.arange(len(member)) if clusters is None else consecutive_codes(np.asarray(clusters))
        is_member = np.bincount(codes, member) > 0
        rng = np.random.default_rng(self.seed)
        second = np.zeros(len(is_member), dtype=bool)
        for kind in (is_member, ~is_member):
            drawn = rng.permutation(np.flatnonzero(kind))
            second[drawn[: len(drawn) // 2]] = True
        return second[codes]


CROSS_FIT = CrossFit()


def flag_members(
    scores: np.ndarray, member: np.ndarray, threshold: float | CrossFit, *, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Flag records as members; a record without a score is never flagged.

    ``member`` and ``clusters`` are only used by :class:`CrossFit`: membership of the other half, and persons whose records
    stay in one half.
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    if not isinstance(threshold, CrossFit):
        return scores >= threshold
    scored = np.flatnonzero(~np.isnan(scores))
    second_half = np.zeros(len(scores), dtype=bool)
    second_half[scored] = threshold.halves(member[scored], cluster_codes(clusters, scores))
    ranked = cached_argsort(scores)[: len(scored)][::-1]
    in_second = second_half[ranked]
    thresholds = []
    for half in (~in_second, in_second):
        rows = ranked[half]
        thresholds.append(best_threshold_sorted(scores[rows], member[rows]))
    # Records of the second half are flagged by the threshold of the first half.
    return scores >= np.where(second_half, thresholds[0], thresholds[1])


def advantage(
    scores: np.ndarray,
    member: np.ndarray,
    threshold: float | CrossFit = CROSS_FIT,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute TPR - FPR at a threshold (Yeom et al. 2018), with Newcombe's interval (1998).

    Args:
        scores: (records,) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (records,) True for members.
        threshold: A number chosen without these records, or :class:`CrossFit` (the default), which gives the mean
            advantage of two thresholds, each on records that it was not chosen on.
        clusters: (records,) Person of each record; by default every record is independent. Those with
            records on both sides count on either: their two shares rise and fall together, which leaves the
            difference less uncertain than the interval says.
        confidence: Nominal coverage of the interval.

    Returns:
        The advantage in [-1, 1]; withheld without scored members or non-members, and without two of each
        (persons, where they are given) when the threshold has to be learnt.
    """
    clusters = cluster_codes(clusters, scores)
    scores, member = drop_unscored(scores, member)
    if not _can_evaluate(member, clusters, threshold):
        return WITHHELD
    flagged = flag_members(scores, member, threshold, clusters=clusters)
    tpr, fpr = (
        clustered_proportion(flagged[kind], clusters=optional_take(clusters, kind), confidence=confidence)
        for kind in (member, ~member)
    )
    return newcombe_difference(tpr, fpr)


def _can_evaluate(member: np.ndarray, clusters: np.ndarray | None, threshold: float | CrossFit) -> bool:
    """Return True if there are members and non-members to evaluate, and in both halves for a cross-fitted threshold."""
    if not isinstance(threshold, CrossFit):
        return bool(member.any() and not member.all())
    if clusters is None:
        return bool(min(member.sum(), (~member).sum()) >= 2)
    second = threshold.halves(member, clusters)
    return all(bool((kind & half).any()) for kind in (member, ~member) for half in (second, ~second))


def balanced_accuracy(
    scores: np.ndarray,
    member: np.ndarray,
    threshold: float | CrossFit = CROSS_FIT,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute (TPR + TNR) / 2 at a threshold: half of one plus the :func:`advantage`, interval included.

    >>> print(balanced_accuracy(np.arange(100.0), np.arange(100) >= 50, threshold=50.0))
    1.000 [0.950, 1.000]
    """
    estimate = advantage(scores, member, threshold, clusters=clusters, confidence=confidence)
    return Estimate(*((1 + end) / 2 for end in estimate))
