"""docs/papers_hypothesis_tests.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev

from papers.hypothesis_tests import prose
from papers.hypothesis_tests.comparison import kappa, reach
from papers.hypothesis_tests.published import (
    AGREEMENT_LEVEL,
    AGREEMENT_MEMBERS,
    AGREEMENT_NAMES,
    AGREEMENT_NONMEMBERS,
    STRENGTHS,
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
    sections = {"table1": _table1, "table4": _table4, "table2": _agreement, "figure5": _pairs}
    return page(prose.INTRODUCTION, sections, _read, _made_by, prose.FIGURES, prose.DIFFERENCES)


def _read(name: str) -> dict | None:
    return read(RESULTS / f"{name}.json")


def _made_by(result: dict) -> str:
    return made_by(result, _sizes(result), ("guestlist", "numpy", "torch"))


def _table1(result: dict) -> str:
    rows = result["strengths"]
    mnist = [row for row in rows if row["configuration"].startswith("mnist")]
    return "\n".join([prose.TABLE_1, _aucs(rows), prose.ORDER, order(mnist), prose.REALISED, _realised(rows)])


def _table4(result: dict) -> str:
    rows = result["strengths"]
    return "\n".join([prose.TABLE_4, _aucs(rows), _realised(rows)])


def _aucs(rows: list[dict]) -> str:
    """AUCs with R and D smoothed, then as bare shares."""

    def both(field: str, test: str):
        return lambda row: f"{_spread(row[field][test])} ({STRENGTHS[row['configuration']][test]:.3f})"

    def accuracy(field: str, theirs: str):
        return lambda row: f"{_percent(row[field])} ({STRENGTHS[row['configuration']][theirs]})"

    name = {"configuration": lambda row: row["configuration"]}
    columns = name | {
        "training accuracy": accuracy("train_accuracy", "train"),
        "test accuracy": accuracy("test_accuracy", "test"),
    }
    return "\n".join([
        table(rows, columns | {test: both("auc", test) for test in TESTS}),
        prose.EMPIRICAL, table(rows, name | {test: both("auc_empirical", test) for test in TESTS}),
    ])  # fmt: skip


def order(rows: list[dict]) -> str:
    """R minus D in the paper and here, and in which rows the sign is another: counted, not told."""

    def gaps(row: dict, field: str = "auc") -> list[float]:
        return [r - d for r, d in zip(row[field]["R"], row[field]["D"], strict=True)]

    def theirs(row: dict) -> float:
        return STRENGTHS[row["configuration"]]["R"] - STRENGTHS[row["configuration"]]["D"]

    def is_reversed(row: dict) -> bool:
        return fmean(gaps(row)) * theirs(row) < 0

    columns = {
        "configuration": lambda row: row["configuration"],
        "R minus D, paper": lambda row: f"{theirs(row):+.3f}",
        "ours, smoothed": lambda row: _signed(gaps(row)),
        "ours, bare shares": lambda row: _signed(gaps(row, "auc_empirical")),
        "order": lambda row: "reversed" if is_reversed(row) else "the same",
    }
    above, other = sum(theirs(row) > 0 for row in rows), [row["configuration"] for row in rows if is_reversed(row)]
    return f"{table(rows, columns)}\n" + (
        f"The paper has R above D in {above} of these {len(rows)} rows. "
        + (
            f"Ours is reversed in {len(other)} of them: {', '.join(other)}.\n"
            if other
            else "Ours has the same order.\n"
        )
    )


def _realised(rows: list[dict]) -> str:
    columns = {"configuration": lambda row: row["configuration"], "test": lambda row: row["test"]}
    columns |= {f"asked {level}": lambda row, level=level: f"{row['levels'][level]:.3f}" for level in _levels(rows)}
    realised = [
        {"configuration": row["configuration"], "test": test, "levels": row["realised_fpr"][test]}
        for row in rows
        for test in TESTS
    ]
    return table(realised, columns)


def _agreement(result: dict) -> str:
    found = result["agreement"][0]
    counts = f"{found['records'][0]} members and {found['records'][1]} non-members"
    parts = [
        prose.TABLE_2,
        f"Ours, {found['models']} models of R, of D and of L for each record, {counts}:\n",
        _matrix(found["names"], lambda a, b: _cell(found, a, b)),
        "The paper's (Purchase100, 500 members and 500 non-members):\n",
        _matrix(AGREEMENT_NAMES, lambda a, b: f"{_theirs(a, b):.3f}" if a != b else ""),
        calibration(),
        prose.KAPPA,
        _kappas(found),
        prose.CLOSENESS,
        _closeness(result["closeness"]),
        _nearer(result["nearer"]),
    ]
    return "\n".join(parts)


def calibration() -> str:
    """What the paper's own figures say of its L: counted from the table above."""
    level = AGREEMENT_LEVEL
    false_alarms, of_d = 1 - AGREEMENT_NONMEMBERS["truth", "L"], 1 - AGREEMENT_NONMEMBERS["truth", "D"]
    agreed, most = AGREEMENT_NONMEMBERS["L", "D"], reach(level, of_d)
    return (
        f"**The paper's own L is not calibrated.** At a level of {level:g} it calls {false_alarms:.2f} of the non-members "
        f"(one minus its agreement with the truth), and its D {of_d:.3f}. Two tests agree on at most one minus the "
        f"difference of their call rates. An L that kept its level would agree with that D on at most {most:.3f} of the "
        f"non-members: the {agreed:.3f} in the table is out of reach for it, whatever D is.\n"
    )


