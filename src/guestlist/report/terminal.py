"""Results for a terminal: the answer, then the table of attacks."""

from __future__ import annotations

import io
import re
import textwrap
from typing import Any

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.format import decimal, interval, percent
from guestlist.report.legible import sanitize_results
from guestlist.report.next_steps import next_steps
from guestlist.report.sections.adjusted import gain_sentence, weighted_sentence
from guestlist.report.sections.answer import verdict_texts
from guestlist.report.sections.blind import baseline_sentence
from guestlist.report.sections.epsilon import epsilon_verdict
from guestlist.report.sections.groups import exposed_group_sentence, file_holder_group_sentence, small_groups_sentence
from guestlist.report.sections.headline import selection_sentence, typical_sentence, unscored_sentence
from guestlist.report.sections.hypothesis_tests import exceeded_levels_sentence
from guestlist.report.sections.limits import detection_limits
from guestlist.report.sections.untested import untested_sentences

WIDTH = 96
UNBROKEN = "\N{NO-BREAK SPACE}"  # replaces spaces within a command while lines are wrapped


def summary(results: Results) -> str:
    """Return the cover, the answer and its caveats, the metrics of every attack, the checks and what was not tested."""
    folder = results.folder
    results = sanitize_results(results)
    parts = [
        "\n".join(map(_filled, words.cover_lines(results))),
        words.question(results),
        *verdict_texts(results),
        _section("Before you rely on it", tuple(row.text for row in checks.beside_answer(results))),
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
        words.basis_sentence(results),
        exposed_group_sentence(results),
        file_holder_group_sentence(results),
        small_groups_sentence(results),
        typical_sentence(results),
        unscored_sentence(results),
        exceeded_levels_sentence(results),
        "" if results.epsilon is None else epsilon_verdict(results.epsilon),
        *detection_limits(results),
        words.LOWER_BOUND,
    ]
    return [sentence for sentence in sentences if sentence]


def _checks(results: Results) -> tuple[str, ...]:
    """Return the issues that are not listed next to the answer, and the codes of the other checks."""
    return tuple(filter(None, (*(row.text for row in checks.elsewhere(results)), checks.in_brief(results))))


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
    rows = words.headline_names(results)
    for outcome in results.outcomes:
        mark = "* " if outcome.name in rows else "  "
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
    legend = f"* {selection_sentence(results)} {terms}" if results.headline else terms
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
    return "\n".join([title, *_bullets(lines)]) if lines else ""


def _bullets(lines) -> list[str]:
    return [_filled(line, initial_indent="  - ", subsequent_indent="    ") for line in lines]


def _filled(text: str, **indents: str) -> str:
    """Wrap a text; a command in backticks stays on one line, so that it can be pasted."""
    unbroken = re.sub("`[^`]*`", lambda command: command.group().replace(" ", UNBROKEN), text)
    options: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False, **indents}
    return textwrap.fill(unbroken, WIDTH, **options).replace(UNBROKEN, " ")
