"""What the report is made of: the content of results.json, with text that cannot disturb its surroundings."""

from __future__ import annotations

from typing import TypeVar

from guestlist.findings.results import Results
from guestlist.lines import line
from guestlist.store.jsonable import from_json, to_json

T = TypeVar("T")


def sanitize_results(results: Results) -> Results:
    """The results as results.json gives them back, every text on one line and without control characters."""
    return type(results).from_document(_cleaned(results.document()))


def sanitize_value(form: type[T], value: T) -> T:
    """A value of a frozen dataclass with every text in it on one line and without control characters."""
    return from_json(form, _cleaned(to_json(value)))


def _cleaned(content):
    if isinstance(content, str):
        return line(content)
    if isinstance(content, dict):
        return {line(key): _cleaned(value) for key, value in content.items()}
    return [_cleaned(item) for item in content] if isinstance(content, list) else content
