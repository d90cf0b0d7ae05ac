"""Slow and obvious versions of what ``guestlist.privacy`` computes fast."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm


def one_run_p_value(records: int, guessed: int, right: int, epsilon: float, delta: float) -> float:
    """The sums as they are written, term by term."""
    q = 1 / (1 + math.exp(-epsilon))
    chance = [math.comb(guessed, k) * q**k * (1 - q) ** (guessed - k) for k in range(guessed + 1)]
    most = max((sum(chance[right - i : right]) / i for i in range(1, right + 1)), default=0.0)
    return min(1.0, sum(chance[right:]) + 2 * records * delta * most)


def largest_chance(tangents, records: int, guessed: int, right: int) -> float:
    """The largest P[C ≥ right] of all distributions of C that the curve allows, as a linear programme.

    Args:
        tangents: (slope, intercept) of lines whose minimum is the largest TPR at each FPR.
    """
    values = np.arange(guessed + 1)
    rows, limits = [], []
    for c in range(1, guessed + 1):
        hits, misses = np.where(values >= c, values, 0), np.where(values >= c - 1, guessed - values, 0)
        for slope, intercept in tangents:
            rows.append((hits - slope * misses) / records)
            limits.append(intercept)
    solution = linprog(
        -(values >= right).astype(float),
        A_ub=np.array(rows),
        b_ub=limits,
        A_eq=np.ones((1, guessed + 1)),
        b_eq=[1.0],
        method="highs",
    )
    assert solution.success
    return -solution.fun


def approximate_tangents(epsilon: float, delta: float) -> list[tuple[float, float]]:
    return [(0.0, 1.0), (math.exp(epsilon), delta), (math.exp(-epsilon), 1 - math.exp(-epsilon) * (1 - delta))]


def gaussian_tangents(mu: float, points: int = 150) -> list[tuple[float, float]]:
    """Evaluate the curve Φ(Φ⁻¹(x) + μ) at many points."""
    values = []
    for z in np.linspace(-7, 7 - mu, points):
        slope = float(np.exp(norm.logpdf(z + mu) - norm.logpdf(z)))
        values.append((slope, float(norm.cdf(z + mu) - slope * norm.cdf(z))))
    return values
