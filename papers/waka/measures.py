"""Numbers that several tables share."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from guestlist.metrics import auc, roc

LOW_FPR = 0.05
SHARE = 0.1  # share of the records removed for the onion effect


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Return the rank correlation with mid-ranks; NaN if one of the two is constant.

    Values are rounded to twelve digits first, so that rounding errors do not break ties.
    """
    ranks = [rankdata(np.round(values, 12)) for values in (a, b)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(*ranks)[0, 1])


def bins(value: np.ndarray, count: int) -> list[np.ndarray]:
    """Return rows of the records in ``count`` parts of equal size, from the lowest values to the highest."""
    return np.array_split(np.argsort(np.round(value, 12), kind="stable"), count)


def binned_spearman(value: np.ndarray, rate: np.ndarray, count: int = 100) -> float:
    """Return the rank correlation of mean value and mean rate over percentiles of the value."""
    parts = bins(value, count)
    return spearman(*(np.array([values[rows].mean() for rows in parts]) for values in (value, rate)))


def auc_and_tpr(scores: np.ndarray, member: np.ndarray) -> tuple[float, float]:
    """Return the AUC, and the TPR at 5 % FPR on the interpolated ROC curve.

    K-NN scores have large groups of ties, and the curve crosses 5 % within one. Interpolation means that an adversary flags a
    random part of the group; ``tpr_at_fpr`` would flag none of it.
    """
    curve = roc(scores, member)
    return auc(scores, member).value, float(np.interp(LOW_FPR, curve.fpr, curve.tpr))


def highest(value: np.ndarray, share: float = SHARE) -> np.ndarray:
    """Return (n,) true for the ``share`` of records with the highest values; among ties, lower rows first."""
    mask = np.zeros(len(value), dtype=bool)
    mask[np.argsort(-np.round(value, 12), kind="stable")[: round(share * len(value))]] = True
    return mask


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of independent repeats; NaN for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
