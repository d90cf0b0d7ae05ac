"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import NOTHING, Evidence, FullAnswers, Models, Neighbourhood, WhiteBox

__all__ = ["NOTHING", "Evidence", "FullAnswers", "Models", "Neighbourhood", "WhiteBox"]
