"""Scores and truth to numbers with intervals."""

from guestlist.arrays.conformal import conformal_p_values
from guestlist.arrays.samples import unscored
from guestlist.arrays.thresholds import best_threshold
from guestlist.evaluate.agreement import Agreement, agreement, calls_at_fpr, calls_at_level
from guestlist.evaluate.calls import CrossFit, advantage, balanced_accuracy, calls
from guestlist.evaluate.curves import Roc, roc
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import proportion, proportion_difference
from guestlist.evaluate.levels import rates_at_level
from guestlist.evaluate.low_fpr import (
    Resolution,
    positive_predictive_value,
    predictive_value_of,
    records_needed,
    resolution,
    roc_band,
    smallest_detectable_tpr,
    threshold_at_fpr,
    tpr_at_fpr,
)
from guestlist.evaluate.pooled import pooled_auc, pooled_tpr_at_fpr
from guestlist.evaluate.ranking import auc, auc_difference, smallest_detectable_auc

__all__ = [
    "WITHHELD",
    "Agreement",
    "CrossFit",
    "Estimate",
    "Resolution",
    "Roc",
    "advantage",
    "agreement",
    "auc",
    "auc_difference",
    "balanced_accuracy",
    "best_threshold",
    "calls",
    "calls_at_fpr",
    "calls_at_level",
    "conformal_p_values",
    "pooled_auc",
    "pooled_tpr_at_fpr",
    "positive_predictive_value",
    "predictive_value_of",
    "proportion",
    "proportion_difference",
    "rates_at_level",
    "records_needed",
    "resolution",
    "roc",
    "roc_band",
    "smallest_detectable_auc",
    "smallest_detectable_tpr",
    "threshold_at_fpr",
    "tpr_at_fpr",
    "unscored",
]
