"""docs/papers_systematic_evaluation.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from pathlib import Path


PAGE = Path(__file__).parents[2] / "docs" / "papers_systematic_evaluation.md"


def write() -> None:
    pass
