"""Audits of the same records, held against each other: readers of Results."""

from guestlist.comparing.comparison import Audited, Comparison, Comparisons, Difference, MostExposed, Moved
from guestlist.comparing.whole import LEVELS, compare, named

__all__ = [
    "LEVELS",
    "Audited",
    "Comparison",
    "Comparisons",
    "Difference",
    "MostExposed",
    "Moved",
    "compare",
    "named",
]
