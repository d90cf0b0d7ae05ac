"""Topics that the audit did not test."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report.section import Section, fill_template

UNTESTED_TEXTS = {
    "references": "Attacks that compare the target with reference models, which find far more; they need the model and its "
    "records.",
    "parameters": "Attackers who see the model's parameters.",
    "labels_only": "Attackers who see nothing but its labels.",
    "sources": "Whether members and non-members are different kinds of records: if they do not come from one source, an "
    "attack may tell them apart without the model.",
    "other_leakage": "Other forms of leakage: reconstructing records, inferring attributes, text or images learnt by heart.",
    "logits": "What the model says beyond its probabilities (logits).",
}


def section(results: Results) -> Section | None:
    """Render the list of untested topics; None where it is empty."""
    sentences = untested_sentences(results)
    if not sentences:
        return None
    return Section("untested", "What was not tested", fill_template("untested.html", said=sentences))


def untested_sentences(results: Results) -> tuple[str, ...]:
    """Return a sentence for each untested topic; an unknown code is returned as it is."""
    return tuple(UNTESTED_TEXTS.get(code, code) for code in results.untested or ())
