"""As many references as it takes: train until an interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from guestlist.errors import InputError
from guestlist.findings.headline import FEWEST_MOCKS
from guestlist.findings.results import Results

GROWTH = 1.5
# Where half as many references again narrow the interval by less than this share, what is left comes from the records.
LEAST_GAIN = 0.03


@dataclass(frozen=True)
class UntilWidth:
    """Train references until the interval of the recipe's AUC is this narrow, or there are ``at_most`` of them.

    The interval that more references narrow is that of the recipe: a fresh model, on fresh records. The part of it that
    comes from the number of records stays; where only that part is left, training stops, and a check (GL111) says so.
    """

    width: float
    start: int = 16
    at_most: int = 512

    def __post_init__(self):
        if not 0 < self.width < 1:
            raise ValueError(f"Expected width={self.width} in (0, 1).")
        if not FEWEST_MOCKS <= self.start <= self.at_most:
            raise ValueError(f"Expected {FEWEST_MOCKS} <= start={self.start} <= at_most={self.at_most}.")


def grow(run: Callable[[int], Results], until: UntilWidth) -> Results:
    """The results of ``run(references)`` for the first number of references that meets ``until``.

    Args:
        run: ``(references) -> Results``; collects what is missing and evaluates.
    """
    count, before = until.start, float("inf")
    while True:
        results = run(count)
        place = results.headline.same_recipe if results.headline else None
        if place is None:
            raise InputError(
                "References are added until an attack on them, as mock targets, is known well; none of these attacks can "
                "be tried on mock targets. Name one more, such as lira_bayes."
            )
        width = place.auc.high - place.auc.low
        if width <= until.width or math.isnan(width):
            return results
        stalled = width > (1 - LEAST_GAIN) * before
        if stalled or count == until.at_most:
            return results  # a check says that the interval is still wide
        count, before = min(until.at_most, int(GROWTH * count)), width
