"""Correlations with intervals, by Fisher's transformation."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, pearsonr, rankdata

from guestlist.arrays.samples import error_of
from guestlist.evaluate.estimate import WITHHELD, Estimate

MIN_CORRELATION_SIZE = 4  # with three, Fisher's interval is everything


def pearson(a: np.ndarray, b: np.ndarray, *, confidence: float = 0.95) -> Estimate:
    """Pearson's correlation with Fisher's interval (1921), which is for values that are normal together.

    Withheld where one of the two is constant, or with fewer than four values.
    """
    return _correlation_estimate(a, b, len(a), confidence, lambda: pearsonr(a, b).statistic, lambda value: 1.0)


def spearman(a: np.ndarray, b: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95) -> Estimate:
    """Spearman's rank correlation with the interval of Bonett & Wright (2000); persons count once in its width.

    Withheld where one of the two is constant, or with fewer than four records.
    """
    n = len(a) if clusters is None else len(np.unique(clusters))
    return _correlation_estimate(a, b, n, confidence, lambda: _rank_correlation(a, b), lambda value: 1 + value**2 / 2)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the statistic of ``scipy.stats.spearmanr``, without its p-value, which takes ten times as long."""
    if np.isnan(a).any() or np.isnan(b).any():
        return float("nan")
    return np.corrcoef(np.column_stack([rankdata(a), rankdata(b)]), rowvar=False)[1, 0]


def _correlation_estimate(a, b, n: int, confidence: float, correlation, variance) -> Estimate:
    """A correlation whose Fisher transform has ``variance`` over n - 3."""
    error = error_of(confidence)
    if n < MIN_CORRELATION_SIZE or is_constant(a) or is_constant(b):
        return WITHHELD
    value = float(correlation())
    # A correlation of exactly 1 in a few records is no proof of one.
    centre = np.arctanh(min(max(value, -1 + 1e-9), 1 - 1e-9))
    half = norm.isf(error / 2) * np.sqrt(variance(value) / (n - 3))
    low = np.tanh(centre - half)
    high = np.tanh(centre + half)
    return Estimate(value, min(float(low), value), max(float(high), value))


def is_constant(values: np.ndarray) -> bool:
    """Return True if values differ by rounding only."""
    if np.isfinite(values).all():
        return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())
    return len(np.unique(values)) < 2
