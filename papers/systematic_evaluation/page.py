"""docs/papers_systematic_evaluation.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papers.markdown import made_by, page, table
from papers.systematic_evaluation import prose, risk_page
from papers.systematic_evaluation.published import TEXAS_ACCURACY, TEXAS_THRESHOLDS, WHITE_BOX
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
    return page(prose.INTRODUCTION, SECTIONS, read, _made_by, prose.DIFFERENCES)


def _table3(result: dict) -> str:
    models = {
        "model": lambda row: row["training"],
        "training": lambda row: _one(row["train_accuracy"]),
        "test": lambda row: _one(row["test_accuracy"]),
        "Texas100 (paper): training": lambda row: _one(TEXAS_ACCURACY[row["training"]][0]),
        "test (paper)": lambda row: _one(TEXAS_ACCURACY[row["training"]][1]),
    }
    columns = {
        "model": lambda row: row["training"],
        "references": lambda row: row["references"],
        "metric": lambda row: row["metric"],
        "one threshold": lambda row: _spread(row["single"], row["single_spread"]),
        "per class": lambda row: _spread(row["per_class"], row["per_class_spread"]),
        "gain": lambda row: _spread(row["gain"], row["gain_spread"], "+"),
        "Texas100 (paper): one, per class, gain": _texas,
    }
    return "\n".join([
        prose.TABLE_3, table(result["fitted"], models), prose.THRESHOLDS, table(result["accuracies"], columns),
    ])  # fmt: skip


def _texas(row: dict) -> str:
    single, per_class = TEXAS_THRESHOLDS[row["training"]][row["metric"]]
    return f"{single}, {per_class}, {per_class - single:+.1f}"


def _table4(result: dict) -> str:
    cells = {(row["defended"], row["attack"]): row for row in result["accuracies"]}

    def cell(attack: str) -> Callable[[bool], str]:
        return lambda defended: f"{cells[defended, attack]['accuracy']} ({cells[defended, attack]['paper']})"

    attacks = list(dict.fromkeys(attack for _, attack in cells))
    columns = {"MemGuard": lambda defended: "yes" if defended else "no"} | {f"`{name}`": cell(name) for name in attacks}
    return "\n".join([prose.TABLE_4, table([False, True], columns)])


def _table5(result: dict) -> str:
    columns = {
        "attack": lambda row: f"`{row['attack']}`",
        "sees": lambda row: prose.SEES[row["attack"]],
        "ours": lambda row: _spread(row["accuracy"], row["spread"]),
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


def _spread(mean: float, spread: float | None, sign: str = "") -> str:
    return f"{mean:{sign}.1f}" + ("" if spread is None else f" ± {spread:.1f}")


def _one(value: float) -> str:
    return f"{value:.1f}"


SECTIONS = {"table4": _table4, "table3": _table3, "table5": _table5, **risk_page.SECTIONS}
