"""The findings of an audit, in order: a new one is a file, a field of ``Results`` and a row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.case import Case
from guestlist.collecting.engines.engine import Progress
from guestlist.findings import (
    adjusted,
    agreement,
    attacks,
    beyond_blind,
    blind,
    calibrated,
    checks,
    class_gap,
    cover,
    epsilon,
    exposure,
    false_alarms,
    group_risks,
    groups,
    headline,
    hypothesis_tests,
    origin,
    persons,
    provenance,
    records,
    references,
    risk_spread,
    risks,
    sampling,
    subject,
    training,
    untested,
)
from guestlist.findings.results import Results

FINDINGS: dict[str, Callable[[Case], object]] = {
    "cover": cover.find,
    "subject": subject.find,
    "references": references.find,
    "training": training.find,
    "baseline": blind.find,
    "gain_over_baseline": beyond_blind.find,
    "adjusted": adjusted.find,
    "headline": headline.find,
    "file_holder": headline.find_file_holder,
    "outcomes": attacks.find,
    "hypothesis_tests": hypothesis_tests.find,
    "epsilon": epsilon.find,
    "agreement": agreement.find,
    "groups": groups.find,
    "file_holder_groups": groups.find_for_file_holder,
    "group_risks": group_risks.find,
    "class_gap": class_gap.find,
    "exposed": records.find,
    "exposure_summary": records.exposure_summary,
    "exposed_persons": persons.find,
    "risks": risks.find,
    "risk_distribution": risk_spread.find,
    "calibrated": calibrated.find,
    "exposure": exposure.find,
    "per_record_fpr": false_alarms.find,
    "checks": checks.find,
    "sampling": sampling.find,
    "untested": untested.find,
    "provenance": provenance.find,
    "origin": origin.find,
}


def evaluate(case: Case, scores: Mapping[str, np.ndarray], progress: Progress | None = None) -> Results:
    """Evaluate the scores of attacks against the truth; nothing is written.

    Args:
        case: the audit.
        scores: attack to (records,) scores, from :func:`guestlist.case.score`.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    case = replace(case, scores=scores)
    findings = find_all(case, progress=progress)
    return Results(**findings, records=records.as_given(case.of(records.record_table)))


def find_all(
    case: Case,
    findings: Mapping[str, Callable[[Case], object]] = FINDINGS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute every finding of a scored case, by name."""
    steps = findings.items() if progress is None else progress(findings.items(), total=len(findings))
    with one_thread():  # identical results on any number of cores; threads would mostly wait for each other
        return {name: case.of(find) for name, find in steps}
