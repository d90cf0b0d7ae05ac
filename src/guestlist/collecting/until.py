"""As many references as it takes: train until an interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from guestlist.arguments import number, whole
from guestlist.errors import InputError

# With fewer references than this, mock targets have too few of their own to tell attacks apart.
FEWEST_MOCKS = 8
GROWTH = 1.5
# Where half as many references again narrow the interval by less than this share, what is left comes from the records.
LEAST_GAIN = 0.03

NO_MOCKS = (
    "References are added until an attack on them, as mock targets, is known well; none of these attacks can be tried on "
    "mock targets. Name one more, such as lira_bayes."
)

T = TypeVar("T")


@dataclass(frozen=True)
class UntilWidth:
    """Train references until the interval of the recipe's AUC is this narrow, or there are ``at_most`` of them.

    The interval that more references narrow is that of the recipe: a fresh model, on fresh records. The part of it that
    comes from the number of records stays; where only that part is left, training stops, and a check says so.
    """

    width: float
    start: int = 16
    at_most: int = 512

    def __post_init__(self):
        number("width", self.width, 0, 1)
        whole("start", self.start)
        whole("at_most", self.at_most)
        if not FEWEST_MOCKS <= self.start <= self.at_most:
            raise ValueError(f"Expected {FEWEST_MOCKS} <= start={self.start} <= at_most={self.at_most}.")


def grow_references(run: Callable[[int], T], width_of: Callable[[T], float | None], until: UntilWidth) -> T:
    """What ``run(references)`` gives for the first number of references that meets ``until``.

    Args:
        run: collects what is missing and evaluates.
        width_of: of the interval in what ``run`` gives; None where no attack could be tried on mock targets.
    """
    count, before = until.start, float("inf")
    while True:
        found = run(count)
        width = width_of(found)
        if width is None:
            raise InputError(NO_MOCKS)
        stalled = width > (1 - LEAST_GAIN) * before
        if width <= until.width or math.isnan(width) or stalled or count == until.at_most:
            return found
        count, before = min(until.at_most, int(GROWTH * count)), width
