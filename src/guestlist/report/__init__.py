"""Numbers to something a person reads: the answer in words, a terminal, a notebook, one HTML page.

Every form is a function of what results.json holds, never of the table of records.
"""

from guestlist.report.notebook import fragment
from guestlist.report.page import page
from guestlist.report.terminal import summary

__all__ = ["fragment", "page", "summary"]
