"""Rounding of published numbers."""

from __future__ import annotations

import numpy as np


def six_digits(values: np.ndarray) -> tuple[float, ...]:
    """Round values to six significant digits; no chart resolves more.

    >>> six_digits(np.array([1 / 3, 0.0, 123456.5]))
    (0.333333, 0.0, 123456.0)
    """
    return tuple(float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64).tolist())
