"""Results for a notebook: the answer and the table of attacks, as a fragment of HTML."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import decimal, percent
from guestlist.report.legible import legible
from guestlist.report.templates import render


def fragment(results: Results) -> str:
    """HTML without scripts, with its own styles, in the colours of the page that shows it."""
    results = legible(results)
    return render("notebook.html", results=results, words=words, decimal=decimal, percent=percent)
