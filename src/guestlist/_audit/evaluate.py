"""The findings of an audit, in order: a new one is a file, a field of ``Results`` and a row here."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from guestlist._case import Case, Scores, with_progress
from guestlist._collect import Progress
from guestlist._diagnostics import table
from guestlist._findings import (
    Results,
    attacks,
    baseline,
    epsilon,
    exposure,
    facts,
    groups,
    headline,
    hypothesis_tests,
    records,
    risk_distribution,
)
from guestlist._util import one_thread


def _cover(case: Case) -> object:
    """Return the title, owner, data, purpose and date that the user stated, if any."""
    return case.setting.cover


def _baseline(case: Case) -> object:
    """Return the performance of the model-free baseline; None if it was not run."""
    return case.baseline


def _origin(case: Case) -> object:
    """Return how the audit was run, for the commands in the next steps."""
    return case.setting.origin


FINDINGS: dict[str, Callable[[Case], object]] = {
    "cover": _cover,
    "subject": facts.find_subject,
    "references": facts.find_references,
    "training": facts.find_training,
    "baseline": _baseline,
    "gain_over_baseline": baseline.find_gain,
    "adjusted": baseline.find_adjusted,
    "headline": headline.find,
    "file_holder": headline.find_file_holder,
    "outcomes": attacks.find,
    "hypothesis_tests": hypothesis_tests.find_hypothesis_tests,
    "epsilon": epsilon.find,
    "agreement": attacks.find_agreement,
    "groups": groups.find,
    "file_holder_groups": groups.find_for_file_holder,
    "group_risks": groups.find_group_risks,
    "class_gap": groups.find_class_gap,
    "exposed": records.find,
    "exposure_summary": records.exposure_summary,
    "exposed_persons": exposure.find_persons,
    "risks": facts.find_risks,
    "risk_distribution": risk_distribution.find_risk_distribution,
    "calibrated": risk_distribution.find_calibrated,
    "exposure": exposure.find_exposure,
    "per_record_fpr": hypothesis_tests.find_per_record_fpr,
    "checks": table.find,
    "sampling": headline.find_sampling,
    "untested": facts.find_untested,
    "provenance": facts.find_provenance,
    "origin": _origin,
}


def evaluate(case: Case, scores: Scores, progress: Progress | None = None) -> Results:
    """Evaluate the scores of attacks against the truth; nothing is written.

    Args:
        case: the audit.
        scores: from :func:`guestlist._case.score`.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    case = replace(case, scores=scores)
    return Results(**find_all(case, progress=progress), records=records.as_given(case.of(records.record_table)))


def find_all(
    case: Case,
    findings: Mapping[str, Callable[[Case], object]] = FINDINGS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute every finding of a scored case, by name."""
    with one_thread():  # identical results on any number of cores; more threads would not be faster
        return {name: case.of(find) for name, find in with_progress(findings.items(), progress)}
