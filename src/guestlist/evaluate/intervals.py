"""Intervals for shares and for differences of shares: the parts that the figures are built from.

All of them work on arrays as on single numbers. ``error`` is the probability of missing the truth that is
spent in total, half of it on either side, unless a function says that it is one-sided.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.samples import error_of


def proportion(successes: int, n: int, *, level: float = 0.95) -> Estimate:
    """Share of successes with its exact interval (Clopper & Pearson 1934); withheld when ``n`` is 0.

    >>> print(proportion(3, 10))
    0.300 [0.067, 0.652]
    """
    error = error_of(level)
    if not 0 <= successes <= n:
        raise ValueError(f"Expected successes={successes} in [0, n={n}].")
    if n == 0:
        return WITHHELD
    low, high = lower_share(successes, n, error / 2), upper_share(successes, n, error / 2)
    return Estimate(successes / n, float(low), float(high))


def lower_share(successes: np.ndarray, n: np.ndarray, error: float) -> np.ndarray:
    """Clopper-Pearson's lower bound, ``error`` all on this side; counts may be fractional."""
    successes = np.asarray(successes, dtype=np.float64)
    bound = special.betaincinv(np.maximum(successes, 1e-300), n - successes + 1, error)
    return np.where(successes > 0, bound, 0.0)


def upper_share(successes: np.ndarray, n: np.ndarray, error: float) -> np.ndarray:
    """Clopper-Pearson's upper bound, ``error`` all on this side."""
    return 1 - lower_share(n - np.asarray(successes, dtype=np.float64), n, error)


def wilson(successes: int, n: int, error: float) -> tuple[float, float]:
    """Wilson's score interval (1927) for a share."""
    z2 = special.ndtri(1 - error / 2) ** 2
    share = successes / n
    centre = share + z2 / (2 * n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
    # Rounding must not keep 0 of n and n of n from reaching the ends.
    low = 0.0 if successes == 0 else (centre - half) / (1 + z2 / n)
    high = 1.0 if successes == n else (centre + half) / (1 + z2 / n)
    return low, high


def square_and_add(a: Estimate, b: Estimate, correlation: float = 0.0) -> Estimate:
    """The difference a - b from two single intervals (Newcombe 1998; correlated: Zou & Donner 2008).

    Each end of the difference lies where one value is at its worst and the other at its best, so it inherits
    whatever asymmetry the single intervals have near 0 and 1.
    """
    def half(left: float, right: float) -> float:
        return np.sqrt(max(left**2 + right**2 - 2 * correlation * left * right, 0.0))

    value = a.value - b.value
    low = value - half(a.value - a.low, b.high - b.value)
    high = value + half(a.high - a.value, b.value - b.low)
    return Estimate(float(value), float(max(low, -1.0)), float(min(high, 1.0)))


def logit_interval(value: float, standard_error: float, quantile: float) -> Estimate:
    """``value`` in (0, 1) with an interval that is symmetric in log-odds, so that it stays inside (0, 1)."""
    half = quantile * standard_error / (value * (1 - value))
    centre = special.logit(value)
    return Estimate(float(value), float(special.expit(centre - half)), float(special.expit(centre + half)))


def unanimous_bound(blocks: int, error: float) -> float:
    """One-sided lower bound on the chance of an event that happened in all of ``blocks`` trials.

    If they are independent, a chance p makes them unanimous with probability p**blocks, which refutes any p
    below error**(1 / blocks).
    """
    return error ** (1 / blocks)
