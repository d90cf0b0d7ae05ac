"""Risks: measures of how exposed each record is, known to the model owner.

To add a risk, write a function ``(case) -> values`` and add a row to ``RISKS``.
"""

from guestlist.arrays.leverage import leverage
from guestlist.risks.attribution import influence_functions, tracin
from guestlist.risks.bounded import WithInterval
from guestlist.risks.calibration import (
    AtPrior,
    Calibration,
    at_prior,
    at_thresholds,
    calibration,
    calibration_at_priors,
)
from guestlist.risks.knn import shapr, shapr_of
from guestlist.risks.leave_one_out import leave_one_out
from guestlist.risks.mu import tpr_of_mu
from guestlist.risks.repeats import (
    Compared,
    PredictiveValueOverRepeats,
    compare_over_repeats,
    compare_risks,
    predictive_value_over_repeats,
)
from guestlist.risks.score import Histogram, risk_score
from guestlist.risks.steadiness import Stability, stability
from guestlist.risks.table import RECOMMENDED, RISKS, Risk, risk_columns, risks_of
from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of
from guestlist.risks.worth import PredictiveValue, predictive_value, predictive_values

__all__ = [
    "RECOMMENDED",
    "RISKS",
    "AtPrior",
    "Calibration",
    "Compared",
    "Histogram",
    "LeafRisk",
    "PredictiveValue",
    "PredictiveValueOverRepeats",
    "Risk",
    "Stability",
    "WithInterval",
    "at_prior",
    "at_thresholds",
    "calibration",
    "calibration_at_priors",
    "compare_over_repeats",
    "compare_risks",
    "influence_functions",
    "leaf_risk",
    "leaf_risk_of",
    "leave_one_out",
    "leverage",
    "predictive_value",
    "predictive_value_over_repeats",
    "predictive_values",
    "risk_columns",
    "risk_score",
    "risks_of",
    "shapr",
    "shapr_of",
    "stability",
    "tpr_of_mu",
    "tracin",
]
