"""What the report is made of: the content of results.json, with text that cannot disturb its surroundings."""

from __future__ import annotations

import unicodedata
from typing import TypeVar

from guestlist.findings.results import Results, from_document
from guestlist.store.jsonable import from_json, to_json

T = TypeVar("T")

# These turn the direction of the text after them: a record's id could reverse the digits of our figures.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def legible(results: Results) -> Results:
    """The results as results.json gives them back, every text on one line and without control characters."""
    return from_document(_cleaned(results.document()), type(results))


def legible_text(form: type[T], value: T) -> T:
    """A value of a frozen dataclass with every text in it on one line and without control characters."""
    return from_json(form, _cleaned(to_json(value)))


def line(text: str) -> str:
    """Text on one line; what speaks to a terminal or turns the direction of writing becomes U+FFFD.

    >>> line("red\\x1b[31m\\nblue")
    'red\N{REPLACEMENT CHARACTER}[31m blue'
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _disturbs(c) else c for c in " ".join(text.split()))


def _disturbs(character: str) -> bool:
    return character in TURNING or unicodedata.category(character) in ("Cc", "Cs")


def _cleaned(content):
    if isinstance(content, str):
        return line(content)
    if isinstance(content, dict):
        return {line(key): _cleaned(value) for key, value in content.items()}
    return [_cleaned(item) for item in content] if isinstance(content, list) else content
