"""The text of a gate: a line for each limit, each demand and each open check."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guestlist._findings.results import Demand, Gated, Limit, OpenCheck, Verdict
from guestlist._report import diagnostics, wording
from guestlist._report.wording import sanitize_value
from guestlist._util import count, decimal, with_interval

MEASURE_NAMES = {"auc": "AUC", "advantage": "advantage"}
UNDERMINED = "The audit may have missed a leak. Fix the cause, or accept it with --ignore {code} (policy key: ignore)."


@dataclass(frozen=True)
class GateLine:
    """One limit, demand or open check.

    Args:
        rule: Name for tools, such as ``gate/auc``.
        passed: True if it does not fail the gate.
        requirement: Condition that must hold.
        result: Observed value; for a failure, also why it matters and what would settle it.
        open: True for a check that found an issue.
        ignored: True for a check that the user chose to ignore.
    """

    rule: str
    passed: bool
    requirement: str
    result: str
    open: bool = False
    ignored: bool = False

    def __str__(self) -> str:
        return f"{self.state}  {self.requirement}: {self.result}"

    @property
    def state(self) -> str:
        """``pass``, ``FAIL``, ``note`` for a check that does not fail the gate, or ``skip`` for one that is ignored."""
        if self.ignored:
            return "skip"
        if self.open and self.passed:
            return "note"
        if self.passed:
            return "pass"
        return "FAIL"


def gate_lines(gated: Gated) -> tuple[GateLine, ...]:
    """Return all limits, demands and open checks, in this order; text of users is sanitized."""
    gated = sanitize_value(Gated, gated)
    return (*map(_verdict, gated.verdicts), *map(_demand, gated.demands), *map(_check, gated.checks))


def gate_texts(gated: Gated) -> tuple[str, ...]:
    """Return :func:`gate_lines` as text."""
    return tuple(map(str, gate_lines(gated)))


def limit_text(verdict: Verdict) -> str:
    """Report whether a limit holds: the value, the limit, the margin and what would settle it."""
    return str(_verdict(verdict))


def drivers_phrase(verdict: Verdict) -> str:
    """Name the members that contribute most to a metric; empty where there are none."""
    drivers = []
    if verdict.drivers:
        drivers.append(", ".join(verdict.drivers))
    if verdict.tied:
        drivers.append(f"{count(verdict.tied)} members who share one score, too many to name")
    if not drivers:
        return ""
    return f"pushed by {', and then '.join(drivers)}"


def demand_text(demand: Demand) -> str:
    """Report whether the audit meets a demand; if not, why that matters and what to do."""
    return str(_demand(demand))


def open_check_text(check: OpenCheck) -> str:
    """Report an open check, and how to ignore it where it fails the gate."""
    return str(_check(check))


def _check(check: OpenCheck) -> GateLine:
    if check.ignored == "audit":  # the audit may not have run it
        result = "ignored by the audit"
    else:
        result = diagnostics.sentence_of(check.code, check.values)
    if check.ignored == "gate":
        result = f"ignored by name. {result}"
    if not check.passed:
        result = f"{result} {UNDERMINED.format(code=check.code)}"
    name = f"{check.code} {diagnostics.check_title(check.code)}".strip()
    return GateLine(f"gate/{check.code}", check.passed, name, result, open=True, ignored=bool(check.ignored))


def _verdict(verdict: Verdict) -> GateLine:
    return GateLine(
        f"gate/{verdict.limit.measure}", verdict.passed, limit_name(verdict.limit), _compared_with_limit(verdict)
    )


def _demand(demand: Demand) -> GateLine:
    name, passed, failed = DEMAND_TEXTS[demand.code]
    if demand.passed:
        text = passed
    else:
        text = failed
    return GateLine(f"gate/{demand.code}", demand.passed, name, text(demand.values))


def _compared_with_limit(verdict: Verdict) -> str:
    limit = verdict.limit
    if math.isnan(verdict.estimate.high):
        text = f"{verdict.attack} has no figure for it; too few non-members, or none with a score"
        if limit.fpr is None:
            return text
        # An FPR can be estimated only with one expected false positive or more.
        return f"{text}, of which it takes at least {count(math.ceil(1 / limit.fpr - 1e-9))}"
    reached = f"{verdict.attack} reaches {with_interval(verdict.estimate)}"
    if verdict.passed:
        return f"{reached}, the upper end {decimal(verdict.margin)} below the limit"
    excess = decimal(-verdict.margin)
    if verdict.estimate.low > limit.maximum:
        return f"{reached}, all of it beyond the limit, the upper end by {excess}; {_sample_size_advice(verdict)}"
    return f"{reached}, the upper end {excess} beyond the limit; {_sample_size_advice(verdict)}"


def limit_name(limit: Limit) -> str:
    """Return a limit as text: ``AUC at most 0.6``."""
    if limit.fpr is None:
        measure = MEASURE_NAMES[limit.measure]
    else:
        measure = f"TPR at {limit.fpr:g} FPR"
    return f"{measure} at most {limit.maximum:g}"


def _sample_size_advice(verdict: Verdict) -> str:
    if verdict.sample_size_needed is not None:
        members = _about(verdict.sample_size_needed.members)
        nonmembers = _about(verdict.sample_size_needed.nonmembers)
        return f"at this value about {members} members and {nonmembers} non-members would settle it"
    if verdict.estimate.value >= verdict.limit.maximum:
        return "at this value no number of records would make it pass"
    return "there are too few records to say how many would settle it"


def _about(number: int) -> str:
    """Round up to two digits, since the sample size is an estimate."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return count(math.ceil(number / unit) * unit)


