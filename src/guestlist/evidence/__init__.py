"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import NOTHING, Evidence, Models, Neighbourhood

__all__ = ["NOTHING", "Evidence", "Models", "Neighbourhood"]
