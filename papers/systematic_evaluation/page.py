"""docs/papers_systematic_evaluation.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from pathlib import Path

from papers.markdown import made_by, page, table
from papers.systematic_evaluation import agreement, defence_page, prose, risk_page
from papers.systematic_evaluation.defence_page import spread
from papers.systematic_evaluation.published import WHITE_BOX
from papers.systematic_evaluation.results import read
from papers.systematic_evaluation.risk_figures import drawn

PAGE = Path(__file__).parents[2] / "docs" / "papers_systematic_evaluation.md"
IMAGES = PAGE.parent / "images"


def write() -> None:
    """Write the page and its figures anew."""
    PAGE.write_text(text(), "utf-8")
    for name, figure in drawn(read).items():
        (IMAGES / name).write_text(figure, "utf-8")


def text() -> str:
    """The page, with a section for each result that is there."""
    return page(prose.INTRODUCTION, SECTIONS, read, _made_by, agreement.text(read))


def _table5(result: dict) -> str:
    columns = {
        "attack": lambda row: f"`{row['attack']}`",
        "sees": lambda row: prose.SEES[row["attack"]],
        "ours": lambda row: spread(row["accuracy"], row["spread"]),
        "AUC": lambda row: f"{row['auc']:.3f}",
    }
    for dataset, figures in WHITE_BOX.items():
        columns[f"{dataset} (paper)"] = lambda row, theirs=figures: theirs[row["attack"]]
    fitted, asked = result["fitted"][0], result["outcomes"][0]["asked"]
    said = (
        f"The targets are right on {_one(fitted['train_accuracy'])} % of their members and "
        f"{_one(fitted['test_accuracy'])} % of their non-members; {asked:,} records are asked about.\n"
    )
    return "\n".join([prose.TABLE_5, said, table(result["outcomes"], columns)])


def _made_by(result: dict) -> str:
    sizes = "; ".join(
        f"{name} {size['members']:,} members, {size['nonmembers']:,} non-members"
        for name, size in result["sizes"].items()
    )
    return made_by(result, f"{sizes}.", ("guestlist", "numpy", "torch"))


def _one(value: float) -> str:
    return f"{value:.1f}"


SECTIONS = {**defence_page.SECTIONS, "table5": _table5, **risk_page.SECTIONS}
