"""Results in Markdown: the answer, what changes it, the table of attacks, the checks. It names no member."""

from __future__ import annotations

import re

from guestlist.findings.results import Results
from guestlist.report import checks, gate, words
from guestlist.report.format import decimal, percent, with_interval
from guestlist.report.legible import sanitize_results
from guestlist.report.next_steps import next_steps
from guestlist.report.sections.answer import verdict_texts
from guestlist.report.sections.epsilon import claim_sentences
from guestlist.report.sections.groups import small_groups_sentence


def markdown(results: Results) -> str:
    """A short account for people who do not open the page."""
    results = sanitize_results(results)
    parts = [
        f"# {plain(words.question(results))}",
        cover(results),
        *(plain(text) for text in verdict_texts(results)),
        beside(results),
        plain(promised(results)),
        plain(words.basis_sentence(results)),
    ]
    parts += [plain(small_groups_sentence(results)), table(results)]
    for title, lines in (
        ("What next?", next_steps(results)),
        ("Checks", [row.text for row in checks.elsewhere(results)]),
        (
            "Gate" if results.gate is None else gate.gate_title(results.gate),
            () if results.gate is None else gate.gate_texts(results.gate),
        ),
    ):
        parts += [f"## {title}", "\n".join(f"- {plain(line)}" for line in lines)] if lines else []
    return "\n\n".join(part for part in parts if part) + "\n"


def cover(results: Results) -> str:
    """Return the entries of the cover as a list."""
    return "\n".join(f"- {plain(line)}" for line in words.cover_lines(results))


def beside(results: Results) -> str:
    """Return the sentences that qualify the verdict."""
    lines = [f"- {plain(row.text)}" for row in checks.beside_answer(results)]
    return "\n".join(["Before you rely on it:", "", *lines]) if lines else ""


def promised(results: Results) -> str:
    """Return the verdict on a claimed epsilon; empty if none is claimed."""
    return " ".join(filter(None, claim_sentences(results)))


def table(results: Results) -> str:
    """A row per attack, those of the headline rows first."""
    outcomes = results.outcomes or ()
    headline = words.headline_attack(results)
    if not outcomes or headline is None:
        return ""
    rates = [rate.fpr for rate in headline.rates]
    heads = ["attack", "AUC", *(f"TPR at {percent(fpr)} FPR" for fpr in rates)]
    rows = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    first = words.headline_names(results)
    for outcome in sorted(
        outcomes, key=lambda outcome: first.index(outcome.name) if outcome.name in first else len(first)
    ):
        name = f"**{plain(outcome.name)}**" if outcome.name in first else plain(outcome.name)
        cells = [with_interval(outcome.auc, decimal), *(with_interval(rate.tpr, percent) for rate in outcome.rates)]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def plain(text: str) -> str:
    """Text that Markdown shows as it is: what users wrote must not become markup, a link or a table's cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", text)
