"""Compiled loops: moments of IN and OUT models, and Student tails."""

import math

import numpy as np
from numba import njit

from guestlist._kernels.moments import HALF_LOG_PI, LARGE, LOG_2

RECORDS_PER_BATCH = 256  # The values of all models for these records fit in the cache.


@njit(cache=True, error_model="numpy")
def fill_in_out_moments(values, member, chosen, count, mean, squares):  # pragma: no cover: compiled
    """Fill (2, records) moments of OUT models and IN models, summed in the order of the models in double precision.

    A second pass makes the mean of equal values exactly that value, and their sum of squares exactly 0. Both sets are
    summed while the values of some records are in the cache.

    Args:
        values, member: (models, records); NaN is ignored.
        chosen: Positions of the models that count.
    """
    models = len(chosen)
    records = values.shape[1]
    selected, counts = np.empty((2, models, RECORDS_PER_BATCH))
    for start in range(0, records, RECORDS_PER_BATCH):
        stop = min(start + RECORDS_PER_BATCH, records)
        for side in range(2):
            n, first, second, square = np.zeros((4, stop - start))
            for k in range(models):
                row = values[chosen[k]][start:stop]
                trained = member[chosen[k]][start:stop]
                _add_selected(row, trained, side == 1, selected[k], counts[k], n, first)
            for i in range(stop - start):
                first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies.
            for k in range(models):
                for i in range(stop - start):
                    second[i] += selected[k, i] - first[i] if counts[k, i] > 0 else 0.0
            for i in range(stop - start):
                second[i] = first[i] + second[i] / n[i]
            for k in range(models):
                for i in range(stop - start):
                    deviation = selected[k, i] - second[i] if counts[k, i] > 0 else 0.0
                    square[i] += deviation * deviation
            for i in range(stop - start):
                count[side, start + i] = np.int64(n[i])
                mean[side, start + i] = second[i]
                squares[side, start + i] = square[i]


@njit(cache=True, inline="always")
def _add_selected(values, member, inside, selected, counts, n, total):  # pragma: no cover: compiled
    """Select the values of one model for IN or OUT records, 0 for the others, and add their number and sum."""
    for i in range(len(values)):  # Without branches, not even that of "and".
        value = np.float64(values[i])
        counted = 1.0 if (value == value) & (member[i] == inside) else 0.0
        selected[i] = value if counted > 0 else 0.0
        counts[i] = counted
        n[i] += counted
        total[i] += selected[i]


@njit(cache=True, error_model="numpy")
def fill_student_log_odds(t, dof, out):  # pragma: no cover: compiled
    """Fill (values,) log P(T < t) / P(T > t) for Student's T with ``dof`` degrees of freedom."""
    for i in range(len(t)):
        size = abs(t[i])
        out[i] = t[i] if size == np.inf else math.copysign(_log_odds(size, dof[i]), t[i])


@njit(cache=True, inline="always", error_model="numpy")
def _log_odds(t, dof):  # pragma: no cover: compiled
    """Log-odds for t >= 0: the tail is half of I_x(a, 1/2), the incomplete beta function.

    a = dof / 2 and x = dof / (dof + t²).
    """
    a = dof / 2
    square = t * t
    if square > dof:  # x, 1 - x and their logarithms are computed from the small ratio, without cancellation.
        ratio = dof / square
        x = ratio / (1 + ratio)
        y = 1 / (1 + ratio)
        log_x = math.log(dof) - 2 * math.log(t) - math.log1p(ratio)
        log_y = -math.log1p(ratio)
    else:
        ratio = square / dof
        x = 1 / (1 + ratio)
        y = ratio / (1 + ratio)
        log_x = -math.log1p(ratio)
        log_y = math.log(y)  # -inf where t is 0
    front = a * log_x + log_y / 2 + _log_gamma_ratio(a) - HALF_LOG_PI  # x^a (1 - x)^1/2 / B(a, 1/2)
    if y < 1.5 / (a + 2.5):
        # Near 0, 1 - I_x(a, 1/2) = I_y(1/2, a) by its power series, whose terms are all positive.
        term = 1.0
        total = 1.0
        n = 0.0
        while term > 1e-17 * total:
            term *= y * (a + 0.5 + n) / (1.5 + n)
            total += term
            n += 1
        centre = 2 * math.exp(front) * total
        return math.log1p(centre) - math.log1p(-centre)
    log_tail = front - math.log(a) + math.log(_continued_fraction(a, x)) - LOG_2
    return math.log1p(-math.exp(log_tail)) - log_tail


@njit(cache=True, inline="always", error_model="numpy")
def _log_gamma_ratio(a):  # pragma: no cover: compiled
    """log Γ(a + 1/2) - log Γ(a): Stirling's series where it is exact (Tricomi & Erdélyi 1951), then recurrence."""
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

    The recurrence runs on numerators and denominators of the convergents, with one division for two of them.
    """
    last = 0.0
    value = 1.0
    m = 0.0
    top = 1.0
    top_before = 1.0
    bottom = 1.0
    bottom_before = 0.0
    while abs(value - last) > 1e-15 * value:
        odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        top_before = top + odd * top_before
        bottom_before = bottom + odd * bottom_before
        m += 1
        even = m * (0.5 - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        top = top_before + even * top
        bottom = bottom_before + even * bottom
        last = value
        value = bottom / top
        if not 1 / LARGE < abs(bottom) < LARGE:  # Only the ratios matter.
            top /= bottom
            top_before /= bottom
            bottom_before /= bottom
            bottom = 1.0
    return value
