"""A section on membership privacy for a model card: facts that a reader of the card can weigh. It names no member."""

from __future__ import annotations

from guestlist.exports.markdown import beside, cover, plain, promised, table
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.legible import sanitize_results
from guestlist.report.sections.answer import verdict_texts
from guestlist.report.sections.untested import untested_sentences

LOWER_BOUND = "These numbers are a lower bound: a stronger attack may identify more records."


def model_card(results: Results) -> str:
    """Write the model card section: question, result, method and limits."""
    results = sanitize_results(results)
    versions = {} if results.provenance is None else results.provenance.versions
    made = f"Audited with guestlist {plain(versions['guestlist'])}." if "guestlist" in versions else ""
    first, *others = verdict_texts(results)
    parts = [
        "## Membership privacy",
        cover(results),
        f"**{plain(words.question(results))}** {plain(first)}",
        *(plain(text) for text in others),
        beside(results),
        plain(promised(results)),
        plain(words.basis_sentence(results)),
        plain(words.fit_sentence(results)),
        table(results),
        LOWER_BOUND,
        "Not tested:",
        "\n".join(f"- {plain(line)}" for line in untested_sentences(results)),
        made,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
