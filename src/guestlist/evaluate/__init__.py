"""Scores and truth to numbers with intervals."""

from guestlist.evaluate.estimate import WITHHELD, Estimate

__all__ = ["WITHHELD", "Estimate"]
