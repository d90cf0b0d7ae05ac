"""Calls of "member" at a threshold, and what they are worth. A call is ``score >= threshold``.

A threshold that was chosen on the records it is judged by flatters the attack. So a threshold is either
given, as a number from elsewhere, or learnt by :class:`CrossFit` on records other than those it calls.
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
    """Learn the best threshold on one half of the records, call the other half, and the other way round.

    The halves are drawn with ``seed``, and hold equal shares of members. A person's records stay together: whoever has
    one that is a member counts as a member.
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
    """(records,) true where a record is called a member; a record without a score is never called.

    ``member`` and ``clusters`` are only used by :class:`CrossFit`: the truth for the other half of the records, persons to
    keep theirs in one half.
    """
    scores, member = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if not isinstance(threshold, CrossFit):
        return scores >= threshold
    scored = np.flatnonzero(~np.isnan(scores))
    second = np.zeros(len(scores), dtype=bool)
    second[scored] = threshold.halves(member[scored], cluster_codes(clusters, scores))
    ranked = cached_argsort(scores)[: len(scored)][::-1]
    late, learnt = second[ranked], []
    for half in (~late, late):
        learn = ranked[half]
        learnt.append(best_threshold_sorted(scores[learn], member[learn]))
    # Whoever is in the second half is called by what the first one teaches.
    return scores >= np.where(second, learnt[0], learnt[1])


def advantage(
    scores: np.ndarray,
    member: np.ndarray,
    threshold: float | CrossFit = CROSS_FIT,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """TPR - FPR of calls at a threshold (Yeom et al. 2018), with Newcombe's interval (1998).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        threshold: a number fixed without these records, or how to learn it: by default :class:`CrossFit`,
            where the figure is the mean advantage of the two thresholds, each on records it has not seen.
        clusters: (records,) Person of each record; by default every record is independent. Those with
            records on both sides count on either: their two shares rise and fall together, which leaves the
            difference less uncertain than the interval says.
        confidence: of the interval.

    Returns:
        The advantage in [-1, 1]; withheld without scored members or non-members, and without two of each
        (persons, where they are given) when the threshold has to be learnt.
    """
    clusters = cluster_codes(clusters, scores)
    scores, member = drop_unscored(scores, member)
    if not _can(member, clusters, threshold):
        return WITHHELD
    flagged = flag_members(scores, member, threshold, clusters=clusters)
    tpr, fpr = (
        clustered_proportion(flagged[kind], clusters=optional_take(clusters, kind), confidence=confidence)
        for kind in (member, ~member)
    )
    return newcombe_difference(tpr, fpr)


def _can(member: np.ndarray, clusters: np.ndarray | None, threshold: float | CrossFit) -> bool:
    """Whether there are members and non-members to judge, and others to learn from where a threshold is learnt."""
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
    """(TPR + TNR) / 2 of calls at a threshold: half of one plus the :func:`advantage`, interval included.

    >>> print(balanced_accuracy(np.arange(100.0), np.arange(100) >= 50, threshold=50.0))
    1.000 [0.950, 1.000]
    """
    found = advantage(scores, member, threshold, clusters=clusters, confidence=confidence)
    return Estimate(*((1 + end) / 2 for end in found))