Sentence = Callable[[Mapping], str]
# Code to a name, and to the text for a demand that is met and for one that is not.
DEMAND_TEXTS: dict[str, tuple[str, Sentence, Sentence]] = {
    "sides": (
        "no AUC below 0.5",
        lambda numbers: "none is, beyond chance",
        lambda numbers: (
            f"that of {numbers['attack']} is {decimal(numbers['auc'])}, its upper end {decimal(numbers['high'], 1)} (corrected "
            "for the number of attacks). Check whether members and non-members were interchanged, or a sign inverted: an AUC "
            "below 0.5 keeps every limit, whatever leaks. To accept it, pass --ignore GL112 (policy key: ignore)"
        ),
    ),
    "comparison": (
        "an attack that compares with references",
        lambda numbers: "is among those judged",
        lambda numbers: _no_comparison(int(numbers["references"])),
    ),
    "attacks": (
        "attacks required",
        lambda numbers: "all were run",
        lambda numbers: f"{numbers['missing']} not run; these were: {numbers['ran']}",
    ),
    "records": (
        "records",
        lambda numbers: f"{_sizes(numbers)}, at least {count(numbers['least'])} of each wanted",
        lambda numbers: f"{_sizes(numbers)}, but at least {count(numbers['least'])} of each are wanted",
    ),
    "references": (
        "references",
        lambda numbers: f"{count(numbers['references'])}, at least {count(numbers['least'])} wanted",
        lambda numbers: (
            f"{count(numbers['references'])}, but at least {count(numbers['least'])} are wanted: guestlist collect adds some"
        ),
    ),
    "model_free_baseline": (
        "model-free baseline",
        lambda numbers: "it was run",
        lambda numbers: (
            "it is required, and the results hold none: it is unknown whether members can be told from non-members "
            "without the model. Run the audit again with it"
        ),
    ),
}


def _no_comparison(references: int) -> str:
    reason = "none was run, as there are no references"
    if references:
        reason = "none of those judged does"
    return (
        f"{reason}, and such attacks find far more. Train references and judge all attacks, or say --without-references"
    )


def _sizes(numbers: Mapping) -> str:
    return f"{count(numbers['members'])} members and {count(numbers['nonmembers'])} non-members"


def gate_title(gated: Gated) -> str:
    """Return the heading of the section on the gate."""
    return f"The gate: {'passed' if gated.passed else 'not passed'}"


def policy_sentence(gated: Gated) -> str:
    """Name the policy file by its hash; empty without a file."""
    return wording.only_if(gated.sha256, f"Held against a policy file with SHA-256 {gated.sha256}.")
