"""Results for a notebook: the answer and the table of attacks, as a fragment of HTML."""

from __future__ import annotations

from guestlist.report import words
from guestlist.report.numerals import decimal, percent
from guestlist.report.templates import render
from guestlist.results import Results, from_document


def fragment(results: Results) -> str:
    """HTML without scripts, with its own styles, in the colours of the page that shows it."""
    results = from_document(results.document())
    return render("notebook.html", results=results, words=words, decimal=decimal, percent=percent)
