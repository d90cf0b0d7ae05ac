"""Adaptive number of references: train until a confidence interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from guestlist.arguments import integer, number
from guestlist.errors import InputError

# With fewer references than this, stand-in targets have too few of their own to compare attacks.
MIN_MOCKS = 8
GROWTH = 1.5
# If 1.5 times the references narrow the interval by less than this share, the remaining width comes from the records.
MIN_GAIN = 0.03

NO_MOCKS = (
    "References are added until an attack on them, as mock targets, is known well; none of these attacks can be tried on "
    "mock targets. Name one more, such as lira_bayes."
)

T = TypeVar("T")


@dataclass(frozen=True)
class UntilWidth:
    """Train references until the interval of the recipe's AUC is this narrow, or there are ``at_most`` of them.

    More references narrow the interval of the recipe: of a new model, on new records. The part of its width that comes from the
    number of records stays. If only that part remains, training stops and a check reports it.

    Args:
        width: Width of the interval to reach.
        start: Number of references to begin with.
        at_most: Largest number of references.
    """

    width: float
    start: int = 16
    at_most: int = 512

    def __post_init__(self):
        number("width", self.width, 0, 1)
        integer("start", self.start)
        integer("at_most", self.at_most)
        if not MIN_MOCKS <= self.start <= self.at_most:
            raise ValueError(f"Expected {MIN_MOCKS} <= start={self.start} <= at_most={self.at_most}.")


def grow_references(run: Callable[[int], T], width_of: Callable[[T], float | None], until: UntilWidth) -> T:
    """Return the result of ``run(references)`` for the first number of references that meets ``until``.

    Args:
        run: Collects what is missing and evaluates.
        width_of: Width of the interval in a result; None if no attack can be tried on stand-in targets.
        until: When to stop.
    """
    count = until.start
    previous = float("inf")
    while True:
        result = run(count)
        width = width_of(result)
        if width is None:
            raise InputError(NO_MOCKS)
        stalled = width > (1 - MIN_GAIN) * previous
        if width <= until.width or math.isnan(width) or stalled or count == until.at_most:
            return result
        count = min(until.at_most, int(GROWTH * count))
        previous = width
