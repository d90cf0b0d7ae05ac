"""Results for a terminal and for a notebook."""

import io
import re
import textwrap
from typing import Any

from guestlist._findings.attacks import AttackResult
from guestlist._findings.results import Results
from guestlist._report import diagnostics, wording
from guestlist._report.next_steps import next_steps
from guestlist._report.sections.answer import verdict_texts
from guestlist._report.sections.baseline import baseline_sentence, gain_sentence, weighted_sentence
from guestlist._report.sections.epsilon import epsilon_verdict
from guestlist._report.sections.facts import detection_limits, untested_sentences
from guestlist._report.sections.groups import exposed_group_sentence, file_holder_group_sentence, small_groups_sentence
from guestlist._report.sections.headline import selection_sentence, typical_sentence, unscored_sentence
from guestlist._report.sections.hypothesis_tests import exceeded_levels_sentence
from guestlist._report.templates import render
from guestlist._report.wording import sanitize_results
from guestlist._util import decimal, interval, percent

WIDTH = 96
UNBROKEN = "\N{NO-BREAK SPACE}"  # replaces spaces within a command while lines are wrapped


def summary(results: Results) -> str:
    """Return the cover, the answer and its caveats, the metrics of every attack, the checks and what was not tested."""
    folder = results.folder
    results = sanitize_results(results)
    parts = [
        "\n".join(map(_filled, wording.cover_lines(results))),
        wording.question(results),
        *verdict_texts(results),
        _section("Before you rely on it", tuple(row.text for row in diagnostics.caveats(results))),
        "\n".join(_bullets(_context(results))),
        _section("What next?", next_steps(results, folder)),
        _table(results),
        _section("Checks", _checks(results)),
        _section("Not tested", untested_sentences(results)),
    ]
    return "\n\n".join(part if "\n" in part else _filled(part) for part in parts if part)


def _context(results: Results) -> list[str]:
    sentences = [
        baseline_sentence(results),
        gain_sentence(results),
        weighted_sentence(results),
        wording.basis_sentence(results),
        exposed_group_sentence(results),
        file_holder_group_sentence(results),
        small_groups_sentence(results),
        typical_sentence(results),
        unscored_sentence(results),
        exceeded_levels_sentence(results),
        "" if results.epsilon is None else epsilon_verdict(results.epsilon),
        *detection_limits(results),
        wording.LOWER_BOUND,
    ]
    return [sentence for sentence in sentences if sentence]


def _checks(results: Results) -> tuple[str, ...]:
    """Return the issues that are not listed next to the answer, and the codes of the other checks."""
    return tuple(filter(None, (*(row.text for row in diagnostics.elsewhere(results)), diagnostics.in_brief(results))))


def _table(results: Results) -> str:
    """Return the table of attacks, each value above its 95% interval; the headline attack is marked."""
    if not results.outcomes:
        return ""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, collapse_padding=True)
    table.add_column("attack", overflow="fold", max_width=22)
    rates = (f"TPR @\n{percent(rate.fpr)} FPR" for rate in results.outcomes[0].rates)
    for header in ("AUC", "advantage", *rates):
        table.add_column(header, justify="right", no_wrap=True)
    rows = wording.headline_names(results)
    for outcome in results.outcomes:
        mark = "  "
        if outcome.name in rows:
            mark = "* "
        # A str would be read as rich's markup, and names may hold any text.
        table.add_row(Text(mark + outcome.name), *(Text(cell) for cell in _cells(outcome)))
    output = io.StringIO()
    console = Console(
        file=output,
        width=WIDTH,
        no_color=True,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in output.getvalue().splitlines()]
    terms = "Below each value its 95% interval; TPR: share of members found; FPR: false alarms."
    if results.headline:
        legend = f"* {selection_sentence(results)} {terms}"
    else:
        legend = terms
    return "\n".join([*(line for line in lines if line), "", _filled(legend)])


def _cells(outcome: AttackResult) -> list[str]:
    values = [
        (outcome.auc, decimal),
        (outcome.advantage, decimal),
        *((rate.tpr, percent) for rate in outcome.rates),
    ]
    return [
        f"{form(estimate.value)}\n{interval(estimate, form).replace(' to ', '…').replace('%', '')}"
        for estimate, form in values
    ]


def _section(title: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return ""
    return "\n".join([title, *_bullets(lines)])


def _bullets(lines) -> list[str]:
    return [_filled(line, initial_indent="  - ", subsequent_indent="    ") for line in lines]


def _filled(text: str, **indents: str) -> str:
    """Wrap a text; a command in backticks stays on one line, so that it can be pasted."""
    unbroken = re.sub("`[^`]*`", lambda command: command.group().replace(" ", UNBROKEN), text)
    options: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False, **indents}
    return textwrap.fill(unbroken, WIDTH, **options).replace(UNBROKEN, " ")


def fragment(results: Results) -> str:
    """Return HTML without scripts, with its own styles, in the colours of the surrounding page."""
    results = sanitize_results(results)
    return render(
        "notebook.html",
        results=results,
        rows=wording.headline_names(results),
        question=wording.question(results),
        answers=verdict_texts(results),
        baseline=wording.paragraph(baseline_sentence(results), gain_sentence(results), weighted_sentence(results)),
        basis=wording.paragraph(
            wording.basis_sentence(results),
            exposed_group_sentence(results),
            file_holder_group_sentence(results),
            small_groups_sentence(results),
            unscored_sentence(results),
        ),
        chosen=selection_sentence(results),
        limits=detection_limits(results),
        lower_bound=wording.LOWER_BOUND,
        caveats=diagnostics.caveats(results),
        steps=next_steps(results),
        checks=diagnostics.elsewhere(results),
        in_brief=diagnostics.in_brief(results),
    )
