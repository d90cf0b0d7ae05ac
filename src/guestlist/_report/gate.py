"""The text of a gate: a line for each limit, each demand and each open check; also as JUnit, SARIF and annotations."""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guestlist._findings import Demand, Gated, Limit, OpenCheck, Verdict
from guestlist._report import diagnostics, sanitize_value, wording
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
        result: Observed value; for a failure, also the reason and a remedy.
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


def drivers_phrase(verdict: Verdict) -> str:
    """Name the members that contribute most to a metric; empty where there are none."""
    tied = wording.only_if(verdict.tied, f"{count(verdict.tied)} members with the same score")
    drivers = ", and then ".join(filter(None, (", ".join(verdict.drivers), tied)))
    return wording.only_if(drivers, f"raised most by {drivers}")


def open_check_text(check: OpenCheck) -> str:
    """Report an open check, and how to ignore it where it fails the gate."""
    return str(_check(check))


def _check(check: OpenCheck) -> GateLine:
    if check.ignored == "audit":  # the audit may have skipped it
        result = "ignored by the audit"
    else:
        result = diagnostics.sentence_of(check.code, check.values)
    if check.ignored == "gate":
        result = f"ignored on request. {result}"
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
    text = passed if demand.passed else failed
    return GateLine(f"gate/{demand.code}", demand.passed, name, text(demand.values))


def _compared_with_limit(verdict: Verdict) -> str:
    limit = verdict.limit
    if math.isnan(verdict.estimate.high):
        text = f"{verdict.attack} has no estimate: too few non-members, or none with a score."
        if limit.fpr is None:
            return text
        # An FPR can be estimated only with one expected false positive or more.
        return f"{text} Use at least {count(math.ceil(1 / limit.fpr - 1e-9))} non-members."
    reached = f"{verdict.attack} {with_interval(verdict.estimate)}"
    if verdict.passed:
        return f"{reached}, upper limit {decimal(verdict.margin)} below the maximum"
    where = f"upper limit {decimal(-verdict.margin)} above the maximum"
    if verdict.estimate.low > limit.maximum:
        where = f"the whole interval above the maximum, its upper limit by {decimal(-verdict.margin)}"
    return f"{reached}, {where}. {_sample_size_advice(verdict)}"


def limit_name(limit: Limit) -> str:
    """Return a limit as text: ``AUC at most 0.6``."""
    measure = MEASURE_NAMES[limit.measure] if limit.fpr is None else f"TPR at {limit.fpr:g} FPR"
    return f"{measure} at most {limit.maximum:g}"


def _sample_size_advice(verdict: Verdict) -> str:
    needed = verdict.sample_size_needed
    if needed is not None:
        return (
            f"If the estimate stays the same, about {_about(needed.members)} members and {_about(needed.nonmembers)} "
            "non-members are enough to pass."
        )
    if verdict.estimate.value >= verdict.limit.maximum:
        return "More records will not help unless the estimate itself falls."
    return "There are too few records to estimate how many would be enough to pass."


