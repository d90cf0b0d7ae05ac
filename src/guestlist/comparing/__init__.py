"""Audits of the same records, held against each other: readers of Results."""

from guestlist.comparing.compare import LEVELS, compared, named
from guestlist.comparing.comparison import Audited, Comparison, Comparisons, Difference, MostExposed, Moved

__all__ = [
    "LEVELS",
    "Audited",
    "Comparison",
    "Comparisons",
    "Difference",
    "MostExposed",
    "Moved",
    "compared",
    "named",
]
