"""Results for a terminal and for a notebook."""

import io
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from guestlist._findings.results import Results
from guestlist._report import (
    baseline_sentence,
    detection_limits,
    diagnostics,
    epsilon_verdict,
    exceeded_levels_sentence,
    prose,
    render,
    sanitize_results,
    sentences,
    typical_sentence,
    untested_sentences,
    verdict_texts,
    weighted_sentence,
    wording,
)
from guestlist._report.first_screen import first_screen
from guestlist._report.next_steps import RESOLVE, more_time_step, next_steps
from guestlist._util import decimal, interval, percent, single_line
from guestlist.metrics import Estimate

MAX_WIDTH = 96  # longer lines are hard to read
UNBROKEN = "\N{NO-BREAK SPACE}"  # replaces spaces within a command while lines are wrapped
MAX_WARNINGS = 3
MAIN_FACTS = ("Cause", "Limits")


def summary(results: Results, *, verbose: bool = False, width: int | None = None) -> str:
    """Return the verdict, its main numbers, warnings and next steps; with ``verbose``, all results.

    Args:
        results: Results of an audit.
        verbose: Include the metrics of every attack, all checks and all limits.
        width: Width in columns. By default that of the terminal, and at most 96.
    """
    if width is None:
        width = min(MAX_WIDTH, terminal_width())
    form = _all_parts if verbose else _main_parts
    parts = form(sanitize_results(results), width)
    return "\n\n".join(part if "\n" in part else _filled(part, width) for part in parts if part)


