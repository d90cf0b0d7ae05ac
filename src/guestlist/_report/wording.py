"""Numbers and sentences shared by every form of the report."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from guestlist._store import from_json, to_json
from guestlist._util import count, single_line

if TYPE_CHECKING:
    from guestlist._findings import AttackResult, Results

LOWER_BOUND = "These numbers are a lower bound: a stronger attack may identify more records."
# The two headline rows.
QUERIER = "Someone who can query the model"
FILE_HOLDER = "Someone who holds the model file"


def question(results: "Results") -> str:
    """Return the question that the audit answers."""
    return f"Can training records of {model_name(results)} be identified?"


def model_name(results: "Results") -> str:
    """Return the name of the audited model."""
    return (results.subject and results.subject.name) or "the model"


def attack_title(attack: "AttackResult") -> str:
    """Return the display name of an attack; its name if it is user-defined."""
    return attack.title or attack.name


def headline_attack(results: "Results") -> "AttackResult | None":
    """Return the headline attack; None where the results name none."""
    if results.headline is None or not results.outcomes:
        return None
    return results.attack(results.headline.name)


def file_holder_attack(results: "Results") -> "AttackResult | None":
    """Return the headline attack of someone who holds the model file; None where there is none."""
    if results.file_holder is None or not results.outcomes:
        return None
    return results.attack(results.file_holder.name)


def headline_names(results: "Results") -> tuple[str, ...]:
    """Return the names of the attacks of the headline rows."""
    return tuple(row.name for row in (results.headline, results.file_holder) if row is not None)


def counted(number: int, thing: str) -> str:
    """Return a number and a noun in the singular or plural: ``3 members``."""
    return f"{count(number)} {plural(number, thing, f'{thing}s')}"


def plural(number: int, one_form: str, many_form: str) -> str:
    """Return the form of a word or phrase that fits a number."""
    if number == 1:
        return one_form
    return many_form


def only_if(condition: object, text: str) -> str:
    """Return a part of a sentence if a condition holds, else an empty text."""
    if condition:
        return text
    return ""


def and_joined(parts: Sequence[str]) -> str:
    """Join parts of a sentence with commas and "and"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def paragraph(*sentences: str | None) -> str:
    """Join the sentences that are not empty."""
    return " ".join(filter(None, sentences))


T = TypeVar("T")


def sanitize_results(results: "Results") -> "Results":
    """Return results as results.json holds them, every text on one line and without control characters."""
    return replace(type(results).from_document(_sanitized(results.document())), folder=results.folder)


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
