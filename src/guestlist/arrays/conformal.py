"""How unusual a score would be for a non-member, as a p-value that needs no model of the scores."""

from __future__ import annotations

import numpy as np


def conformal_p_values(scores: np.ndarray, calibration_scores: np.ndarray) -> np.ndarray:
    """(1 + number of calibration non-members that score as high) / (n + 1), per record (Vovk et al. 2005).

    Args:
        scores: (records,) scores of the asked records.
        calibration_scores: (n,) scores of known non-members that are not asked about; NaN is left out.

    Returns:
        (records,) p-values in [1 / (n + 1), 1], small where membership is likely. For a non-member that is
        exchangeable with the calibration records, P(p <= a) <= a. NaN where the score is NaN.

    >>> conformal_p_values(np.array([2.5, 0.0]), np.array([1.0, 2.0, 3.0]))
    array([0.5, 1. ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    calibration = np.asarray(calibration_scores, dtype=np.float64)
    calibration = np.sort(calibration[~np.isnan(calibration)])
    as_high = len(calibration) - np.searchsorted(calibration, scores, "left")
    return np.where(np.isnan(scores), np.nan, (1 + as_high) / (len(calibration) + 1))