def _kappas(found: dict) -> str:
    """Kappa of L with each other test, ours and the paper's."""
    names = found["names"]
    left = names.index("L")

    def ours(side: str):
        return lambda test: _number(found[f"kappa_{side}"][left][names.index(test)])

    def paper(figures: dict, call_rate):
        rates = {test: call_rate(figures["truth", test]) for test in AGREEMENT_NAMES[1:]}
        return lambda test: _number(kappa(figures["L", test], rates["L"], rates[test]))

    columns = {
        "L with": lambda test: test,
        "members, ours": ours("members"),
        "members, paper": paper(AGREEMENT_MEMBERS, lambda share: share),
        "non-members, ours": ours("nonmembers"),
        "non-members, paper": paper(AGREEMENT_NONMEMBERS, lambda share: 1 - share),
    }
    return table(list(TESTS), columns)


def _closeness(rows: list[dict]) -> str:
    columns = {
        "test": lambda row: row["test"],
        "correlation of means": lambda row: _two(row["correlation"]),
        "rms difference of means": lambda row: _two(row["rms"]),
        "of which noise": lambda row: _two(row["noise"]),
        "spread of the models": lambda row: _two(row["spread"]),
        "AUC on these records": lambda row: "{:.2f} ({:.2f} to {:.2f})".format(*row["auc"]),
    }
    return table(rows, columns)


def _nearer(rows: list[dict]) -> str:
    said = [
        f"{row['d_nearer']} of {row['records']} {row['side']} (sign test: p = {row['p_value']:.2g})" for row in rows
    ]
    return f"D's mean is nearer to L's than R's mean is on {' and on '.join(said)}.\n"


def _pairs(result: dict) -> str:
    columns = {
        "tests": lambda row: f"{row['first']} and {row['second']}",
        "the second has the larger threshold": lambda row: f"{row['larger']:.3f}",
        "both call": lambda row: f"{row['called'][0]:.3f}",
        "the first alone": lambda row: f"{row['called'][1]:.3f}",
        "the second alone": lambda row: f"{row['called'][2]:.3f}",
        "neither": lambda row: f"{row['called'][3]:.3f}",
    }
    return "\n".join([prose.FIGURE_5, table(result["pairs"], columns)])


def _matrix(names, cell) -> str:
    """Members above the diagonal, non-members below."""
    columns = {"": lambda row: names[row]}
    columns |= {name: lambda row, at=at: cell(row, at) for at, name in enumerate(names)}
    return table(list(range(len(names))), columns)


def _cell(found: dict, row: int, column: int) -> str:
    if row == column:
        return ""
    return f"{found['members' if column > row else 'nonmembers'][row][column]:.3f}"


def _theirs(row: int, column: int) -> float:
    figures = AGREEMENT_MEMBERS if column > row else AGREEMENT_NONMEMBERS
    return figures[AGREEMENT_NAMES[min(row, column)], AGREEMENT_NAMES[max(row, column)]]


def _two(values: list[float | None]) -> str:
    return ", ".join(map(_number, values))


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.2f}"


def _signed(values: list[float]) -> str:
    return f"{fmean(values):+.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def _levels(rows: list[dict]) -> list[str]:
    return list(rows[0]["realised_fpr"]["S"])


def _spread(values: list[float]) -> str:
    return f"{fmean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def _percent(values: list[float]) -> str:
    return f"{100 * fmean(values):.1f}"


def _sizes(result: dict) -> str:
    return "; ".join(
        f"{name} {size['members']:,} members"
        + (f", {size['nonmembers']:,} non-members" if size["nonmembers"] else "")
        + (f", a pool of {size['pool']:,}" if "pool" in size else "")
        for name, size in result["sizes"].items()
    ) + "."  # fmt: skip
