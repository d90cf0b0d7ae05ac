"""How exposed each record is, beside the attacks: one file each, and a row of a table."""

from guestlist.risks.bounded import Bounded
from guestlist.risks.calibration import (
    AtPrior,
    Calibration,
    at_prior,
    at_thresholds,
    calibration,
    calibration_at_priors,
)
from guestlist.risks.knn import shapr
from guestlist.risks.mu import tpr_of_mu
from guestlist.risks.repeats import Compared, WorthOverRepeats, compare_over_repeats, compare_risks, worth_over_repeats
from guestlist.risks.score import Histogram, risk_score
from guestlist.risks.table import RISKS, Risk, risk_columns, risks_of
from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of
from guestlist.risks.worth import Worth, worth, worth_of_risks

__all__ = [
    "RISKS",
    "AtPrior",
    "Bounded",
    "Calibration",
    "Compared",
    "Histogram",
    "LeafRisk",
    "Risk",
    "Worth",
    "WorthOverRepeats",
    "at_prior",
    "at_thresholds",
    "calibration",
    "calibration_at_priors",
    "compare_over_repeats",
    "compare_risks",
    "leaf_risk",
    "leaf_risk_of",
    "risk_columns",
    "risk_score",
    "risks_of",
    "shapr",
    "tpr_of_mu",
    "worth",
    "worth_of_risks",
    "worth_over_repeats",
]