def terminal_width() -> int:
    """Return the width of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def _main_parts(results: Results, width: int) -> list[str]:
    """Return the first screen of the report as text, with the basis of the verdict."""
    screen = first_screen(results, results.folder)
    verdicts = [f"[{row.severity}] {row.who}: {row.verdict} {row.evidence}" for row in screen.attackers]
    answer = [wording.question(results), *verdicts]
    warnings = [first_sentences(row.text) for row in screen.caveats]
    more = len(warnings) - MAX_WARNINGS
    if more > 0:
        warnings[MAX_WARNINGS:] = [f"{wording.counted(more, 'more warning')} in the report."]
    facts = [f"{heading}: {screen.facts[heading]}" for heading in MAIN_FACTS if heading in screen.facts]
    if results.epsilon is not None:
        facts.append(first_sentences(epsilon_verdict(results.epsilon)))
    # The warnings above name the checks to resolve, and a command to run comes first.
    steps = sorted((step for step in screen.steps if not step.startswith(RESOLVE)), key=lambda step: "`" not in step)
    return [
        "\n".join([*(_filled(text, width) for text in answer), *(f"  {line}" for line in screen.picture)]),
        _section("Before you rely on it", warnings, width),
        "\n".join(_bullets([*facts, prose("audit.basis", results), more_time_step(results, results.folder)], width)),
        _section("What to do", [first_sentences(step) for step in steps[:1]], width),
    ]


def _all_parts(results: Results, width: int) -> list[str]:
    attackers = first_screen(results, results.folder).attackers
    return [
        "\n".join(_filled(line, width) for line in sentences("audit.cover", results.cover)),
        wording.question(results),
        *(f"[{row.severity}] {text}" for row, text in zip(attackers, verdict_texts(results), strict=True)),
        _section("Before you rely on it", [row.text for row in diagnostics.caveats(results)], width),
        "\n".join(_bullets(_context(results), width)),
        _section("What to do", next_steps(results, results.folder), width),
        _attack_table(results, width),
        _section(
            "Checks", [*(row.text for row in diagnostics.elsewhere(results)), diagnostics.in_brief(results)], width
        ),
        _section("Not tested", untested_sentences(results), width),
    ]


def first_sentences(text: str, n: int = 1) -> str:
    """Return the first sentences of a text; a full stop within a command in backticks ends none.

    >>> first_sentences("Test it: run `guestlist defend a. B`. It takes an hour.")
    'Test it: run `guestlist defend a. B`.'
    """
    sentence = r"(?:`[^`]*`|[^`])*?\.(?= [A-Z])"
    match = re.match(rf"(?:{sentence}){{{n}}}", text)
    if match is None:
        return text
    return match.group()


def _context(results: Results) -> list[str]:
    return [
        baseline_sentence(results),
        prose("baseline.gain", results.gain_over_baseline),
        weighted_sentence(results),
        prose("audit.basis", results),
        *sentences("groups.exposed", results),
        prose("groups.too_small", results.group_risks, "group"),
        typical_sentence(results),
        prose("headline.unscored", results),
        exceeded_levels_sentence(results),
        "" if results.epsilon is None else epsilon_verdict(results.epsilon),
        *detection_limits(results),
        wording.LOWER_BOUND,
    ]


def _attack_table(results: Results, width: int) -> str:
    """Return the table of attacks, each value above its 95% interval; the headline attack is marked."""
    if not results.outcomes:
        return ""
    marked = wording.headline_names(results)
    rows = []
    for outcome in results.outcomes:
        estimates = {"AUC": outcome.auc, "advantage": outcome.advantage}
        cells = {"attack": outcome.name + (" *" if outcome.name in marked else "")}
        cells |= {name: _above_interval(estimate, decimal) for name, estimate in estimates.items()}
        cells |= {f"TPR @\n{percent(rate.fpr)} FPR": _above_interval(rate.tpr, percent) for rate in outcome.rates}
        rows.append(cells)
    legend = "Below each value is its 95% interval. TPR: share of members identified; FPR: share of non-members wrongly flagged."
    if results.headline:
        legend = f"* {prose('headline.selection', results)} {legend}"
    return f"{text_table(rows, width=width, drop=('advantage',))}\n\n{_filled(legend, width)}"


def _above_interval(estimate: Estimate, form: Callable[..., str]) -> str:
    return f"{form(estimate.value)}\n{interval(estimate, form).replace(' to ', '…').replace('%', '')}"


PROSE = 30  # a column with longer cells is text, which may be wrapped
MIN_PROSE = 20


def text_table(rows: Sequence[Mapping[str, object]], *, width: int, drop: Iterable[str] = ()) -> str:
    """Return rows as a table that fits a width; whole columns are omitted rather than cut, and named below.

    Args:
        rows: Rows by column name. The first column is always kept.
        width: Width in columns.
        drop: Columns to omit first, in this order; then columns are omitted from the right.
    """
    cells = [{name: _safe(cell) for name, cell in row.items()} for row in rows]
    names = list(cells[0])
    widths = {name: max(_width(_safe(name)), *(_width(row[name]) for row in cells)) for name in names}
    least = {name: MIN_PROSE if _is_text(name, cells) else widths[name] for name in names}
    candidates = [*drop, *reversed(names[1:])]
    omitted = []
    while sum(least[name] + 2 for name in names) - 2 > width and len(names) > 1:
        omitted.append(next(name for name in candidates if name in names))
        names.remove(omitted[-1])
    table = _rendered(names, cells, width)
    if not omitted:
        return table
    left_out = ", ".join(" ".join(name.split()) for name in widths if name in omitted)
    return f"{table}\n{_filled(f'Columns that do not fit here: {left_out}. Widen the terminal or set COLUMNS.', width)}"


def _rendered(names: list[str], rows: list[dict[str, str]], width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        right = all(re.fullmatch(r"[-+–\d.,%…()\s]*|n/a", row[name]) for row in rows)
        # A str would be read as rich's markup, and names may hold any text.
        table.add_column(
            Text(_safe(name)),
            justify="right" if right else "left",
            no_wrap=not _is_text(name, rows),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(row[name]) for name in names))
    output = io.StringIO()
    Console(
        file=output, width=width, no_color=True, color_system=None, force_terminal=False, legacy_windows=False
    ).print(table)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines() if line.strip())


def _safe(cell: object) -> str:
    """Return a cell on one line, or on two where it has a value above its interval, without control characters."""
    return "\n".join(single_line(line) for line in str(cell).split("\n", 1))


def _width(cell: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, cell.split("\n")))


def _is_text(name: str, rows: list[dict[str, str]]) -> bool:
    return any(_width(row[name]) > PROSE for row in rows)


def _section(title: str, lines: Iterable[str], width: int) -> str:
    bullets = _bullets(lines, width)
    if not bullets:
        return ""
    return "\n".join([title, *bullets])


def _bullets(lines: Iterable[str], width: int) -> list[str]:
    return [_filled(line, width, initial_indent="  - ", subsequent_indent="    ") for line in lines if line]


def _filled(text: str, width: int, **indents: str) -> str:
    """Wrap a text; a command in backticks stays on one line, so that it can be pasted."""
    unbroken = re.sub("`[^`]*`", lambda command: command.group().replace(" ", UNBROKEN), text)
    options: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False, **indents}
    return textwrap.fill(unbroken, width, **options).replace(UNBROKEN, " ")


def fragment(results: Results) -> str:
    """Return the first screen and the attacks as HTML without scripts, in the colours of the surrounding page."""
    results = sanitize_results(results)
    return render(
        "notebook.html",
        results=results,
        screen=first_screen(results, results.folder),
        rows=wording.headline_names(results),
        question=wording.question(results),
        answers=verdict_texts(results),
        basis=wording.paragraph(
            prose("audit.basis", results),
            *sentences("groups.exposed", results),
            prose("groups.too_small", results.group_risks, "group"),
            prose("headline.unscored", results),
        ),
        details=wording.paragraph(
            "95% confidence intervals.",
            prose("headline.selection", results),
            *detection_limits(results),
            wording.LOWER_BOUND,
            *(row.text for row in diagnostics.elsewhere(results)),
            diagnostics.in_brief(results),
        ),
    )
