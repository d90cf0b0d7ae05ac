"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import LIVE, NOTHING, Ceilings, Evidence, Leaves, Models, Neighbourhood, Robustness

__all__ = ["LIVE", "NOTHING", "Ceilings", "Evidence", "Leaves", "Models", "Neighbourhood", "Robustness"]
