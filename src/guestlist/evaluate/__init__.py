"""Metrics of membership attacks, each with a confidence interval."""

from guestlist.arrays.conformal import conformal_p_values
from guestlist.arrays.samples import count_unscored
from guestlist.arrays.thresholds import best_threshold
from guestlist.evaluate.agreement import Agreement, agreement, flags_at_fpr, flags_at_level
from guestlist.evaluate.calibration import calibration_error
from guestlist.evaluate.calls import CrossFit, advantage, balanced_accuracy, flag_members
from guestlist.evaluate.curves import Roc, roc, roc_steps
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
from guestlist.evaluate.persons import clustered_proportion
from guestlist.evaluate.pooled import pooled_auc, pooled_tpr_at_fpr
from guestlist.evaluate.ranking import auc, auc_difference, effective_sizes, smallest_detectable_auc
from guestlist.evaluate.within_folds import auc_gain_within_folds

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
    "auc_gain_within_folds",
    "balanced_accuracy",
    "best_threshold",
    "calibration_error",
    "clustered_proportion",
    "conformal_p_values",
    "count_unscored",
    "effective_sizes",
    "flag_members",
    "flags_at_fpr",
    "flags_at_level",
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
    "roc_steps",
    "smallest_detectable_auc",
    "smallest_detectable_tpr",
    "smallest_supported_fpr",
    "threshold_at_fpr",
    "tpr_and_ppv_at_fpr",
    "tpr_at_fpr",
]
