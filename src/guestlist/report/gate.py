"""The text of a gate: a line for each limit, each demand and each open check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guestlist.findings.gated import Demand, Gated, Limit, OpenCheck, Verdict
from guestlist.report import checks
from guestlist.report.format import count, decimal, with_interval
from guestlist.report.legible import sanitize_value

MEASURE_NAMES = {"auc": "AUC", "advantage": "advantage"}
UNDERMINED = "The audit may have missed a leak. Fix the cause, or accept it with --ignore {code} (policy key: ignore)."


@dataclass(frozen=True)
class GateLine:
    """One limit, demand or open check.

    Args:
        rule: a name for tools, such as ``gate/auc``.
        asked: what must hold.
        found: what was found; where it does not hold, why that matters and what would settle it.
        open: whether it is a check that found an issue.
        ignored: whether it is a check that the user chose to ignore.
    """

    rule: str
    passed: bool
    asked: str
    found: str
    open: bool = False
    ignored: bool = False

    def __str__(self) -> str:
        return f"{self.state}  {self.asked}: {self.found}"

    @property
    def state(self) -> str:
        """``pass``, ``FAIL``, ``note`` for a check that does not fail the gate, or ``skip`` for one that is ignored."""
        if self.ignored:
            return "skip"
        if self.open and self.passed:
            return "note"
        return "pass" if self.passed else "FAIL"


def gate_lines(gated: Gated) -> tuple[GateLine, ...]:
    """All limits, then all demands, then all open checks; text of users is made safe for a terminal."""
    gated = sanitize_value(Gated, gated)
    return (*map(_verdict, gated.verdicts), *map(_demand, gated.demands), *map(_check, gated.checks))


def gate_texts(gated: Gated) -> tuple[str, ...]:
    """The same as text."""
    return tuple(map(str, gate_lines(gated)))


def limit_text(one: Verdict) -> str:
    """Whether a limit holds: the value, the limit, the margin between them, and what would settle it."""
    return str(_verdict(one))


def drivers_phrase(one: Verdict) -> str:
    """Who pushes a figure up; empty where nobody is to be named."""
    alike = f"{count(one.tied)} members who share one score, too many to name"
    if one.drivers:
        return f"pushed by {', '.join(one.drivers)}" + (f", and then {alike}" if one.tied else "")
    return f"pushed by {alike}" if one.tied else ""


def demand_text(one: Demand) -> str:
    """Whether the audit has what it must have; where it has not, why that matters and what to do."""
    return str(_demand(one))


def open_check_text(one: OpenCheck) -> str:
    """An open check, and how to ignore it where it fails the gate."""
    return str(_check(one))


def _check(one: OpenCheck) -> GateLine:
    said = "ignored by the audit"  # which need not have looked
    if one.ignored != "audit":
        said = checks.sentence_of(one.code, one.figures)
    if one.ignored == "gate":
        said = f"ignored by name. {said}"
    if not one.passed:
        said = f"{said} {UNDERMINED.format(code=one.code)}"
    name = f"{one.code} {checks.name_of(one.code)}".strip()
    return GateLine(f"gate/{one.code}", one.passed, name, said, open=True, ignored=bool(one.ignored))


def _verdict(one: Verdict) -> GateLine:
    return GateLine(f"gate/{one.limit.measure}", one.passed, limit_name(one.limit), _reached(one))


def _demand(one: Demand) -> GateLine:
    name, passed, failed = DEMAND_TEXTS[one.code]
    return GateLine(f"gate/{one.code}", one.passed, name, (passed if one.passed else failed)(one.figures))


def _reached(one: Verdict) -> str:
    if math.isnan(one.estimate.high):
        return f"{one.attack} has no figure for it; too few non-members, or none with a score{_least(one)}"
    found = f"{one.attack} reaches {with_interval(one.estimate)}"
    if one.passed:
        return f"{found}, the upper end {decimal(one.margin)} below the limit"
    if one.estimate.low > one.limit.most:
        return f"{found}, all of it beyond the limit, the upper end by {decimal(-one.margin)}; {_settling(one)}"
    return f"{found}, the upper end {decimal(-one.margin)} beyond the limit; {_settling(one)}"


def limit_name(one: Limit) -> str:
    if one.fpr is not None:
        return f"TPR at {one.fpr:g} FPR at most {one.most:g}"
    return f"{MEASURE_NAMES[one.measure]} at most {one.most:g}"


def _settling(one: Verdict) -> str:
    if one.sample_size_needed is not None:
        sizes = f"{_about(one.sample_size_needed.members)} members and {_about(one.sample_size_needed.nonmembers)} non-members"
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
DEMAND_TEXTS: dict[str, tuple[str, Sentence, Sentence]] = {
    "sides": (
        "no AUC below 0.5",
        lambda of: "none is, beyond chance",
        lambda of: (
            f"that of {of['attack']} is {decimal(of['auc'])}, its upper end {decimal(of['high'], 1)} (corrected for the number "
            "of attacks). Check whether members and non-members were interchanged, or a sign inverted: an AUC below 0.5 keeps "
            "every limit, whatever leaks. To accept it, pass --ignore GL112 (policy key: ignore)"
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
    "model_free_baseline": (
        "model-free baseline",
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


def gate_title(gated: Gated) -> str:
    return f"The gate: {'passed' if gated.passed else 'not passed'}"


def policy_sentence(gated: Gated) -> str:
    """By which policy, told by its hash."""
    return f"Held against a policy file with SHA-256 {gated.sha256}." if gated.sha256 else ""
