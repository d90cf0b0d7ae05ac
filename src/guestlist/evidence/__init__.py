"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import LIVE, NOTHING, Evidence, Leaves, Models, Neighbourhood

__all__ = ["LIVE", "NOTHING", "Evidence", "Leaves", "Models", "Neighbourhood"]
