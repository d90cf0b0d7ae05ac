"""The page's sections about defences: Figures 1, 2, 6 and 7 and Table X."""

from __future__ import annotations

from collections.abc import Callable

from papers.markdown import table
from papers.shapr import prose, trends
from papers.shapr.cells import paper_name, percent, signed, spread
from papers.shapr.noise import ASKED, CLEAN, KNOWN, NOISY, TRAINED
from papers.shapr.published import CORRELATIONS


def _plain(figures: Callable[[dict], dict], name: str) -> Callable[[dict], str]:
    return lambda row: signed(spread(figures(row)[name]), figures(row)[name])


def _per_cent(figures: Callable[[dict], dict], name: str) -> Callable[[dict], str]:
    return lambda row: signed(percent(figures(row)[name]), figures(row)[name])


def regularisation(result: dict) -> str:
    """Figure 1."""

    def figures(row: dict) -> dict:
        return row["figures"]

    columns: dict[str, Callable] = {
        "dataset": lambda row: paper_name(row["dataset"]),
        "weight": lambda row: f"{row['weight']:g}",
        "SHAPr, all members": _plain(figures, "shapr"),
        "SHAPr, those at risk": _plain(figures, "at_risk"),
        "at risk": _per_cent(figures, "share"),
        "SHAPr, outputs": _plain(figures, "outputs"),
        "risk score": _plain(figures, "score"),
        "attack accuracy": _per_cent(figures, "attack"),
        "training": _per_cent(figures, "train"),
        "test": _per_cent(figures, "test"),
    }
    rows = result["sweep"]
    return "\n".join([prose.FIGURE_1, table(rows, columns), trends.regularisation_said(rows)])


def removal(result: dict) -> str:
    """Figure 2."""

    def after(row: dict) -> dict:
        return row["after"]

    columns: dict[str, Callable] = {
        "dataset": lambda row: paper_name(row["dataset"]),
        "removed": lambda row: f"{row['share']:.0%}, {row['by']}",
        "SHAPr before": lambda row: spread(row["before"]["shapr"]),
        "after": _plain(after, "shapr"),
        "after, not times members": lambda row: f"{trends.scaled(row):.2f}",
        "risk score before": lambda row: spread(row["before"]["score"]),
        "risk score after": _plain(after, "score"),
        "attack before": lambda row: percent(row["before"]["attack"]),
        "attack after": _per_cent(after, "attack"),
        "test after": _per_cent(after, "test"),
    }
    rows = result["sweep"]
    return "\n".join([prose.FIGURE_2, table(rows, columns), trends.removal_said(rows)])


def noise(result: dict) -> str:
    """Figures 6 and 7, Table X."""
    found = {(row["dataset"], row["size"], row["half"], row["asked"]): row["figures"] for row in result["sweep"]}
    names = list(dict.fromkeys(row["dataset"] for row in result["sweep"]))
    sizes = sorted({row["size"] for row in result["sweep"]})
    rows = [(name, size) for name in names for size in sizes]

    def figures(half: str, asked: str) -> Callable[[tuple], dict]:
        return lambda row: found[(*row, half, asked)]

    columns: dict[str, Callable] = {
        "dataset": lambda row: paper_name(row[0]),
        "noise × 255": lambda row: row[1],
        "SHAPr, noisy": _plain(figures(NOISY, TRAINED), "shapr"),
        "SHAPr, clean": _plain(figures(CLEAN, TRAINED), "shapr"),
        "risk score, noisy": _plain(figures(NOISY, TRAINED), "score"),
        "attack on noisy, as trained on": _per_cent(figures(NOISY, TRAINED), "attack"),
        "attack on noisy, as known": _per_cent(figures(NOISY, KNOWN), "attack"),
        "attack on clean": _per_cent(figures(CLEAN, TRAINED), "attack"),
        "test": _per_cent(figures(CLEAN, TRAINED), "test"),
    }
    return "\n".join([
        prose.FIGURE_6, table(rows, columns), trends.noise_said(result["sweep"]), trends.not_run(result["sweep"]),
        prose.TABLE_10, _correlations(result["correlations"], names), trends.correlations_said(result["correlations"]),
    ])  # fmt: skip


def _correlations(rows: list[dict], names: list[str]) -> str:
    found = {(row["dataset"], row["risk"], row["asked"]): row for row in rows}

    def cell(risk: str, asked: str) -> Callable[[str], str]:
        def of(name: str) -> str:
            row = found[name, risk, asked]
            return "–" if row["r"] is None else f"{row['r']:.2f} (p {row['p']:.2f}; {spread(row['each'])})"

        return of

    columns: dict[str, Callable] = {"dataset": paper_name}
    for index, (risk, said) in enumerate(trends.RISKS.items()):
        columns |= {f"{said}, {asked}": cell(risk, asked) for asked in ASKED[risk]}
        columns |= {f"{said} (paper)": lambda name, index=index: f"{CORRELATIONS[paper_name(name)][index]:.2f}"}
    return table(names, columns)
