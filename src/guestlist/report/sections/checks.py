"""Checks: issues first; the others are collapsed."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import checks
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the checks; None without checks."""
    if not results.checks:
        return None
    body = fill_template(
        "checks.html",
        shown=checks.elsewhere(results),
        beside=[row.code for row in checks.beside_answer(results)],
        folded=checks.collapsed(results),
    )
    return Section("checks", "Checks", body)
