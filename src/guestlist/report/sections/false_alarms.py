"""Distribution of false positives over records: even, or concentrated on the same records."""

from __future__ import annotations

from guestlist.findings.false_alarms import PerRecordFpr
from guestlist.findings.results import Results
from guestlist.report.format import count, percent
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render false positive rates of single records; None where they are unknown."""
    if not results.per_record_fpr:
        return None
    body = fill_template(
        "false_alarms.html",
        rows=results.per_record_fpr,
        said=[per_record_fpr_sentence(row) for row in results.per_record_fpr],
    )
    return Section("false_alarms", "Whom false alarms fall on", body)


def per_record_fpr_sentence(result: PerRecordFpr) -> str:
    """Report whether the nominal rate holds for single records."""
    start = (
        f"At a false-positive rate of {percent(result.fpr)} over all non-members, {result.attack} calls a record under "
        f"{percent(result.rate)} of the models that did not train on it, on average over {count(result.records)} records"
    )
    often = f"{result.factor:g} times as often as that rate says"
    if not result.far:
        return (
            f"{start}. No record is shown to be called more than {often}; with {count(result.models)} such models for a record, "
            "only large differences can be seen."
        )
    share = percent(result.far / result.records)
    return (
        f"{start}. {count(result.far)} of them ({share}) are shown to be called more than {often}: for these people, being "
        "called says much less than the rate promises, and for the others more."
    )
