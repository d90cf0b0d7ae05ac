"""A comparison of audits, with the words for it: a page of its own, and rows for a terminal."""

from guestlist.report.comparison.readable import Comparisons, compare

__all__ = ["Comparisons", "compare"]
