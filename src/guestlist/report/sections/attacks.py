"""The table of all attacks."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    if not results.outcomes:
        return None
    first = results.headline.name if results.headline else ""
    return Section("attacks", "All attacks", filled("attacks.html", outcomes=results.outcomes, headline=first))
