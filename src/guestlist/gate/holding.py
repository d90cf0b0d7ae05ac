"""An audit held against a policy, and what that gave kept with the results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from guestlist.findings.checks import undermines_verdict
from guestlist.findings.gated import Gated, OpenCheck
from guestlist.findings.results import Results
from guestlist.gate.demands import DEMANDS
from guestlist.gate.judging import evaluate_limit, limited_attacks
from guestlist.gate.policy import Policy, PolicyFile
from guestlist.store import folder_lock
from guestlist.store.files import read_json, write_json
from guestlist.store.jsonable import to_json


def evaluate_policy(results: Results, policy: Policy, attacks: tuple[str, ...] = ()) -> Gated:
    """Hold an audit against all limits and demands of a policy.

    Args:
        attacks: judge only these; by default all that were run.
    """
    against = limited_attacks(results, attacks)
    verdicts = tuple(evaluate_limit(results, limit, attacks) for limit in policy.limits)
    outcomes = [demand(results, against, policy) for demand in DEMANDS.values()]
    demands = tuple(demand for demand in outcomes if demand is not None)
    checks = open_checks(results, policy)
    passed = all(part.passed for parts in (verdicts, demands, checks) for part in parts)
    return Gated(passed, verdicts, demands, checks=checks)


def open_checks(results: Results, policy: Policy) -> tuple[OpenCheck, ...]:
    """The checks of an audit that found an issue, and those that are ignored, in their order."""
    unresolved = []
    for check in results.checks or ():
        if check.state == "ignored":
            unresolved.append(OpenCheck(check.code, check.figures, undermines=False, ignored="audit"))
        elif check.state == "issue":
            ignored = "gate" if check.code in policy.ignore else ""
            unresolved.append(OpenCheck(check.code, check.figures, undermines_verdict(check), ignored))
    return tuple(unresolved)


def evaluate_policy_file(results: Results, file: PolicyFile) -> Gated:
    """Hold an audit against the policy in a file, and say which file that was."""
    return replace(evaluate_policy(results, file.policy), policy=file.text, sha256=file.sha256)


def write_gate(folder: Path, gated: Gated) -> None:
    """Write what a gate said into the results of an audit folder; all else in them stays as it is."""
    with folder_lock(folder):  # an audit that ends meanwhile would have its results overwritten by older ones
        path = folder / "results.json"
        write_json(path, {**read_json(path), "gate": to_json(gated)})
