"""Numbers as text: counts, shares and intervals, written alike in every form of the report."""

from __future__ import annotations

import math

from guestlist.evaluate import Estimate

NOTHING = "–"  # stands where a number is withheld or cannot be computed
ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29


def count(number: float) -> str:
    """A number of things: ``12,000``."""
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """A share in per cent, to three digits, never 100 or 0 unless it is: ``0.1%``.

    >>> percent(0.9999), percent(1.0), percent(0.02134)
    ('99.99%', '100%', '2.13%')
    """
    if math.isnan(share):
        return NOTHING
    value = 100 * share
    digits = next(d for d in (3, 4, 5, 6, 12) if d == 12 or (float(f"{value:.{d}g}") < 100) == (value < 100))
    return f"{value:.{digits}g}%"


def decimal(value: float) -> str:
    """Three decimals: ``0.716``."""
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def tiny(value: float) -> str:
    """A p-value or a score, to three digits, with as many zeros as that takes."""
    if math.isnan(value):
        return NOTHING
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def interval(estimate: Estimate, form=decimal) -> str:
    """The ends of an interval: ``0.690 to 0.741``; nothing where the estimate is withheld."""
    if math.isnan(estimate.value):
        return ""
    return f"{form(estimate.low)} to {form(estimate.high)}"


def with_interval(estimate: Estimate, form=decimal) -> str:
    """The value and its interval: ``0.716 (0.690 to 0.741)``."""
    if math.isnan(estimate.value):
        return NOTHING
    return f"{form(estimate.value)} ({interval(estimate, form)})"


def per(estimate: Estimate, *, beside: float = 1.0) -> int:
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


def ends(estimate: Estimate, people: int) -> tuple[int, int]:
    """The interval in people, rounded outwards: it must not claim more than was measured."""
    return math.floor(estimate.low * people + ROUNDING), math.ceil(estimate.high * people - ROUNDING)
