"""Diagnostics as text, shared by every form of the report and by the warnings at the start of an audit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guestlist._case import Check
from guestlist._diagnostics.table import CHECKS, changes_answer
from guestlist._report import wording

if TYPE_CHECKING:
    from guestlist._findings import Results

ORDER = ("issue", "ignored", "not run", "not applicable", "passed")  # issues first; collapsed diagnostics last
REPORTED = ("issue", "ignored")
IGNORED = "ignored on request"


@dataclass(frozen=True)
class CheckLine:
    """One diagnostic as every form of the report shows it."""

    code: str
    name: str
    state: str
    message: str

    @property
    def text(self) -> str:
        """The diagnostic on one line: ``GL104 saturated outputs: …``."""
        return f"{self.code} {self.name}: {self.message}".replace("  ", " ")


def check_lines(results: "Results") -> tuple[CheckLine, ...]:
    """Return all diagnostics, issues first."""
    return tuple(
        sorted(
            map(_line, results.checks or ()),
            key=lambda line: ORDER.index(line.state) if line.state in ORDER else len(ORDER),
        )
    )


def reported(results: "Results") -> tuple[CheckLine, ...]:
    """Return the diagnostics that a reader must know of: issues, and those that the user chose to ignore."""
    return tuple(line for line in check_lines(results) if line.state in REPORTED)


def caveats(results: "Results") -> tuple[CheckLine, ...]:
    """Return the issues that change the meaning of the answer, except those that the answer reports itself."""
    attack = wording.headline_attack(results)
    in_answer = None
    if results.baseline is not None and results.baseline.significant:
        in_answer = "GL119"
    elif attack is not None and attack.ranks_below and not attack.beats_guessing:
        in_answer = "GL112"
    return tuple(_line(check) for check in results.checks or () if changes_answer(check) and check.code != in_answer)


def elsewhere(results: "Results") -> tuple[CheckLine, ...]:
    """Return the reported diagnostics that are not next to the answer."""
    caveat_codes = {line.code for line in caveats(results)}
    return tuple(line for line in reported(results) if line.code not in caveat_codes)


def collapsed(results: "Results") -> dict[str, list[CheckLine]]:
    """Return the diagnostics without an issue, by state."""
    by_state: dict[str, list[CheckLine]] = {}
    for line in check_lines(results):
        if line.state not in REPORTED:
            by_state.setdefault(line.state, []).append(line)
    return by_state


def in_brief(results: "Results") -> str:
    """Return the codes of the diagnostics without an issue, by state, on one line."""
    text = "; ".join(
        f"{state}: {', '.join(line.code for line in lines)}" for state, lines in collapsed(results).items()
    )
    return wording.only_if(text, f"{text[:1].upper()}{text[1:]}.")


def sentence(check: Check) -> str:
    """Return the message of an issue, and its remedy."""
    return CHECKS[check.code].text(check.values)


def sentence_of(code: str, values: Mapping) -> str:
    """Return the message of a code with values, and its remedy; ``issue`` for a code of a newer version."""
    if code not in CHECKS:
        return "issue"
    return CHECKS[code].text(values)


def check_title(code: str) -> str:
    """Return the title of a diagnostic; empty for a code of a newer version."""
    if code not in CHECKS:
        return ""
    return CHECKS[code].title


def _line(check: Check) -> CheckLine:
    message: str = check.state
    if check.state == "issue":
        message = sentence_of(check.code, check.values)
    elif check.state == "ignored":
        message = IGNORED
    return CheckLine(check.code, check_title(check.code), check.state, message)
