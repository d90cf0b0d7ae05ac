"""Scores and truth to numbers with intervals."""

from guestlist.arrays.conformal import conformal_p_values
from guestlist.arrays.samples import unscored
from guestlist.arrays.thresholds import best_threshold
from guestlist.evaluate.agreement import Agreement, agreement, calls_at_fpr, calls_at_level
from guestlist.evaluate.calibration import calibration_error
from guestlist.evaluate.calls import CrossFit, advantage, balanced_accuracy, calls
from guestlist.evaluate.curves import Roc, roc, steps
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import proportion, proportion_difference
from guestlist.evaluate.levels import rates_at_level
from guestlist.evaluate.low_fpr import (
    Resolution,
    positive_predictive_value,
    records_needed,
    resolution,
    roc_band,
    smallest_detectable_tpr,
    smallest_supported_fpr,
    threshold_at_fpr,
    tpr_and_ppv_at_fpr,
    tpr_at_fpr,
)
from guestlist.evaluate.persons import share
from guestlist.evaluate.pooled import pooled_auc, pooled_tpr_at_fpr
from guestlist.evaluate.ranking import auc, auc_difference, effective_sizes, smallest_detectable_auc
from guestlist.evaluate.within_folds import auc_beyond

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
    "auc_beyond",
    "auc_difference",
    "balanced_accuracy",
    "best_threshold",
    "calibration_error",
    "calls",
    "calls_at_fpr",
    "calls_at_level",
    "conformal_p_values",
    "effective_sizes",
    "pooled_auc",
    "pooled_tpr_at_fpr",
    "positive_predictive_value",
    "proportion",
    "proportion_difference",
    "rates_at_level",
    "records_needed",
    "resolution",
    "roc",
    "roc_band",
    "share",
    "smallest_detectable_auc",
    "smallest_detectable_tpr",
    "smallest_supported_fpr",
    "steps",
    "threshold_at_fpr",
    "tpr_and_ppv_at_fpr",
    "tpr_at_fpr",
    "unscored",
]
