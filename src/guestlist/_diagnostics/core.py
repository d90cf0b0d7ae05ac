"""The row of a diagnostic: code, rule, message and remedy. The other modules hold the rows of one topic each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from guestlist._case import Case, CheckValue, State

Values = Mapping[str, CheckValue]  # name to a number or a text that the rule measured
MAX_CLEAR_P = 0.005  # a test with this p-value makes a gate fail: three such tests fail at most 1.5 % of sound audits
MAX_TEST_P = (
    0.02  # a test with this p-value is an issue: there are many diagnostics, and each should rarely warn by chance
)


class Outcome(NamedTuple):
    """State and measured values of a diagnostic."""

    state: State
    values: Values


NOT_RUN = Outcome("not run", {})
NOT_APPLICABLE = Outcome("not applicable", {})


def outcome(issue: bool, values: Values) -> Outcome:
    """Return the outcome of a rule that could be applied."""
    return Outcome("issue" if issue else "passed", values)


def never(values: Values) -> bool:
    """Return False for all values."""
    return False


def always(values: Values) -> bool:
    """Return True for all values."""
    return True


def clear(values: Values) -> bool:
    """Return True if the test's p-value is at most 0.005, because a test also warns by chance."""
    return float(values["p_value"]) <= MAX_CLEAR_P


@dataclass(frozen=True)
class Diagnostic:
    """One row of ``CHECKS``.

    Attributes:
        code: Stable identifier, such as ``GL104``; a heading in ``docs/checks_*.md``.
        title: Short name for people.
        message: Text of an issue: a template with the names of the values that the rule measured, or a function of them.
        remedy: Advice, from the same values or as a constant text.
        rule: Function from a case to the outcome. None: the outcome is known before there is a case, from the inputs.
        by_chance: Whether the rule is a statistical test, which also has false positives.
        changes: Whether an issue with such values changes the meaning of the audit's answer; it is then reported next to it.
        undermines: Whether the audit may have missed a leak. A gate then fails, unless the code is ignored.
    """

    code: str
    title: str
    message: Callable[[Values], str] | str
    remedy: Callable[[Values], str] | str = ""
    rule: Callable[[Case], Outcome] | None = None
    by_chance: bool = False
    changes: Callable[[Values], bool] = never
    undermines: Callable[[Values], bool] = never

    def text(self, values: Values) -> str:
        """Return the message of an issue, followed by the remedy."""
        message = self.message.format_map(values) if isinstance(self.message, str) else self.message(values)
        remedy = self.remedy if isinstance(self.remedy, str) else self.remedy(values)
        return f"{message} {remedy}".strip()
