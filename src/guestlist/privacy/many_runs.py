"""Lower bounds on epsilon from many training runs: one score per *run*, with the record in question in or out by turns.

Runs are independent of each other, so error rates have exact intervals. The records of one model are not: they were trained
together, and the same luck moves all of them; these bounds are not for them.

The line is drawn at a non-member's score: the k-th largest. The false-positive rate beyond it then has a beta distribution
whatever the scores look like (at most that with ties), and the members' scores are independent of it, so the intervals stay
exact although the line was not fixed beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, ndtri

from guestlist.errors import InputError
from guestlist.evaluate.intervals import clopper_pearson_upper
from guestlist.privacy.bounds import gaussian_epsilon

STEPS = 6  # of halvings, towards either end, at which lines are tried
NODES = 64  # of the posterior, over which is summed
LARGEST = 64.0


@dataclass(frozen=True)
class _Runs:
    """Common part of the three bounds: the threshold.

    Args:
        shares: of the non-members' scores, at which lines are tried, from the largest score down.
    """

    shares: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.shares is not None and not (self.shares and all(0 <= share <= 1 for share in self.shares)):
            raise ValueError(f"Expected shares={self.shares} in [0, 1].")

    def prepared(self, scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        if np.isnan(scores).any():
            raise InputError("Every run must have a score: a run without one is not a trial.")
        return scores, member, 1.0

    def candidates(self, member: np.ndarray) -> tuple[float, ...]:
        if self.shares is not None:
            return self.shares
        small = [0.5**k for k in range(1, STEPS + 1)]
        return (0.5, 0.0, 1.0, *small[1:], *(1 - share for share in small[1:]))

    def errors(self, scores: np.ndarray, member: np.ndarray, share: float) -> tuple[int, int, int, int]:
        """False positives and their number of trials, false negatives and theirs, at one line."""
        outside = np.sort(scores[~member])[::-1]
        inside = scores[member]
        if not len(outside) or not len(inside):
            return len(outside), len(outside), len(inside), len(inside)
        k = min(max(int(np.ceil(share * len(outside))), 1), len(outside))
        # With ties fewer than k - 1 may lie beyond the line; counting k - 1 is right whatever the scores look like.
        return k - 1, len(outside), int((inside <= outside[k - 1]).sum()), len(inside)

    def _bounded(self, scores: np.ndarray, member: np.ndarray, share: float, level: float) -> tuple[float, float]:
        """Upper bounds on the false-positive and the false-negative rate, which hold together."""
        wrong, outside, missed, inside = self.errors(scores, member, share)
        if not outside or not inside:
            return 1.0, 1.0
        return float(clopper_pearson_upper(wrong, outside, level / 2)), float(
            clopper_pearson_upper(missed, inside, level / 2)
        )


@dataclass(frozen=True)
class ClopperPearson(_Runs):
    """Exact bounds on both error rates, half of the level each (Nasr et al. 2021)."""

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        fpr, fnr = self._bounded(scores, member, candidate, level)
        return epsilon_of_errors(fpr, fnr, delta)


@dataclass(frozen=True)
class GaussianRuns(_Runs):
    """The same bounds, read as errors of Gaussian noise (Nasr et al. 2023): for mechanisms whose curve is Gaussian."""

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        if delta <= 0:
            raise InputError("Gaussian noise promises nothing at delta 0: give a delta above it.")
        fpr, fnr = self._bounded(scores, member, candidate, level)
        return gaussian_epsilon(max(float(-ndtri(fpr) - ndtri(fnr)), 0.0) if max(fpr, fnr) < 1 else 0.0, delta)


@dataclass(frozen=True)
class BayesianRuns(_Runs):
    """What is believed of both error rates after the runs, from Jeffreys' prior (Zanella-Béguelin et al. 2023).

    A credible bound: narrower than Clopper-Pearson's, and not promised to be false in no more than 5 % of audits of any one
    mechanism.
    """

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        wrong, outside, missed, inside = self.errors(scores, member, candidate)
        return credible_epsilon(wrong, outside, missed, inside, delta, level)


def epsilon_of_errors(fpr: float, fnr: float, delta: float) -> float:
    """The least epsilon that allows these error rates, or smaller ones (Kairouz et al. 2015).

    >>> round(epsilon_of_errors(0.1, 0.1, 0.0), 4)
    2.1972
    """
    found = 0.0
    for one, other in ((fpr, fnr), (fnr, fpr)):
        if 1 - one - delta > 0:
            found = max(found, float(np.log((1 - one - delta) / other)) if other > 0 else LARGEST)
    return found


@lru_cache(maxsize=65536)
def credible_epsilon(wrong: int, outside: int, missed: int, inside: int, delta: float, level: float) -> float:
    """The epsilon below which the true one is believed to lie with probability ``level``.

    Scores rise with membership, so only errors that are too small count: a region with two sides has no room at epsilon 0,
    and something would always be believed.
    """
    chances = (np.arange(NODES) + 0.5) / NODES
    fpr = betaincinv(wrong + 0.5, outside - wrong + 0.5, chances)

    def inside_region(epsilon: float) -> float:
        grown = np.exp(epsilon)
        low = np.maximum((1 - delta - fpr) / grown, 1 - delta - grown * fpr)
        return 1 - float(betainc(missed + 0.5, inside - missed + 0.5, np.clip(low, 0, 1)).mean()) - level

    if inside_region(0.0) >= 0:
        return 0.0
    return float(brentq(inside_region, 0.0, LARGEST, xtol=1e-5)) if inside_region(LARGEST) > 0 else LARGEST
