"""Results for a terminal: the answer in words, then the table of attacks."""

from __future__ import annotations

import io
import textwrap

from guestlist.findings.results import AttackResult, Results
from guestlist.report import promises, words
from guestlist.report.format import decimal, interval, percent
from guestlist.report.legible import legible

WIDTH = 96


def summary(results: Results) -> str:
    """The answer, the figures of every attack with their intervals, notices, and what was not tested."""
    results = legible(results)
    parts = [
        words.question(results),
        words.answer(results),
        "\n".join(_bullets(_context(results))),
        _table(results),
        _section("Notices", results.notices),
        _section("Not tested", results.untested),
    ]
    return "\n\n".join(part if "\n" in part else _filled(part) for part in parts if part)


def _context(results: Results) -> list[str]:
    maybe = [words.exposed_group(results), words.recipe(results), words.unscored(results), promises.broken(results)]
    return [
        words.basis(results),
        *(said for said in maybe if said),
        *words.limits(results),
        words.LOWER_BOUND,
    ]


def _table(results: Results) -> str:
    """The attacks, each value above its 95% interval; the headline attack is marked."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, collapse_padding=True)
    table.add_column("attack", overflow="fold", max_width=22)
    heads = ["AUC", "advantage", *(f"TPR @\n{percent(rate.fpr)} FPR" for rate in results.findings[0].rates)]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for finding in results.findings:
        mark = "* " if finding.name == results.headline else "  "
        # Text, not str: names are not to be read as rich's markup.
        table.add_row(Text(mark + finding.name), *(Text(cell) for cell in _cells(finding)))
    console = Console(
        file=io.StringIO(),
        width=WIDTH,
        no_color=True,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    terms = "Below each value its 95% interval; TPR: share of members found; FPR: false alarms."
    legend = f"* {words.chosen(results)} {terms}"
    return "\n".join([*(line for line in lines if line), "", _filled(legend)])


def _cells(finding: AttackResult) -> list[str]:
    values = [
        (finding.auc, decimal),
        (finding.advantage, decimal),
        *((rate.tpr, percent) for rate in finding.rates),
    ]
    return [
        f"{form(estimate.value)}\n{interval(estimate, form).replace(' to ', '…').replace('%', '')}"
        for estimate, form in values
    ]


def _section(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([title, *_bullets(lines)]) if lines else ""


def _bullets(lines) -> list[str]:
    return [
        textwrap.fill(line, WIDTH, break_on_hyphens=False, initial_indent="  - ", subsequent_indent="    ")
        for line in lines
    ]


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
