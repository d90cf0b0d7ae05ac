"""What a gate says, a line for each limit and each demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guestlist.findings.gated import Demand, Gated, Limit, Verdict
from guestlist.report.format import count, decimal, with_interval
from guestlist.report.legible import legible_text

MEASURES = {"auc": "AUC", "advantage": "advantage"}


@dataclass(frozen=True)
class Line:
    """One limit or demand.

    Args:
        rule: a name for tools, such as ``gate/auc``.
        asked: what must hold.
        found: what was found; where it does not hold, why that matters and what would settle it.
    """

    rule: str
    passed: bool
    asked: str
    found: str

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.asked}: {self.found}"


def told(gated: Gated) -> tuple[Line, ...]:
    """All limits, then all demands; what a user named, an attack of their own, cannot speak to a terminal."""
    gated = legible_text(Gated, gated)
    return (*map(_verdict, gated.verdicts), *map(_demand, gated.demands))


def lines(gated: Gated) -> tuple[str, ...]:
    """The same as text."""
    return tuple(map(str, told(gated)))


def verdict(one: Verdict) -> str:
    """Whether a limit holds: the value, the limit, the margin between them, and what would settle it."""
    return str(_verdict(one))


def pushed_by(one: Verdict) -> str:
    """Who pushes a figure up; empty where nobody is to be named."""
    alike = f"{count(one.tied)} members who share one score, too many to name"
    if one.pushing:
        return f"pushed by {', '.join(one.pushing)}" + (f", and then {alike}" if one.tied else "")
    return f"pushed by {alike}" if one.tied else ""


def demand(one: Demand) -> str:
    """Whether the audit has what it must have; where it has not, why that matters and what to do."""
    return str(_demand(one))


def _verdict(one: Verdict) -> Line:
    return Line(f"gate/{one.limit.measure}", one.passed, limit(one.limit), _reached(one))


def _demand(one: Demand) -> Line:
    name, passed, failed = SENTENCES[one.code]
    return Line(f"gate/{one.code}", one.passed, name, (passed if one.passed else failed)(one.figures))


def _reached(one: Verdict) -> str:
    if math.isnan(one.estimate.high):
        return f"{one.attack} has no figure for it; too few non-members, or none with a score{_least(one)}"
    found = f"{one.attack} reaches {with_interval(one.estimate)}"
    if one.passed:
        return f"{found}, the upper end {decimal(one.margin)} below the limit"
    if one.estimate.low > one.limit.most:
        return f"{found}, all of it beyond the limit, the upper end by {decimal(-one.margin)}; {_settling(one)}"
    return f"{found}, the upper end {decimal(-one.margin)} beyond the limit; {_settling(one)}"


def limit(one: Limit) -> str:
    if one.fpr is not None:
        return f"TPR at {one.fpr:g} FPR at most {one.most:g}"
    return f"{MEASURES[one.measure]} at most {one.most:g}"


def _settling(one: Verdict) -> str:
    if one.settled_by is not None:
        sizes = f"{_about(one.settled_by.members)} members and {_about(one.settled_by.nonmembers)} non-members"
        return f"at this value about {sizes} would settle it"
    if one.estimate.value >= one.limit.most:
        return "at this value no number of records would make it pass"
    return "there are too few records to say how many would settle it"


def _least(one: Verdict) -> str:
    """A rate shows itself with one expected false alarm."""
    return "" if one.limit.fpr is None else f", of which it takes at least {count(math.ceil(1 / one.limit.fpr - 1e-9))}"


def _about(number: int) -> str:
    """To two digits, and rather more: it is a guess at how an interval will shrink."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return count(math.ceil(number / unit) * unit)


Sentence = Callable[[Mapping], str]
# Code to a name, and to what is said where the demand is met and where it is not.
SENTENCES: dict[str, tuple[str, Sentence, Sentence]] = {
    "sides": (
        "no AUC below a half",
        lambda of: "none is, beyond chance",
        lambda of: (
            f"that of {of['attack']} is {decimal(of['auc'])}, its upper end {decimal(of['high'], 1)}. Were members and "
            "non-members interchanged, or is a sign inverted? Below a half no limit means anything"
        ),
    ),
    "comparison": (
        "an attack that compares with references",
        lambda of: "is among those judged",
        lambda of: _no_comparison(int(of["references"])),
    ),
    "attacks": (
        "attacks required",
        lambda of: "all were run",
        lambda of: f"{of['missing']} not run; these were: {of['ran']}",
    ),
    "records": (
        "records",
        lambda of: f"{_sides(of)}, at least {count(of['least'])} of each wanted",
        lambda of: f"{_sides(of)}, but at least {count(of['least'])} of each are wanted",
    ),
    "references": (
        "references",
        lambda of: f"{count(of['references'])}, at least {count(of['least'])} wanted",
        lambda of: (
            f"{count(of['references'])}, but at least {count(of['least'])} are wanted: guestlist collect adds some"
        ),
    ),
    "blind_baseline": (
        "blind baseline",
        lambda of: "it was run",
        lambda of: (
            "it is required, and the results hold none: it is unknown whether members can be told from non-members "
            "without the model. Run the audit again with it"
        ),
    ),
}


def _no_comparison(references: int) -> str:
    said = "none of those judged does" if references else "none was run, as there are no references"
    return (
        f"{said}, and such attacks find far more. Train references and judge all attacks, or say --without-references"
    )


def _sides(of: Mapping) -> str:
    return f"{count(of['members'])} members and {count(of['nonmembers'])} non-members"


def title(gated: Gated) -> str:
    return f"The gate: {'passed' if gated.passed else 'not passed'}"


def basis(gated: Gated) -> str:
    """By which policy, told by its hash."""
    return f"Held against a policy file with SHA-256 {gated.sha256}." if gated.sha256 else ""
