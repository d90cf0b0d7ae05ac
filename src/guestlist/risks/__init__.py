"""How exposed each record is, beside the attacks."""

from guestlist.risks.trees import LeafRisk, leaf_risk, leaf_risk_of

__all__ = ["LeafRisk", "leaf_risk", "leaf_risk_of"]
