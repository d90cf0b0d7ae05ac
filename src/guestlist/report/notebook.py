"""Results for a notebook: the answer and the table of attacks, as a fragment of HTML."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.legible import sanitize_results
from guestlist.report.next_steps import next_steps
from guestlist.report.sections.adjusted import gain_sentence, weighted_sentence
from guestlist.report.sections.answer import verdict_texts
from guestlist.report.sections.blind import baseline_sentence
from guestlist.report.sections.groups import exposed_group_sentence, file_holder_group_sentence, small_groups_sentence
from guestlist.report.sections.headline import selection_sentence, unscored_sentence
from guestlist.report.sections.limits import detection_limits
from guestlist.report.templates import render


def fragment(results: Results) -> str:
    """Return HTML without scripts, with its own styles, in the colours of the surrounding page."""
    results = sanitize_results(results)
    return render(
        "notebook.html",
        results=results,
        rows=words.headline_names(results),
        question=words.question(results),
        answers=verdict_texts(results),
        baseline=words.paragraph(baseline_sentence(results), gain_sentence(results), weighted_sentence(results)),
        basis=words.paragraph(
            words.basis_sentence(results),
            exposed_group_sentence(results),
            file_holder_group_sentence(results),
            small_groups_sentence(results),
            unscored_sentence(results),
        ),
        chosen=selection_sentence(results),
        limits=detection_limits(results),
        lower_bound=words.LOWER_BOUND,
        beside=checks.beside_answer(results),
        steps=next_steps(results),
        checks=checks.elsewhere(results),
        in_brief=checks.in_brief(results),
    )
