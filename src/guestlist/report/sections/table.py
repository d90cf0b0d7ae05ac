"""The sections of the page in order; to add one, add a module (with its template) and a row here.

First come the verdict and the exposed records, then the evidence; sections for researchers are an appendix.
"""

from __future__ import annotations

from collections.abc import Callable

from guestlist.findings.results import Results
from guestlist.report.section import Section
from guestlist.report.sections import (
    agreement,
    answer,
    attacks,
    blind,
    calibrated,
    checks,
    curves,
    epsilon,
    exposed,
    false_alarms,
    gate,
    group_risks,
    groups,
    headline,
    hypothesis_tests,
    limits,
    provenance,
    reading,
    risk_spread,
    risks,
    scores,
    untested,
)

SECTIONS: dict[str, Callable[[Results], Section | None]] = {
    "answer": answer.section,
    "baseline": blind.section,
    "gate": gate.section,
    "headline": headline.section,
    "curves": curves.section,
    "limits": limits.section,
    "groups": groups.section,
    "group_risks": group_risks.section,
    "exposed": exposed.section,
    "false_alarms": false_alarms.section,
    "epsilon": epsilon.section,
    "attacks": attacks.section,
    "checks": checks.section,
    "untested": untested.section,
    "reading": reading.section,
    "provenance": provenance.section,
    "hypothesis_tests": hypothesis_tests.section,
    "agreement": agreement.section,
    "scores": scores.section,
    "risks": risks.section,
    "risk_spread": risk_spread.section,
    "calibrated": calibrated.section,
}
