"""How exposed each record is, beside the attacks: one file each, and a row of a table."""

from guestlist.risks.bounded import Bounded
from guestlist.risks.mu import tpr_of_mu
from guestlist.risks.table import RISKS, Risk, risks_of
from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of

__all__ = ["RISKS", "Bounded", "LeafRisk", "Risk", "leaf_risk", "leaf_risk_of", "risks_of", "tpr_of_mu"]
