"""What a gate said about this audit, and by which policy."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import gate
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    gated = results.gate
    if gated is None:
        return None
    body = filled("gate.html", said=gate.lines(gated), basis=gate.basis(gated))
    return Section("gate", gate.title(gated), body)