def _about(number: int) -> str:
    """Round up to two digits, since the sample size is an estimate."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return count(math.ceil(number / unit) * unit)


Sentence = Callable[[Mapping], str]
# Code to a name, the text for a demand that is met, and the text for one that is not.
DEMAND_TEXTS: dict[str, tuple[str, Sentence, Sentence]] = {
    "sides": (
        "no AUC below 0.5",
        lambda numbers: "no attack is significantly below",
        lambda numbers: (
            f"{numbers['attack']} has AUC {decimal(numbers['auc'])}, upper limit {decimal(numbers['high'], 1)} (corrected for "
            "the number of attacks). Check whether members and non-members were interchanged, or a sign inverted: an AUC below "
            "0.5 passes every limit, whatever leaks. To accept it, use --ignore GL112 (policy key: ignore)."
        ),
    ),
    "comparison": (
        "reference-based attack",
        lambda numbers: "at least one was evaluated",
        lambda numbers: (
            (
                wording.only_if(int(numbers["references"]), "none is among the evaluated attacks")
                or "none was run, because the audit has no reference models"
            )
            + ". Such attacks identify more records. Add reference models with guestlist collect FOLDER --references 32 and "
            "evaluate all attacks, or use --without-references (policy key: without_references)."
        ),
    ),
    "attacks": (
        "required attacks",
        lambda numbers: "all were run",
        lambda numbers: (
            f"{numbers['missing']} not run (run: {numbers['ran']}). Run the audit again with these attacks, or remove them from "
            "the policy."
        ),
    ),
    "records": (
        "records",
        lambda numbers: f"{_sizes(numbers)}, at least {count(numbers['least'])} of each required",
        lambda numbers: (
            f"{_sizes(numbers)}, but at least {count(numbers['least'])} of each are required. Audit more records."
        ),
    ),
    "references": (
        "reference models",
        lambda numbers: f"{count(numbers['references'])}, at least {count(numbers['least'])} required",
        lambda numbers: (
            f"{count(numbers['references'])}, but at least {count(numbers['least'])} are required. Add them with "
            f"guestlist collect FOLDER --references {numbers['least']}."
        ),
    ),
    "model_free_baseline": (
        "model-free baseline",
        lambda numbers: "it was run",
        lambda numbers: (
            "required, but it was not run, so members and non-members may differ without the model. Run the audit again without "
            "--no-baseline (baseline=False)."
        ),
    ),
}


def _sizes(numbers: Mapping) -> str:
    return f"{count(numbers['members'])} members and {count(numbers['nonmembers'])} non-members"


def gate_title(gated: Gated) -> str:
    """Return the heading of the section on the gate."""
    return f"Gate: {'passed' if gated.passed else 'failed'}"


def policy_sentence(gated: Gated) -> str:
    """Name the policy file by its hash; empty without a file."""
    return wording.only_if(gated.sha256, f"Policy file: SHA-256 {gated.sha256}.")


SUITE = "guestlist gate"


def junit(gated: Gated) -> str:
    """Return a JUnit test for each limit, each demand and each open check; an ignored check is a skipped test."""
    from xml.etree import ElementTree  # these imports would slow down every gate

    lines = gate_lines(gated)
    counts = {
        "tests": str(len(lines)),
        "failures": str(sum(not line.passed for line in lines)),
        "skipped": str(sum(line.ignored for line in lines)),
    }
    every = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(every, "testsuite", {"name": SUITE, **counts})
    for line in lines:
        test = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=line.requirement)
        if line.ignored:
            ElementTree.SubElement(test, "skipped", message=line.result)
        elif line.passed:
            ElementTree.SubElement(test, "system-out").text = line.result
        else:
            ElementTree.SubElement(test, "failure", message=line.result)
    ElementTree.indent(every)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(every, encoding="unicode")}\n'


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(gated: Gated, path: str | Path) -> str:
    """Return SARIF with a rule for each limit, demand and open check, and a result for each that does not hold.

    Services show every result as an alert, even one of kind ``pass``, so a limit that holds has no result. An open check that
    does not fail the gate is a note, and one that is ignored is a suppressed result.

    Args:
        path: path of the results, relative to the repository: services need a location for each result.
    """
    from importlib.metadata import version
    from urllib.parse import quote

    lines = gate_lines(gated)
    demands: dict[str, list[str]] = {}
    for line in lines:
        demands.setdefault(line.rule, []).append(line.requirement)
    rules = [{"id": rule, "shortDescription": {"text": "; ".join(texts)}} for rule, texts in demands.items()]
    driver = {"name": "guestlist", "version": version("guestlist"), "rules": rules}
    uri = quote(os.fsencode(Path(path).as_posix()))
    if Path(path).is_absolute():
        uri = Path(path).as_uri()
    results = [_result(line, uri) for line in lines if line.open or not line.passed]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(line: GateLine, uri: str) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    result: dict[str, Any] = {
        "ruleId": line.rule,
        "level": "note" if line.passed else "error",
        "message": {"text": f"{line.requirement}: {line.result}"},
        "locations": [{"physicalLocation": location}],
    }
    if line.ignored:
        result["suppressions"] = [{"kind": "external", "justification": "ignored by code"}]
    return result


ANNOTATION_LEVELS = {"FAIL": "error", "note": "notice"}


def annotations(gated: Gated) -> str:
    """Return GitHub workflow commands: an error for each failed line of a gate, and a notice for each other open check."""
    lines = [line for line in gate_lines(gated) if line.state in ANNOTATION_LEVELS]
    return "".join(
        f"::{ANNOTATION_LEVELS[line.state]} title={_escaped_property(f'guestlist: {line.requirement}')}"
        f"::{_escaped_command(line.result)}\n"
        for line in lines
    )


def _escaped_command(text: str) -> str:
    """Return text that cannot end a workflow command or begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped_command(text).replace(":", "%3A").replace(",", "%2C")
