"""What can be collected about a target beyond what ordinary references say, one file per kind."""

from guestlist.evidence.views import (
    LIVE,
    NOTHING,
    Ceilings,
    Evidence,
    FullAnswers,
    Leaves,
    Models,
    Neighbourhood,
    Robustness,
    WhiteBox,
)

__all__ = [
    "LIVE",
    "NOTHING",
    "Ceilings",
    "Evidence",
    "FullAnswers",
    "Leaves",
    "Models",
    "Neighbourhood",
    "Robustness",
    "WhiteBox",
]
