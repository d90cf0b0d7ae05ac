"""Origin of an audit, so that next steps name commands and calls that work."""

from __future__ import annotations

from guestlist.case import Case, Origin


def find(case: Case) -> Origin | None:
    """Return how the audit was made; None in folders of older versions and for audits within another call."""
    return case.setting.origin
