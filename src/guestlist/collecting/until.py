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
    comes from the number of records stays; where only that part is left, training stops, and a notice says so.
    """

    width: float
    start: int = 16
    at_most: int = 512

    def __post_init__(self):
        if not 0 < self.width < 1:
            raise ValueError(f"Expected width={self.width} in (0, 1).")
        if not FEWEST_MOCKS <= self.start <= self.at_most:
            raise ValueError(f"Expected {FEWEST_MOCKS} <= start={self.start} <= at_most={self.at_most}.")


def grow(run: Callable[..., Results], until: UntilWidth) -> Results:
    """The results of ``run(references)`` for the first number of references that meets ``until``.

    Args:
        run: ``(references, notices=()) -> Results``; collects what is missing and evaluates.
    """
    count, before = until.start, float("inf")
    while True:
        results = run(count)
        if results.recipe is None:
            raise InputError(
                "References are added until an attack on them, as mock targets, is known well; none of these attacks can "
                "be tried on mock targets. Name one more, such as lira_bayes."
            )
        width = results.recipe.auc.high - results.recipe.auc.low
        if width <= until.width or math.isnan(width):
            return results
        stalled = width > (1 - LEAST_GAIN) * before
        if stalled or count == until.at_most:
            return run(count, [_still_wide(until, width, count, stalled)])
        count, before = min(until.at_most, int(GROWTH * count)), width


def _still_wide(until: UntilWidth, width: float, count: int, stalled: bool) -> str:
    why = "more references would hardly narrow it" if stalled else "no more were to be trained"
    return (
        f"The interval of the recipe's AUC is {width:.3f} wide with {count} references, not {until.width:g} as asked; "
        f"{why}, more members and non-members would."
    )
