"""Rendered results: a summary for the terminal, a fragment for notebooks and one HTML page.

Every form is a function of the content of results.json, never of the table of records. To add a section of the page, add a
module (and its template) to ``sections/`` and a row to ``sections/table.py``.
"""

from guestlist.report.notebook import fragment
from guestlist.report.page import page
from guestlist.report.terminal import summary

__all__ = ["fragment", "page", "summary"]
