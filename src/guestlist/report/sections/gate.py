"""Section on the gate: its result for this audit, and the policy."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import gate
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the result of the gate; None without one."""
    gated = results.gate
    if gated is None:
        return None
    body = fill_template("gate.html", said=gate.gate_texts(gated), basis=gate.policy_sentence(gated))
    return Section("gate", gate.gate_title(gated), body)
