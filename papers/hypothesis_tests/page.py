"""docs/papers_hypothesis_tests.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev

from papers.hypothesis_tests import prose
from papers.hypothesis_tests.published import (
    AGREEMENT_MEMBERS,
    AGREEMENT_NAMES,
    AGREEMENT_NONMEMBERS,
    MNIST,
    PURCHASE100,
)
from papers.markdown import made_by, page, table
from papers.results import read

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "papers_hypothesis_tests.md"
TESTS = ("S", "P", "R", "D")


def write() -> None:
    """Write the page anew."""
    PAGE.write_text(text(), "utf-8")


def text() -> str:
    """The page, with a section for each result that is there."""
    sections = {"table1": _strengths, "table2": _agreement}
    return page(prose.INTRODUCTION, sections, _read, _made_by, prose.FIGURES, prose.DIFFERENCES)


def _read(name: str) -> dict | None:
    return read(RESULTS / f"{name}.json")


def _made_by(result: dict) -> str:
    return made_by(result, _sizes(result), ("guestlist", "numpy", "torch"))


def _strengths(result: dict) -> str:
    rows = result["strengths"]
    published = MNIST | {"location30": PURCHASE100["purchase100 Ia"]}

    def both(field: str, test: str):
        return lambda row: f"{_spread(row[field][test])} ({published[row['configuration']][test]:.3f})"

    def accuracy(field: str, theirs: str):
        return lambda row: f"{_percent(row[field])} ({published[row['configuration']][theirs]})"

    columns = {
        "configuration": lambda row: row["configuration"],
        "training accuracy": accuracy("train_accuracy", "train"),
        "test accuracy": accuracy("test_accuracy", "test"),
    }
    name = {"configuration": lambda row: row["configuration"]}
    levels = name | {"test": lambda row: row["test"]}
    levels |= {f"asked {level}": lambda row, level=level: f"{row['levels'][level]:.3f}" for level in _levels(rows)}
    realised = [
        {"configuration": row["configuration"], "test": test, "levels": row["realised_fpr"][test]}
        for row in rows
        for test in TESTS
    ]
    return "\n".join([
        prose.TABLE_1, table(rows, columns | {test: both("auc", test) for test in TESTS}),
        prose.EMPIRICAL, table(rows, name | {test: both("auc_empirical", test) for test in TESTS}),
        prose.REALISED, table(realised, levels),
    ])  # fmt: skip


def _agreement(result: dict) -> str:
    parts = [prose.TABLE_2]
    for found, how in zip(result["agreement"], ("percentiles, as in the paper", "a smooth tail"), strict=True):
        parts += [
            f"Ours, thresholds from {how}, {found['records'][0]} members and {found['records'][1]} non-members:\n"
        ]
        parts.append(_matrix(found["names"], lambda a, b, found=found: _cell(found, a, b)))
    parts += ["The paper's (Purchase100, 500 members and 500 non-members):\n", _matrix(AGREEMENT_NAMES, _theirs)]
    columns = {
        "test": lambda row: row["test"],
        "AUC on these records": lambda row: f"{row['auc']:.3f}",
        "target minus models: members, non-members": lambda row: _two(row["gap"]),
        "spread of the models": lambda row: _two(row["spread"]),
        "rank correlation with L": lambda row: _two(row["rank_correlation"]),
    }
    parts += [prose.CLOSENESS, table(result["closeness"], columns)]
    return "\n".join(parts)


def _matrix(names, cell) -> str:
    """Members above the diagonal, non-members below."""
    columns = {"": lambda row: names[row]}
    columns |= {name: lambda row, at=at: cell(row, at) for at, name in enumerate(names)}
    return table(list(range(len(names))), columns)


def _cell(found: dict, row: int, column: int) -> str:
    if row == column:
        return ""
    return f"{found['members' if column > row else 'nonmembers'][row][column]:.3f}"


def _theirs(row: int, column: int) -> str:
    if row == column:
        return ""
    figures = AGREEMENT_MEMBERS if column > row else AGREEMENT_NONMEMBERS
    return f"{figures[AGREEMENT_NAMES[min(row, column)], AGREEMENT_NAMES[max(row, column)]]:.3f}"


def _two(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _levels(rows: list[dict]) -> list[str]:
    return list(rows[0]["realised_fpr"]["S"])


def _spread(values: list[float]) -> str:
    return f"{fmean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def _percent(values: list[float]) -> str:
    return f"{100 * fmean(values):.1f}"


def _sizes(result: dict) -> str:
    return "; ".join(
        f"{name} {size['members']:,} members, {size['nonmembers']:,} non-members"
        + (f", a pool of {size['pool']:,}" if "pool" in size else "")
        for name, size in result["sizes"].items()
    ) + "."  # fmt: skip
