"""Tails of Student's distribution, as log-odds, for many values at once.

scipy computes such a tail to its last digit in .4 microseconds, and its logarithm not at all where the tail is below the
smallest float. Here it takes a third of that, as mock targets ask for millions.

Imports numba, so it is itself imported only where references are compared with.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_HALF_LOG_PI = 0.5 * math.log(math.pi)
_LOG_2 = math.log(2)
LARGE = 1e100


@njit(cache=True, error_model="numpy")
def fill_student_log_odds(t, freedom, found):  # pragma: no cover: compiled
    """Fill (values,) the logarithm of P(T < t) / P(T > t) for Student's T with so many degrees of freedom."""
    for i in range(len(t)):
        size = abs(t[i])
        found[i] = t[i] if size == np.inf else math.copysign(_log_odds(size, freedom[i]), t[i])


@njit(cache=True, inline="always", error_model="numpy")
def _log_odds(t, freedom):  # pragma: no cover: compiled
    """Of t >= 0. The tail is half of I_x(a, 1/2), the incomplete beta function, a = freedom / 2, x = freedom / (freedom + t²)."""
    a, square = freedom / 2, t * t
    if square > freedom:  # each of x and 1 - x, and their logarithms, from what is small
        rest = freedom / square
        x, y = rest / (1 + rest), 1 / (1 + rest)
        log_x, log_y = math.log(freedom) - 2 * math.log(t) - math.log1p(rest), -math.log1p(rest)
    else:
        rest = square / freedom
        x, y = 1 / (1 + rest), rest / (1 + rest)
        log_x, log_y = -math.log1p(rest), math.log(y)  # -inf where t is 0
    front = a * log_x + log_y / 2 + _log_gamma_ratio(a) - _HALF_LOG_PI  # x^a (1 - x)^1/2 / B(a, 1/2)
    if y < 1.5 / (
        a + 2.5
    ):  # near 0: 1 - I_x(a, 1/2) = I_y(1/2, a) by its power series, all of whose terms are positive
        term, total, n = 1.0, 1.0, 0.0
        while term > 1e-17 * total:
            term *= y * (a + 0.5 + n) / (1.5 + n)
            total += term
            n += 1
        centre = 2 * math.exp(front) * total
        return math.log1p(centre) - math.log1p(-centre)
    log_tail = front - math.log(a) + math.log(_continued_fraction(a, x)) - _LOG_2
    return math.log1p(-math.exp(log_tail)) - log_tail


@njit(cache=True, inline="always", error_model="numpy")
def _log_gamma_ratio(a):  # pragma: no cover: compiled
    """log Γ(a + 1/2) - log Γ(a): Stirling's series, from where that is exact (Tricomi & Erdélyi 1951), carried down."""
    below = 1.0
    while a < 12:
        below *= a / (a + 0.5)
        a += 1
    z = 1 / (a * a)
    series = -1 / 8 + z * (1 / 192 + z * (-1 / 640 + z * (17 / 14336 + z * (-31 / 18432 + z * 691 / 180224))))
    return 0.5 * math.log(a) + series / a + math.log(below)


@njit(cache=True, inline="always", error_model="numpy")
def _continued_fraction(a, x):  # pragma: no cover: compiled
    """I_x(a, 1/2) over its front and 1 / a: fast where x < (a + 1) / (a + 2.5) (DLMF 8.17.22).

    The numerators and denominators of its convergents are carried on, which takes one division for two of them.
    """
    last, value, m = 0.0, 1.0, 0.0
    top, top_before, bottom, bottom_before = 1.0, 1.0, 1.0, 0.0
    while abs(value - last) > 1e-15 * value:
        odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        top_before, bottom_before = top + odd * top_before, bottom + odd * bottom_before
        m += 1
        even = m * (0.5 - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        top, top_before = top_before + even * top, top_before
        bottom, bottom_before = bottom_before + even * bottom, bottom_before
        last, value = value, bottom / top
        if not 1 / LARGE < abs(bottom) < LARGE:  # only what they are to each other counts
            top, top_before, bottom_before, bottom = top / bottom, top_before / bottom, bottom_before / bottom, 1.0
    return value
