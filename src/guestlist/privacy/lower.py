"""A lower bound on epsilon from scores and the truth: a method, and a way to pay for the choice of a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.errors import InputError
from guestlist.privacy.many_runs import BayesianRuns, ClopperPearson, GaussianRuns
from guestlist.privacy.one_run import OneRun, OneRunCurve
from guestlist.privacy.thresholds import Bonferroni, Threshold

How = OneRun | OneRunCurve | ClopperPearson | GaussianRuns | BayesianRuns


@dataclass(frozen=True)
class EpsilonBound:
    """A lower bound on epsilon.

    Args:
        epsilon: no mechanism with a smaller one gives such scores, but with probability 1 − ``confidence``; 0: nothing is shown.
        delta: that was allowed for.
        confidence: of the bound; by ``BayesianRuns`` the probability with which it is believed.
        provable: what perfect scores of the same records, or runs, would have proved.
        members, nonmembers: that were counted.
    """

    epsilon: float
    delta: float
    confidence: float
    provable: float
    members: int
    nonmembers: int


def epsilon_lower_bound(
    scores,
    member,
    *,
    delta: float = 1e-5,
    how: How | None = None,
    threshold: Threshold | None = None,
    confidence: float = 0.95,
) -> EpsilonBound:
    """The largest epsilon that is refuted: whatever gave these scores promises no smaller one.

    Args:
        scores: (records,) of one model for ``OneRun`` and ``OneRunCurve``, one per record that a fair coin put in or left out;
            (runs,) of one record for ``ClopperPearson``, ``GaussianRuns`` and ``BayesianRuns``, one per model. Higher: likelier
            a member. No score may have been made with a look at who is one.
        member: as many, true where the record was in.
        delta: of the promise.
        how: the method; ``OneRun()`` by default.
        threshold: how the choice of a line is paid for: ``Bonferroni()`` by default, ``HoldOut()`` or ``Median()``.

    >>> import numpy as np
    >>> member = np.random.default_rng(0).random(1000) < 0.5
    >>> found = epsilon_lower_bound(member, member)
    >>> found.epsilon == found.provable > 4
    True
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member)
    if scores.ndim != 1 or scores.shape != member.shape or member.dtype != bool:
        raise InputError(
            f"Expected one score and one true or false for each, found scores shaped {scores.shape} and member shaped "
            f"{member.shape} of {member.dtype}."
        )
    if len(member) < 2:
        raise InputError(f"Expected at least two scores, found {len(member)}.")
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(f"Expected delta={delta} in [0, 1) and confidence={confidence} in (0, 1).")
    how = OneRun() if how is None else how
    threshold = Bonferroni() if threshold is None else threshold
    members = int(member.sum())
    return EpsilonBound(
        epsilon=lower(scores, member, delta, how, threshold, 1 - confidence),
        delta=delta,
        confidence=confidence,
        provable=lower(member * 1.0, member, delta, how, threshold, 1 - confidence),
        members=members,
        nonmembers=len(member) - members,
    )


def lower(scores: np.ndarray, member: np.ndarray, delta: float, how: How, threshold: Threshold, level: float) -> float:
    """The bound alone, wrong with a probability of at most ``level``."""
    scores, member, share = how.prepared(scores, member)
    return threshold.lower(how, scores, member, delta, share * level)
