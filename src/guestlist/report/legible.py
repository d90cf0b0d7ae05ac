"""Sanitized results: the content of results.json with text that cannot disturb a page or a terminal."""

from __future__ import annotations

from typing import TypeVar

from guestlist.findings.results import Results
from guestlist.lines import single_line
from guestlist.store.jsonable import from_json, to_json

T = TypeVar("T")


def sanitize_results(results: Results) -> Results:
    """Return results as results.json holds them, every text on one line and without control characters."""
    return type(results).from_document(_sanitized(results.document()))


def sanitize_value(form: type[T], value: T) -> T:
    """Return a frozen dataclass with every text in it on one line and without control characters."""
    return from_json(form, _sanitized(to_json(value)))


def _sanitized(content):
    if isinstance(content, str):
        return single_line(content)
    if isinstance(content, dict):
        return {single_line(key): _sanitized(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_sanitized(item) for item in content]
    return content
