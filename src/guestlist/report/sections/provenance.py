"""Who was audited, who it was compared with, and what the numbers depend on."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.section import Section, filled
from guestlist.report.training import attacker, promise


def section(results: Results) -> Section:
    body = filled(
        "provenance.html",
        name=words.name(results),
        who=results.subject,
        references=results.references,
        training=results.training,
        attacker=attacker(results.training),
        promise=promise(results.training),
        provenance=results.provenance,
        format=results.format,
    )
    return Section("provenance", "Provenance", body)
