"""Results for a notebook: the answer and the table of attacks, as a fragment of HTML."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.legible import legible
from guestlist.report.next_steps import next_steps
from guestlist.report.sections.adjusted import adjusted, beyond
from guestlist.report.sections.answer import answers
from guestlist.report.sections.blind import blind
from guestlist.report.sections.groups import exposed_group, exposed_group_of_file_holder, small_groups
from guestlist.report.sections.headline import chosen, unscored
from guestlist.report.sections.limits import limits
from guestlist.report.templates import render


def fragment(results: Results) -> str:
    """HTML without scripts, with its own styles, in the colours of the page that shows it."""
    results = legible(results)
    return render(
        "notebook.html",
        results=results,
        rows=words.row_attacks(results),
        question=words.question(results),
        answers=answers(results),
        blind=" ".join(filter(None, (blind(results), beyond(results), adjusted(results)))),
        basis=" ".join(
            filter(
                None,
                (
                    words.basis(results),
                    exposed_group(results),
                    exposed_group_of_file_holder(results),
                    small_groups(results),
                    unscored(results),
                ),
            )
        ),
        chosen=chosen(results),
        limits=limits(results),
        lower_bound=words.LOWER_BOUND,
        beside=checks.beside(results),
        steps=next_steps(results),
        checks=checks.elsewhere(results),
        in_brief=checks.in_brief(results),
    )
