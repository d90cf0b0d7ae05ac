"""Results for a notebook: the answer and the table of attacks, as a fragment of HTML."""

from __future__ import annotations

from guestlist.report import words
from guestlist.report.legible import legible
from guestlist.report.numerals import decimal, percent
from guestlist.report.templates import render
from guestlist.results import Results


def fragment(results: Results) -> str:
    """HTML without scripts, with its own styles, in the colours of the page that shows it."""
    results = legible(results)
    return render("notebook.html", results=results, words=words, decimal=decimal, percent=percent)
