"""Lower confidence bounds on epsilon from scores, with corrected threshold selection."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, ndtri

from guestlist._util import number
from guestlist.errors import InputError
from guestlist.metrics import clopper_pearson_upper
from guestlist.privacy.bounds import gaussian_epsilon
from guestlist.privacy.one_run import OneRun, OneRunCurve


@dataclass(frozen=True)
class Bonferroni:
    """Best of all candidate thresholds, each at an equal share of the level; a single candidate needs no correction."""

    def lower(self, method: "BoundMethod", scores: np.ndarray, member: np.ndarray, delta: float, level: float) -> float:
        tried = method.candidates(member)
        return max(method.bound(scores, member, candidate, delta, level / len(tried)) for candidate in tried)


@dataclass(frozen=True)
class HoldOut:
    """Candidate threshold with the best bound on a random part of the records, evaluated on the other part.

    Attributes:
        fraction: Share of the records to choose the threshold on, in (0, 1).
        seed: Random seed of the part.
    """

    fraction: float = 0.5
    seed: int = 0

    def __post_init__(self):
        number("fraction", self.fraction, 0, 1)

    def lower(self, method: "BoundMethod", scores: np.ndarray, member: np.ndarray, delta: float, level: float) -> float:
        return _held_out(method, scores, member, delta, level, self.fraction, np.random.default_rng(self.seed))


@dataclass(frozen=True)
class Median:
    """Median over many hold-outs, each at half the level, so that no single split decides.

    Each bound is false with probability at most level / 2, so by Markov's inequality more than half of them are false
    with probability at most 2 × level / 2.

    Attributes:
        splits: Number of splits; odd.
        fraction: Share of the records to choose the threshold on, in (0, 1).
        seed: Random seed of the splits.

    Raises:
        ValueError: If ``splits`` is even, or a number is out of range.
    """

    splits: int = 21
    fraction: float = 0.5
    seed: int = 0

    def __post_init__(self):
        number("fraction", self.fraction, 0, 1)
        if self.splits < 1 or self.splits % 2 == 0:
            raise ValueError(f"Expected splits={self.splits} to be an odd number, 1 or more.")

    def lower(self, method: "BoundMethod", scores: np.ndarray, member: np.ndarray, delta: float, level: float) -> float:
        rng = np.random.default_rng(self.seed)
        bounds = [_held_out(method, scores, member, delta, level / 2, self.fraction, rng) for _ in range(self.splits)]
        return float(np.median(bounds))


Threshold = Bonferroni | HoldOut | Median


def _held_out(
    method: "BoundMethod",
    scores: np.ndarray,
    member: np.ndarray,
    delta: float,
    level: float,
    fraction: float,
    rng: np.random.Generator,
) -> float:
    """Return the bound on held-out records; the split ignores membership, so inclusions stay independent."""
    order = rng.permutation(len(member))
    chosen_on, held_out = np.split(order, [min(max(round(fraction * len(order)), 1), len(order) - 1)])
    tried = method.candidates(member[chosen_on])
    proved = [method.bound(scores[chosen_on], member[chosen_on], candidate, delta, level) for candidate in tried]
    return method.bound(scores[held_out], member[held_out], tried[int(np.argmax(proved))], delta, level)


STEPS = 6  # thresholds are tried at shares 0.5^k and 1 - 0.5^k, for k up to this number
NODES = 64  # nodes of the numerical integral over the posterior
LARGEST = 64.0


@dataclass(frozen=True)
class _Runs:
    """Common part of the three bounds: the threshold.

    Args:
        shares: shares of the non-members' scores at which thresholds are tried, from the largest score down.
    """

    shares: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.shares is not None and not (self.shares and all(0 <= share <= 1 for share in self.shares)):
            raise ValueError(f"Expected shares={self.shares} in [0, 1].")

    def prepared(self, scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        if np.isnan(scores).any():
            raise InputError(
                "Some runs have no score (NaN). Each run is a trial, so removing one biases the bound: score all of them."
            )
        return scores, member, 1.0

    def candidates(self, member: np.ndarray) -> tuple[float, ...]:
        if self.shares is not None:
            return self.shares
        small = [0.5**k for k in range(1, STEPS + 1)]
        return (0.5, 0.0, 1.0, *small[1:], *(1 - share for share in small[1:]))

    def errors(self, scores: np.ndarray, member: np.ndarray, share: float) -> tuple[int, int, int, int]:
        """Return false positives, their number of trials, false negatives and their number of trials, at one threshold."""
        outside = np.sort(scores[~member])[::-1]
        inside = scores[member]
        if not len(outside) or not len(inside):
            return len(outside), len(outside), len(inside), len(inside)
        k = min(max(int(np.ceil(share * len(outside))), 1), len(outside))
        # With ties, fewer than k - 1 may be above the threshold; counting k - 1 is valid for all scores.
        return k - 1, len(outside), int((inside <= outside[k - 1]).sum()), len(inside)

    def _bounded(self, scores: np.ndarray, member: np.ndarray, share: float, level: float) -> tuple[float, float]:
        """Return upper bounds on the false positive and false negative rates that hold simultaneously."""
        wrong, outside, missed, inside = self.errors(scores, member, share)
        if not outside or not inside:
            return 1.0, 1.0
        return float(clopper_pearson_upper(wrong, outside, level / 2)), float(
            clopper_pearson_upper(missed, inside, level / 2)
        )


@dataclass(frozen=True)
class ClopperPearson(_Runs):
    """Exact bounds on both error rates, half of the level each (Nasr et al. 2021).

    Attributes:
        shares: Shares of the non-members' scores at which thresholds are tried, from the largest score down; by default
            powers of 0.5 and their complements.
    """

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        return epsilon_of_errors(*self._bounded(scores, member, candidate, level), delta)


@dataclass(frozen=True)
class GaussianRuns(_Runs):
    """Exact bounds on both error rates, read as errors of Gaussian noise (Nasr et al. 2023).

    They are valid for mechanisms whose trade-off curve is Gaussian.

    Attributes:
        shares: As for :class:`ClopperPearson`.
    """

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        if delta <= 0:
            raise InputError("Gaussian noise gives no guarantee at delta 0. Use a delta above 0.")
        fpr, fnr = self._bounded(scores, member, candidate, level)
        return gaussian_epsilon(max(float(-ndtri(fpr) - ndtri(fnr)), 0.0) if max(fpr, fnr) < 1 else 0.0, delta)


@dataclass(frozen=True)
class BayesianRuns(_Runs):
    """Credible bounds on both error rates, from Jeffreys' prior (Zanella-Béguelin et al. 2023).

    They are narrower than Clopper-Pearson's, and may be wrong in more than 5% of the audits of a given mechanism.

    Attributes:
        shares: As for :class:`ClopperPearson`.
    """

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        return credible_epsilon(*self.errors(scores, member, candidate), delta, level)


def epsilon_of_errors(fpr: float, fnr: float, delta: float) -> float:
    """Return the smallest epsilon that allows these error rates, or smaller ones (Kairouz et al. 2015).

    >>> round(epsilon_of_errors(0.1, 0.1, 0.0), 4)
    2.1972
    """
    epsilon = 0.0
    for first, second in ((fpr, fnr), (fnr, fpr)):
        if 1 - first - delta <= 0:
            continue
        if second <= 0:
            return LARGEST
        epsilon = max(epsilon, float(np.log((1 - first - delta) / second)))
    return epsilon


@lru_cache(maxsize=65536)
def credible_epsilon(wrong: int, outside: int, missed: int, inside: int, delta: float, level: float) -> float:
    """Return the quantile of the posterior distribution of epsilon at ``level``.

    Scores rise with membership, so only errors that are too small count. A two-sided region has measure 0 at epsilon 0,
    and the posterior would always support a positive epsilon.
    """
    chances = (np.arange(NODES) + 0.5) / NODES
    fpr = betaincinv(wrong + 0.5, outside - wrong + 0.5, chances)

    def inside_region(epsilon: float) -> float:
        grown = np.exp(epsilon)
        low = np.maximum((1 - delta - fpr) / grown, 1 - delta - grown * fpr)
        return 1 - float(betainc(missed + 0.5, inside - missed + 0.5, np.clip(low, 0, 1)).mean()) - level

    if inside_region(0.0) >= 0:
        return 0.0
    if inside_region(LARGEST) > 0:
        return float(brentq(inside_region, 0.0, LARGEST, xtol=1e-5))
    return LARGEST


# A method lists candidate thresholds, which depend only on the numbers of members and non-members, and computes the bound
# that one of them proves; it is wrong with probability at most ``level``.
BoundMethod = OneRun | OneRunCurve | ClopperPearson | GaussianRuns | BayesianRuns


@dataclass(frozen=True)
class EpsilonBound:
    """A lower bound on epsilon.

    Attributes:
        epsilon: Lower bound: a mechanism with a smaller epsilon gives such scores with probability at most 1 − ``confidence``;
            0 is no evidence.
        delta: Delta of the bound.
        confidence: Confidence level; for ``BayesianRuns`` the posterior probability.
        provable: Bound that perfect scores of the same records, or runs, would give.
        members, nonmembers: Numbers of included and excluded records, or runs.

    Examples:
        >>> included = np.arange(200) % 2 == 0
        >>> bound = gl.privacy.epsilon_lower_bound(np.zeros(200), included)
        >>> bound.epsilon, round(bound.provable, 2)
        (0.0, 3.71)
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
    method: BoundMethod | None = None,
    threshold: Threshold | None = None,
    confidence: float = 0.95,
) -> EpsilonBound:
    """Return a lower confidence bound on epsilon from attack scores.

    Args:
        scores: (records,) of one model for ``OneRun`` and ``OneRunCurve``, one per record with randomised inclusion;
            (runs,) of one record for ``ClopperPearson``, ``GaussianRuns`` and ``BayesianRuns``, one per model. A higher score
            means a likelier member. Scores must not depend on the membership labels.
        member: (records,) or (runs,) true if the record was included.
        delta: Delta of the bound.
        method: Method of the proof; ``OneRun()`` by default.
        threshold: Correction for the choice of a threshold: ``Bonferroni()`` by default, ``HoldOut()`` or ``Median()``.
        confidence: Confidence level of the bound.

    Returns:
        The bound, and the largest bound that perfect scores would prove.

    Raises:
        InputError: If scores and membership do not fit together.
        ValueError: If delta or confidence is out of range.

    Examples:
        >>> member = np.random.default_rng(0).random(1000) < 0.5
        >>> bound = gl.privacy.epsilon_lower_bound(member, member)  # perfect scores
        >>> bound.epsilon == bound.provable > 4
        True
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member)
    if scores.ndim != 1 or scores.shape != member.shape or member.dtype != bool:
        raise InputError(
            f"scores and member must have the same length, and member must be Boolean; found {scores.shape} and "
            f"{member.shape} of {member.dtype}."
        )
    if len(member) < 2:
        raise InputError(f"Expected at least two scores, found {len(member)}.")
    number("delta", delta, 0, 1, ends="[)")
    number("confidence", confidence, 0, 1)
    method = method or OneRun()
    threshold = threshold or Bonferroni()
    members = int(member.sum())
    return EpsilonBound(
        epsilon=lower(scores, member, delta, method, threshold, 1 - confidence),
        delta=delta,
        confidence=confidence,
        provable=lower(member * 1.0, member, delta, method, threshold, 1 - confidence),
        members=members,
        nonmembers=len(member) - members,
    )


def lower(
    scores: np.ndarray, member: np.ndarray, delta: float, method: BoundMethod, threshold: Threshold, level: float
) -> float:
    """Return the bound, which is wrong with a probability of at most ``level``."""
    scores, member, share = method.prepared(scores, member)
    return threshold.lower(method, scores, member, delta, share * level)
