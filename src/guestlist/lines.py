"""Sanitising of foreign text: one line, without control characters and spreadsheet formulas."""

from __future__ import annotations

import re
import unicodedata

# These turn the direction of the text after them: a record's id could reverse the digits of our figures.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What a spreadsheet takes for the beginning of a formula, and what it takes for a number. The script of the page, page.js,
# has the same rule.
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+\-]?([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(e[+\-]?[0-9]+)?%?", re.IGNORECASE)
# Characters of what another library says.
LONGEST = 300


def single_line(text: str) -> str:
    """Return text on one line; control and direction characters become U+FFFD.

    >>> line("red\\x1b[31m\\nblue")
    'red\N{REPLACEMENT CHARACTER}[31m blue'
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _disturbs(c) else c for c in " ".join(text.split()))


def reason(error: BaseException) -> str:
    """Summarise an exception of another library: its type and the beginning of its first line.

    The lines after it may show the values of records, which are not for the log of a build.

    >>> reason(ValueError("Complex data not supported\\n[[0.125+0.j 0.5+0.j]]\\n"))
    'ValueError: Complex data not supported'
    """
    words = single_line(next(iter(str(error).strip().splitlines()), ""))
    words = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _disturbs(character: str) -> bool:
    return character in TURNING or unicodedata.category(character) in ("Cc", "Cs")


def for_spreadsheets(table):
    """A table with an apostrophe before every text, and every name of a column, that a spreadsheet would compute."""
    return table.rename(columns=_no_formula).map(_no_formula)


def _no_formula(cell):
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"
