"""Who was audited, who it was compared with, and what the numbers depend on."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.section import Section, filled


def section(results: Results) -> Section:
    body = filled(
        "provenance.html",
        name=words.name(results),
        who=results.subject,
        references=results.references,
        provenance=results.provenance,
        format=results.format,
    )
    return Section("provenance", "Provenance", body)
