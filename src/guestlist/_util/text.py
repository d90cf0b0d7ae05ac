"""Text: sanitise it for printing, and format numbers; digests of bytes."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guestlist.metrics import Estimate

MAX_CHOICES = 8  # longer lists in an error hide the name that was meant


def close_matches(name: object, choices: Iterable[str]) -> str:
    """List the choices for an error: all of a short list, or those closest to a misspelt name.

    >>> close_matches("lyra", ["lira", "loss", "rmia"])
    'lira, loss, rmia'
    """
    names = list(choices)
    if len(names) <= MAX_CHOICES:
        return ", ".join(names) or "none"
    closest = difflib.get_close_matches(str(name), names, n=3, cutoff=0.3) or names[:3]
    return f"{', '.join(closest)} and {len(names) - len(closest)} others"


# Characters that reverse the direction of text: a record's id could reverse the digits of a number.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Text that a spreadsheet reads as a formula, and as a number. The page's script, page.js, has the same rule.
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+\-]?([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(e[+\-]?[0-9]+)?%?", re.IGNORECASE)
STYLE = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal
# Maximum number of characters of another library's message.
LONGEST = 300


def single_line(text: str) -> str:
    """Return text on one line; control and direction characters become U+FFFD.

    >>> single_line("red\\x1b[31m\\nblue")
    'red\N{REPLACEMENT CHARACTER}[31m blue'
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if c in TURNING or unicodedata.category(c) in ("Cc", "Cs") else c
        for c in " ".join(text.split())
    )


def reason(error: BaseException) -> str:
    """Summarise an exception of another library: its type and the beginning of its first line.

    Later lines may contain values of records, which must not appear in a build log.

    >>> reason(ValueError("Complex data not supported\\n[[0.125+0.j 0.5+0.j]]\\n"))
    'ValueError: Complex data not supported'
    """
    words = single_line(STYLE.sub("", next(iter(str(error).strip().splitlines()), "")))
    if len(words) > LONGEST:
        words = f"{words[: LONGEST - 1]}…"
    if words:
        return f"{type(error).__name__}: {words}"
    return type(error).__name__


def for_spreadsheets(table):
    """Return a table with an apostrophe before every text and column name that a spreadsheet would evaluate."""
    return table.rename(columns=_no_formula).map(_no_formula)


def _no_formula(cell):
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


NO_NUMBER = "–"  # replaces a number that is withheld or cannot be computed
NumberFormat = Callable[..., str]  # arguments: a number and, for an end of an interval, the side to which it is rounded
ROUNDING = 1e-9  # tolerance for floats: 0.29 * 100 is 28.999999999999996


def count(number: float) -> str:
    """Format a number of things: ``12,000``."""
    return f"{number:,.0f}"


def percent(share: float | str, side: int = 0) -> str:
    """Format a share to three digits, as 0% or 100% only if it is exactly that: ``0.1%``.

    Args:
        share: Number between 0 and 1.
        side: Direction of rounding: down (-1), up (1) or to the nearest (0).

    >>> percent(0.9999), percent(1.0), percent(0.02134), percent(0.02134, 1)
    ('99.99%', '100%', '2.13%', '2.14%')
    """
    share = float(share)
    if math.isnan(share):
        return NO_NUMBER
    value = 100 * share
    for digits in (3, 4, 5, 6):
        rounded = _to_side(value, digits - _digits_before(value), side)
        if (rounded < 100) == (value < 100):
            return f"{rounded:.{digits}g}%"
    return f"{value:.12g}%"


def decimal(value: float | str, side: int = 0) -> str:
    """Format a number with three decimals: ``0.716``; rounded down (-1), up (1) or to the nearest (0)."""
    value = float(value)
    if math.isnan(value):
        return NO_NUMBER
    return f"{_to_side(value, 3, side):.3f}"


def _to_side(value: float, decimals: int, side: int) -> float:
    """Round to a number of decimals: at or below the value (-1), at or above it (1), or nearest to it (0)."""
    if side == 0 or not math.isfinite(value):
        return round(value, decimals)
    scale = 10.0 ** min(decimals, 300)  # larger powers overflow a float
    scaled = value * scale
    rounded = math.floor(scaled + ROUNDING) if side < 0 else math.ceil(scaled - ROUNDING)
    return rounded / scale + 0.0  # the sum turns -0.0 into 0.0


def _digits_before(value: float) -> int:
    """Count digits before the decimal point; below 0.1, zeros behind it count negatively."""
    if value == 0 or not math.isfinite(value):
        return 1
    return 1 + math.floor(math.log10(abs(value)))


def compact(value: float | str) -> str:
    """Format a p-value or a score to three significant digits."""
    value = float(value)
    if math.isnan(value):
        return NO_NUMBER
    if abs(value) >= 1e-4 or value == 0:
        return f"{value:.3g}"
    return f"{value:.1e}"


def duration(seconds: float) -> str:
    """Format a duration: ``40 s``, ``12 min``, ``3.5 h``.

    >>> duration(40), duration(700), duration(12_600)
    ('40 s', '12 min', '3.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def interval(estimate: Estimate, form: NumberFormat = decimal) -> str:
    """Format the ends of an interval, rounded outwards: ``0.690 to 0.741``; empty if the estimate is withheld."""
    if math.isnan(estimate.value):
        return ""
    return f"{form(estimate.low, -1)} to {form(estimate.high, 1)}"


def with_interval(estimate: Estimate, form: NumberFormat = decimal) -> str:
    """Format a value and its interval: ``0.716 (0.690 to 0.741)``."""
    if math.isnan(estimate.value):
        return NO_NUMBER
    return f"{form(estimate.value)} ({interval(estimate, form)})"


def people_base(estimate: Estimate, *, guess: float = 1.0) -> int:
    """Choose the base ("in 100") at which the estimate, its ends and ``guess`` are whole numbers of people.

    >>> from guestlist.metrics import Estimate
    >>> people_base(Estimate(0.6, 0.55, 0.64)), people_base(Estimate(0.021, 0.004, 0.07), guess=0.001)
    (100, 1000)
    """
    smallest = min(share for share in (estimate.low, estimate.high, guess) if share > 0)
    for people in (100, 1000, 10_000):
        wide = (estimate.high - estimate.low) * people >= 2
        if wide and smallest * people >= 1 - ROUNDING and (estimate.low == 0 or estimate.low * people >= 2):
            return people
    if smallest < 1e-4:
        return 100_000
    return 10_000


def interval_in_people(estimate: Estimate, people: int) -> tuple[int, int]:
    """Return the ends of an interval as numbers of people, rounded outwards."""
    return math.floor(estimate.low * people + ROUNDING), math.ceil(estimate.high * people - ROUNDING)


def format_bytes(count: float) -> str:
    """Format a number of bytes with a unit.

    >>> format_bytes(3_000_000), format_bytes(146 * 2**40)
    ('2.86 MiB', '146 TiB')
    """
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
    at = 0 if count < 1 else min(len(units) - 1, int(math.log2(count) // 10))
    return f"{count / 1024**at:.3g} {units[at]}"


def joined_digest(*parts: bytes) -> str:
    """Return the SHA-256 digest of the parts joined together, without their lengths; for one file that of ``sha256sum``."""
    return hashlib.sha256(b"".join(parts)).hexdigest()
