"""Conformal p-values: how unusual a score is for a non-member, without a model of the scores."""

from __future__ import annotations

import numpy as np


def conformal_p_values(scores: np.ndarray, calibration_scores: np.ndarray) -> np.ndarray:
    """Compute conformal p-values of scores among those of known non-members (Vovk et al. 2005).

    The p-value is (1 + number of calibration non-members that score at least as high) / (n + 1).

    Args:
        scores: (records,) Scores of the evaluated records.
        calibration_scores: (n,) Scores of known non-members that are not evaluated; NaN is ignored.

    Returns:
        (records,) p-values in [1 / (n + 1), 1], small where membership is likely. For a non-member that is
        exchangeable with the calibration records, P(p <= a) <= a. NaN where the score is NaN.

    >>> conformal_p_values(np.array([2.5, 0.0]), np.array([1.0, 2.0, 3.0]))
    array([0.5, 1. ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    calibration = np.asarray(calibration_scores, dtype=np.float64)
    calibration = np.sort(calibration[~np.isnan(calibration)])
    n_at_least = len(calibration) - np.searchsorted(calibration, scores, "left")
    return np.where(np.isnan(scores), np.nan, (1 + n_at_least) / (len(calibration) + 1))
