"""Numbers that several tables share."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from guestlist.metrics import auc, roc

LOW_FPR = 0.05
SHARE = 0.1  # of the records removed to see the next layer of the onion


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Rank correlation with mid-ranks; NaN where one side is constant.

    Rounded to twelve digits first: equal values that differ in their last bit must not be ranked by it.
    """
    ranks = [rankdata(np.round(values, 12)) for values in (a, b)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(*ranks)[0, 1])


def bins(value: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows of the records in ``count`` parts of equal size, from the lowest values to the highest."""
    return np.array_split(np.argsort(np.round(value, 12), kind="stable"), count)


def binned_spearman(value: np.ndarray, rate: np.ndarray, count: int = 100) -> float:
    """Rank correlation of mean value and mean rate over percentiles of the value."""
    parts = bins(value, count)
    return spearman(*(np.array([of[rows].mean() for rows in parts]) for of in (value, rate)))


def auc_and_tpr(scores: np.ndarray, member: np.ndarray) -> tuple[float, float]:
    """AUC, and TPR at 5 % FPR on the ROC curve, whose corners straight lines join.

    K-NN scores come in lumps, and the curve crosses 5 % within one. On the line, an adversary calls a
    random part of the lump; ``tpr_at_fpr`` would call none of it.
    """
    curve = roc(scores, member)
    return auc(scores, member).value, float(np.interp(LOW_FPR, curve.fpr, curve.tpr))


def highest(value: np.ndarray, share: float = SHARE) -> np.ndarray:
    """(n,) true for the ``share`` of records with the highest values; equal values: lower rows first."""
    mask = np.zeros(len(value), dtype=bool)
    mask[np.argsort(-np.round(value, 12), kind="stable")[: round(share * len(value))]] = True
    return mask


def standard_error(values: np.ndarray) -> float:
    """Of the mean of independent repeats; NaN for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
