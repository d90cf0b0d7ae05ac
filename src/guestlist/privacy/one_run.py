"""Lower bounds on epsilon from one training run: guess membership and count the correct guesses.

An independent coin flip included each record with probability 0.5. Under (epsilon, delta)-differential privacy the number
of correct guesses is then hardly larger than if each were correct with probability 1 / (1 + exp(−epsilon)), for any
effect of all records together on the model (Steinke, Nasr & Jagielski 2023, theorem 5.2). Records with the largest
scores are guessed to be members, and the same number of records with the smallest scores non-members. The number of
guesses is fixed before membership is read.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, expit, ndtr, ndtri
from scipy.stats import binom

from guestlist._util import choice, number
from guestlist.errors import InputError
from guestlist.privacy.bounds import gaussian_epsilon

FEWEST_GUESSES = 5  # minimum by default: fewer guesses, even if all are correct, prove an epsilon of at most 0.2
LARGEST = 64.0  # upper end of the search for a bound


@dataclass(frozen=True)
class Coins:
    """Independent inclusion of each record with probability 0.5.

    Attributes:
        condition: Probability of a condition that was enforced by repeating the draw, such as a record of every class; 1 for
            none. An event with probability p in all draws has at most probability p / ``condition`` in those that meet it.

    Raises:
        ValueError: If ``condition`` is not in (0, 1].

    Examples:
        >>> gl.privacy.OneRun(gl.privacy.Coins(condition=0.99))
        OneRun(...
    """

    condition: float = 1.0

    def __post_init__(self):
        number("condition", self.condition, 0, 1, ends="(]")

    def selected(self, member: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.arange(len(member))

    def probability(self, member: np.ndarray) -> float:
        return self.condition


@dataclass(frozen=True)
class FixedSize:
    """A fixed number of members, drawn at random from all records; or training reveals their number.

    Given their number, inclusions are not independent. Independent inclusion would have given this number with a known
    probability, and the bound is corrected for it. From the larger of the two sets, a random subset of the size of the smaller is
    used, which makes that probability largest.
    """

    def selected(self, member: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        sides = [np.flatnonzero(member), np.flatnonzero(~member)]
        size = min(map(len, sides))
        return np.sort(np.concatenate([rng.permutation(side)[:size] for side in sides]))

    def probability(self, member: np.ndarray) -> float:
        return float(binom.pmf(len(member) // 2, len(member), 0.5))


@dataclass(frozen=True)
class _Guessing:
    """Common part of the two bounds: the records to guess about.

    Args:
        membership: randomisation that drew the members.
        shares: shares of the records to guess about; by default 1, 1/2, 1/4, …
        guess: ``both`` members and non-members, in equal numbers, or ``members`` only.
        seed: random seed of the order among equal scores.
    """

    membership: Coins | FixedSize = field(default_factory=Coins)
    shares: tuple[float, ...] | None = None
    guess: Literal["both", "members"] = "both"
    seed: int = 0

    def __post_init__(self):
        choice("guess", self.guess, ("both", "members"))
        if self.shares is not None and not (self.shares and all(0 < share <= 1 for share in self.shares)):
            raise ValueError(f"Expected shares={self.shares} in (0, 1].")

    def prepared(self, scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return ranks of the scores, membership, and the share of the level that remains.

        Ties are broken at random, and records without a score are ranked in the middle, where guesses come last.
        """
        rng = np.random.default_rng([self.seed, len(member)])
        selected = self.membership.selected(member, rng)
        scores = scores[selected]
        member = member[selected]
        order = np.lexsort((rng.permutation(len(scores)), scores))  # NaN last
        known = int((~np.isnan(scores)).sum())
        order = np.concatenate([order[: known // 2], order[known:], order[known // 2 : known]])
        return np.argsort(order), member, self.membership.probability(member)

    def candidates(self, member: np.ndarray) -> tuple[float, ...]:
        if self.shares is not None:
            return self.shares
        halvings = max(int(np.log2(max(len(member), 1) / FEWEST_GUESSES)), 0)
        return tuple(0.5**k for k in range(halvings + 1))

    def guesses(self, ranks: np.ndarray, member: np.ndarray, share: float) -> tuple[int, int]:
        """Return the numbers of guesses and of correct guesses."""
        order = np.argsort(ranks)
        if self.guess == "members":
            called = order[len(order) - round(share * len(order)) :]
            return len(called), int(member[called].sum())
        # If the number is odd, the middle record is not guessed.
        each = min(round(share * len(order) / 2), len(order) // 2)
        return 2 * each, int(member[order[len(order) - each :]].sum() + (~member[order[:each]]).sum())


@dataclass(frozen=True)
class OneRun(_Guessing):
    """Bound from the scores of one model (Steinke, Nasr & Jagielski 2023).

    Attributes:
        membership: How members were drawn: ``Coins()`` or ``FixedSize()``.
        shares: Shares of the records to guess about; by default 1, 1/2, 1/4, ….
        guess: Whether to guess ``both`` members and non-members, in equal numbers, or ``members`` only.
        seed: Random seed of the order among equal scores.
    """

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        return one_run_epsilon(len(member), *self.guesses(scores, member, candidate), delta, level)


@dataclass(frozen=True)
class OneRunCurve(_Guessing):
    """Bound from the scores of one model, based on a whole trade-off curve (Mahloujifar, Melis & Chaudhuri 2024).

    Attributes:
        membership, shares, guess, seed: As for :class:`OneRun`.
        curve: ``approximate`` is (epsilon, delta)-differential privacy; it proves more than :class:`OneRun` if delta is large,
            and a little less if it is small. ``gaussian`` proves more about mechanisms with a Gaussian trade-off curve: its
            epsilon contradicts a claim of Gaussian noise, but not an (epsilon, delta) claim.

    Raises:
        ValueError: If the curve is unknown, or a number is out of range.
    """

    curve: Literal["approximate", "gaussian"] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        choice("curve", self.curve, ("approximate", "gaussian"))

    def bound(self, scores: np.ndarray, member: np.ndarray, candidate: float, delta: float, level: float) -> float:
        guessed, right = self.guesses(scores, member, candidate)
        if self.curve == "approximate":
            return approximate_epsilon(len(member), guessed, right, delta, level)
        if delta <= 0:
            raise InputError("Gaussian noise gives no guarantee at delta 0. Use a delta above 0.")
        return gaussian_epsilon(one_run_mu(len(member), guessed, right, level), delta)


def one_run_p_value(records: int, guessed: int, right: int, epsilon: float, delta: float) -> float:
    """Return the largest probability of at least ``right`` correct guesses under (epsilon, delta)-differential privacy.

    >>> round(one_run_p_value(1000, 100, 90, 1.6261, 1e-5), 3)
    0.05
    """
    if not 0 <= right <= guessed <= records:
        raise ValueError(f"Expected right={right} at most guessed={guessed}, and that at most records={records}.")
    if right == 0:
        return 1.0
    q = float(expit(epsilon))
    at_least = float(bdtrc(right - 1, guessed, q))
    if delta == 0:
        return at_least
    just_below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guessed, q))
    return min(1.0, at_least + 2 * records * delta * float((just_below / np.arange(1, right + 1)).max()))


@lru_cache(maxsize=65536)
def one_run_epsilon(records: int, guessed: int, right: int, delta: float = 0.0, level: float = 0.05) -> float:
    """Return the largest epsilon that ``right`` correct guesses refute, with all smaller ones; 0 if none is refuted.

    >>> round(one_run_epsilon(1000, 100, 100), 4)
    3.493
    """

    def beyond(epsilon: float) -> float:
        return one_run_p_value(records, guessed, right, epsilon, delta) - level

    if beyond(0.0) >= 0:
        return 0.0
    # The p-value increases with epsilon if no weight in it exceeds 1: it is then a mean of tails. For a larger delta, a
    # step-by-step search finds the first epsilon that is not refuted.
    low = 0.0
    high = LARGEST
    if 2 * records * delta > 1:
        steps = np.linspace(0, LARGEST, 1025)
        first = next((k for k, epsilon in enumerate(steps) if beyond(float(epsilon)) >= 0), len(steps) - 1)
        low = float(steps[first - 1])
        high = float(steps[first])
    if beyond(high) > 0:
        return float(brentq(beyond, low, high, xtol=1e-9))
    return high


@lru_cache(maxsize=65536)
def approximate_epsilon(records: int, guessed: int, right: int, delta: float = 0.0, level: float = 0.05) -> float:
    """Return :func:`one_run_epsilon` by the curve of (epsilon, delta)-differential privacy."""

    def curve(epsilon: float) -> Callable[[float], float]:
        grown = exp(epsilon)
        shrunk = exp(-epsilon)
        return lambda tpr: max(shrunk * (tpr - delta), 1 - delta - grown * (1 - tpr), 0.0)

    return _largest_refuted(curve, records, guessed, right, level)


@lru_cache(maxsize=65536)
def one_run_mu(records: int, guessed: int, right: int, level: float = 0.05) -> float:
    """Return the largest mu of Gaussian differential privacy that ``right`` correct guesses refute; 0 if none is refuted."""

    def curve(mu: float) -> Callable[[float], float]:
        return lambda tpr: float(ndtr(ndtri(tpr) - mu))

    return _largest_refuted(curve, records, guessed, right, level)


# Smallest false positive rate at which a curve with this parameter reaches a true positive rate.
Curve = Callable[[float], Callable[[float], float]]


def _largest_refuted(curve: Curve, records: int, guessed: int, right: int, level: float) -> float:
    """Return the largest refuted parameter, to 1e-6; a larger parameter allows more, so all smaller ones are refuted too."""
    if not _refuted(curve(0.0), records, guessed, right, level):
        return 0.0
    low = 0.0
    high = LARGEST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if _refuted(curve(middle), records, guessed, right, level) else (low, middle)
    return low


def _refuted(least_fpr: Callable[[float], float], records: int, guessed: int, right: int, level: float) -> bool:
    """Return whether at least ``right`` correct guesses with probability ``level`` are impossible.

    Let C be the number of correct guesses, R(c) = E[C; C ≥ c] / records and W(c) = E[guessed − C; C ≥ c] / records for every c.
    Flipping one coin makes a correct guess wrong and changes no other guess, so the curve relates {guess i is correct,
    C ≥ c} to {guess i is wrong, C ≥ c − 1}. By its concavity, R(c) ≤ TPR(W(c − 1)). Starting from P[C ≥ right] = level,
    with all of it at C = right, the smallest W, and with it R, follow for decreasing c. Their sum must not exceed
    guessed / records.
    """
    hits = level * right / records
    misses = level * (guessed - right) / records
    limit = guessed / records
    for c in range(right - 1, -1, -1):
        needed = least_fpr(min(hits, 1.0))
        if needed > misses:
            hits += c / (guessed - c) * (needed - misses)
            misses = needed
        if hits + misses > limit:
            return True
    return False
