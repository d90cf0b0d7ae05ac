"""docs/errata.md, computed from scratch each time it is written."""

from __future__ import annotations

from pathlib import Path

from papers.errata import data_dependencies, hypothesis_tests, shapr, systematic_evaluation, waka
from papers.pages import table

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"

PAPERS = {
    "Humphries et al., data dependencies": data_dependencies.errata,
    "Duddu et al., SHAPr": shapr.errata,
    "Ye et al., hypothesis tests": hypothesis_tests.errata,
    "Song & Mittal, systematic evaluation": systematic_evaluation.errata,
    "Mesana et al., WaKA": waka.errata,
}

INTRODUCTION = """# Errata of the founding papers

This page lists errors in the five papers that guestlist [reproduces](papers.md).
A table contradicts another one, the text contradicts its table or the released code, or a formula differs from its enumeration.
The errors are in the versions that we have, some of them preprints. None overturns a paper.
`python -m papers.errata page` recomputes the numbers and writes this page.
"""


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(), "utf-8")


def text() -> str:
    columns = {
        "where": lambda row: row.location,
        "printed": lambda row: row.printed,
        "correction": lambda row: row.correction,
        "consequence": lambda row: row.matters,
    }
    parts = [f"## {paper}\n\n{table(errata(), columns)}" for paper, errata in PAPERS.items()]
    return "\n".join([INTRODUCTION, *parts])
