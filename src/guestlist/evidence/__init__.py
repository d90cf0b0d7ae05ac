"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import NOTHING, Ceilings, Evidence, Models, Neighbourhood, Robustness

__all__ = ["NOTHING", "Ceilings", "Evidence", "Models", "Neighbourhood", "Robustness"]
