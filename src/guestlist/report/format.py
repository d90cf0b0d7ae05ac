"""Numbers as text: counts, shares and intervals, written alike in every form of the report.

A value is rounded to the nearest and an interval outwards, in people as in per cent: it must not claim more than was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from guestlist.evaluate import Estimate

NO_NUMBER = "–"  # stands where a number is withheld or cannot be computed
NumberFormat = Callable[..., str]  # of a number and, for an end of an interval, the side to which it is rounded
ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29


def count(number: float) -> str:
    """A number of things: ``12,000``."""
    return f"{number:,.0f}"


def percent(share: float, side: int = 0) -> str:
    """A share in per cent, to three digits, never 100 or 0 unless it is: ``0.1%``; rounded down (-1), up (1) or to the nearest.

    >>> percent(0.9999), percent(1.0), percent(0.02134), percent(0.02134, 1)
    ('99.99%', '100%', '2.13%', '2.14%')
    """
    if math.isnan(share):
        return NO_NUMBER
    value = 100 * share
    for digits in (3, 4, 5, 6):
        rounded = _to_side(value, digits - _digits_before(value), side)
        if (rounded < 100) == (value < 100):
            return f"{rounded:.{digits}g}%"
    return f"{value:.12g}%"


def decimal(value: float, side: int = 0) -> str:
    """Three decimals: ``0.716``; rounded down (-1), up (1) or to the nearest."""
    return NO_NUMBER if math.isnan(value) else f"{_to_side(value, 3, side):.3f}"


def _to_side(value: float, places: int, side: int) -> float:
    """A number with so many decimals at or below it (-1), at or above it (1), or nearest to it."""
    if side == 0 or not math.isfinite(value):
        return round(value, places)
    places = min(places, 300)  # a float has no more
    scaled = value * 10.0**places
    whole = math.floor(scaled + ROUNDING) if side < 0 else math.ceil(scaled - ROUNDING)
    return whole / 10.0**places + 0.0  # and not -0.0


def _digits_before(value: float) -> int:
    """How many digits stand before the decimal point; minus the zeros behind it, of a number below 0.1."""
    return 1 + math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 1


def compact(value: float) -> str:
    """A p-value or a score, to three digits, with as many zeros as that takes."""
    if math.isnan(value):
        return NO_NUMBER
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def interval(estimate: Estimate, form: NumberFormat = decimal) -> str:
    """The ends of an interval, rounded outwards as ``ends`` are: ``0.690 to 0.741``; nothing where the estimate is withheld."""
    if math.isnan(estimate.value):
        return ""
    return f"{form(estimate.low, -1)} to {form(estimate.high, 1)}"


def with_interval(estimate: Estimate, form: NumberFormat = decimal) -> str:
    """The value and its interval: ``0.716 (0.690 to 0.741)``."""
    if math.isnan(estimate.value):
        return NO_NUMBER
    return f"{form(estimate.value)} ({interval(estimate, form)})"


def people_base(estimate: Estimate, *, beside: float = 1.0) -> int:
    """How many people to speak of, so that the estimate, its ends and ``beside`` are whole numbers of them.

    >>> per(Estimate(0.6, 0.55, 0.64)), per(Estimate(0.021, 0.004, 0.07), beside=0.001)
    (100, 1000)
    """
    fine = [share for share in (estimate.low, estimate.high, beside) if share > 0]
    for people in (100, 1000, 10_000):
        wide = (estimate.high - estimate.low) * people >= 2
        if wide and min(fine) * people >= 1 - ROUNDING and (estimate.low == 0 or estimate.low * people >= 2):
            return people
    return 100_000 if min(fine) < 1e-4 else 10_000


def interval_in_people(estimate: Estimate, people: int) -> tuple[int, int]:
    """The interval in people, rounded outwards."""
    return math.floor(estimate.low * people + ROUNDING), math.ceil(estimate.high * people - ROUNDING)
