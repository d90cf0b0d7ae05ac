"""Calls of "member" at a threshold, and what they are worth. A call is ``score >= threshold``.

A threshold that was chosen on the records it is judged by flatters the attack. So a threshold is either
given, as a number from elsewhere, or learnt by :class:`CrossFit` on records other than those it calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.samples import paired
from guestlist.arrays.thresholds import best_threshold
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import proportion_difference


@dataclass(frozen=True)
class CrossFit:
    """Learn the best threshold on one half of the records, call the other half, and the other way round.

    The halves are drawn with ``seed``, and hold equal shares of members.
    """

    seed: int = 0

    def halves(self, member: np.ndarray) -> np.ndarray:
        """(records,) false for the first half, true for the second."""
        rng = np.random.default_rng(self.seed)
        second = np.zeros(len(member), dtype=bool)
        for kind in (member, ~member):
            records = rng.permutation(np.flatnonzero(kind))
            second[records[: len(records) // 2]] = True
        return second


CROSS_FIT = CrossFit()


def calls(scores: np.ndarray, member: np.ndarray, threshold: float | CrossFit) -> np.ndarray:
    """(records,) true where a record is called a member; a record without a score is never called.

    ``member`` is only used by :class:`CrossFit`, and there only for the other half of the records.
    """
    scores, member = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if not isinstance(threshold, CrossFit):
        return scores >= threshold
    scored = np.flatnonzero(~np.isnan(scores))
    second = threshold.halves(member[scored])
    called = np.zeros(len(scores), dtype=bool)
    for half in (second, ~second):
        learn, judge = scored[~half], scored[half]
        called[judge] = scores[judge] >= best_threshold(scores[learn], member[learn])
    return called


def advantage(
    scores: np.ndarray, member: np.ndarray, threshold: float | CrossFit = CROSS_FIT, *, confidence: float = 0.95
) -> Estimate:
    """TPR - FPR of calls at a threshold (Yeom et al. 2018), with Newcombe's interval (1998).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        threshold: a number fixed without these records, or how to learn it: by default :class:`CrossFit`,
            where the figure is the mean advantage of the two thresholds, each on records it has not seen.
        confidence: of the interval.

    Returns:
        The advantage in [-1, 1]; withheld without scored members or non-members, and without two of each
        when the threshold has to be learnt.
    """
    scores, member = paired(scores, member)
    fewest = min(member.sum(), (~member).sum())
    if fewest < (2 if isinstance(threshold, CrossFit) else 1):
        return WITHHELD
    called = calls(scores, member, threshold)
    true, false = called[member], called[~member]
    return proportion_difference(int(true.sum()), len(true), int(false.sum()), len(false), confidence=confidence)


def balanced_accuracy(
    scores: np.ndarray, member: np.ndarray, threshold: float | CrossFit = CROSS_FIT, *, confidence: float = 0.95
) -> Estimate:
    """(TPR + TNR) / 2 of calls at a threshold: half of one plus the :func:`advantage`, interval included.

    >>> print(balanced_accuracy(np.arange(100.0), np.arange(100) >= 50, threshold=50.0))
    1.000 [0.950, 1.000]
    """
    return Estimate(*((1 + end) / 2 for end in advantage(scores, member, threshold, confidence=confidence)))
