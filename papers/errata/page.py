"""docs/errata.md, computed anew each time it is written."""

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

Slips that we met while reproducing the five papers: in a table against another one, in the text against its table, in
a formula against its enumeration. They are facts about the texts that we have, some of them preprints; none overturns a
paper. What can be recomputed is, by `python -m papers.errata page`, which writes this page.
"""


def write() -> None:
    """Write the page anew."""
    PAGE.write_text(text(), "utf-8")


def text() -> str:
    columns = {
        "where": lambda row: row.place,
        "printed": lambda row: row.printed,
        "what we find": lambda row: row.found,
        "what follows": lambda row: row.matters,
    }
    parts = [f"## {paper}\n\n{table(errata(), columns)}" for paper, errata in PAPERS.items()]
    return "\n".join([INTRODUCTION, *parts])
