"""The table of attacks: the headline and the best others; the rest is collapsed."""

from __future__ import annotations

import math

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.section import Section, fill_template

N_BEST = 3  # attacks beside the headline that are not folded


def section(results: Results) -> Section | None:
    """Render the table of attacks; None without attacks."""
    if not results.outcomes:
        return None
    rows = words.headline_names(results)
    displayed, collapsed = split_table(results.outcomes, rows)
    body = fill_template("attacks.html", shown=displayed, rest=collapsed, rows=rows, best=N_BEST)
    return Section("attacks", "Attacks", body)


def split_table(
    outcomes: tuple[AttackResult, ...], rows: tuple[str, ...]
) -> tuple[tuple[AttackResult, ...], tuple[AttackResult, ...]]:
    """Split attacks into the headline rows with the best others by AUC, and the rest.

    The rest is empty where few attacks would be in it.
    """
    first = [outcome for row in rows for outcome in outcomes if outcome.name == row]
    others = [outcome for outcome in outcomes if outcome.name not in rows]
    best = sorted(others, key=_auc, reverse=True)
    if len(others) <= N_BEST + 1:
        return (*first, *best), ()
    return (*first, *best[:N_BEST]), tuple(outcome for outcome in others if outcome not in best[:N_BEST])


def _auc(outcome: AttackResult) -> float:
    return -1.0 if math.isnan(outcome.auc.value) else outcome.auc.value
