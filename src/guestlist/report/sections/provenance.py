"""The audited model, its records and references, and the versions that the numbers depend on."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.section import Section, fill_template
from guestlist.report.training import attacker_phrase, privacy_guarantee


def section(results: Results) -> Section:
    """Render the provenance of the results."""
    body = fill_template(
        "provenance.html",
        name=words.model_name(results),
        who=results.subject,
        references=results.references,
        training=results.training,
        attacker=attacker_phrase(results.training),
        promise=privacy_guarantee(results.training),
        provenance=results.provenance,
        format=results.format,
    )
    return Section("provenance", "Provenance", body)
