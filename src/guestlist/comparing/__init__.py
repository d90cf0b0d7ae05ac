"""Audits of the same records, held against each other: readers of Results."""

from guestlist.comparing.comparison import AuditMetrics, Comparison, Comparisons, Difference, MostExposed, RiskChanges
from guestlist.comparing.whole import LEVELS, compare, short_names

__all__ = [
    "LEVELS",
    "AuditMetrics",
    "Comparison",
    "Comparisons",
    "Difference",
    "MostExposed",
    "RiskChanges",
    "compare",
    "short_names",
]
