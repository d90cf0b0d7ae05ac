"""How exposed each record is, beside the attacks: one file each, and a row of a table."""

from guestlist.risks.attribution import influence_functions, tracin
from guestlist.risks.bounded import Bounded
from guestlist.risks.calibration import Calibration, at_thresholds, calibration
from guestlist.risks.knn import shapr
from guestlist.risks.mu import tpr_of_mu
from guestlist.risks.score import Histogram, risk_score
from guestlist.risks.table import RISKS, Risk, risk_columns, risks_of
from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of
from guestlist.risks.worth import Worth, worth, worth_of_risks

__all__ = [
    "RISKS",
    "Bounded",
    "Calibration",
    "Histogram",
    "LeafRisk",
    "Risk",
    "Worth",
    "at_thresholds",
    "calibration",
    "influence_functions",
    "leaf_risk",
    "leaf_risk_of",
    "risk_columns",
    "risk_score",
    "risks_of",
    "shapr",
    "tpr_of_mu",
    "tracin",
    "worth",
    "worth_of_risks",
]
