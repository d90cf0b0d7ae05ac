"""How exposed each record is, beside the attacks: one file each, and a row of a table."""

from guestlist.risks.table import RISKS, Risk, risks_of
from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of

__all__ = ["RISKS", "LeafRisk", "Risk", "leaf_risk", "leaf_risk_of", "risks_of"]
