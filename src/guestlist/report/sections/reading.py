"""Explanation of the terms on the page."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section:
    """Render the explanation."""
    return Section("reading", "How to read this", fill_template("reading.html"))
