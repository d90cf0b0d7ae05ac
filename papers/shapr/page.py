"""docs/papers_shapr.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from papers.markdown import made_by, table
from papers.shapr import comparison, figures, prose, sections
from papers.shapr.cells import pair, paper_name, percent, signed, spread
from papers.shapr.data import SOURCES
from papers.shapr.measures import ATTACKS, EVERY_MEMBER, FIRST, LIRA, LIRA_LOW, OWN, SCORE, SCORE_SHADOW, SHADOW, SPACES
from papers.shapr.published import (
    ACCURACY,
    ATTRIBUTION,
    F1_LIRA,
    F1_MENTR,
    GROUPS,
    LEAVE_ONE_OUT,
    RECALL_LIRA,
    RECALL_MENTR,
    SECONDS,
    SECONDS_SCORE,
    Pair,
)  # fmt: skip
from papers.shapr.results import read
from papers.shapr.spread import verdict

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "papers_shapr.md"
Found = Mapping[str, dict]


def write() -> None:
    """Write the page and its figures anew."""
    PAGE.write_text(text(), "utf-8")
    for place, drawn in images().items():
        (DOCS / place).write_text(drawn, "utf-8")


def images() -> dict[str, str]:
    """The figures of those results that are there, by their place in the docs."""
    found = datasets()
    drawn = {figures.PLACE: figures.distributions(found)} if found else {}
    sweeps = {name: result for name in figures.SWEEPS if (result := read(name))}
    return drawn | {figures.place(name): figures.SWEEPS[name](result["sweep"]) for name, result in sweeps.items()}


def text() -> str:
    """The page, with a section for each result that is there."""
    found = datasets()
    parts = [prose.INTRODUCTION, prose.SETTING, _made(found)]
    if found:
        parts += [section(found) for section in SECTIONS]
    for name, section in ALONE.items():
        result = read(name)
        parts += [section(result), f"{_foot(result, SIZES[name])}\n"] if result else []
    return "\n".join([*parts, prose.DIFFERENCES, comparison.differences(found), prose.OTHERWISE])


def datasets() -> Found:
    """Name to result of every dataset that was run."""
    return {name: result for name in SOURCES if (result := read(name))}


def _effects(
    found: Found, heading: str, attack: str, score: str, measure: str, paper: Mapping[str, Pair] | None
) -> str:
    columns: dict[str, Callable] = {
        "dataset": paper_name,
        "everybody": lambda name: spread(_effect(found[name], attack, EVERY_MEMBER)[measure]),
        "risk score": lambda name: spread(_effect(found[name], attack, score)[measure]),
        "SHAPr": lambda name: spread(_effect(found[name], attack, FIRST)[measure]),
        "SHAPr is": lambda name: comparison.ours(found[name], attack, measure),
    }
    if paper:
        columns |= {
            "paper: risk score": lambda name: pair(paper[paper_name(name)][0]),
            "SHAPr (paper)": lambda name: pair(paper[paper_name(name)][1]),
            "SHAPr is (paper)": lambda name: comparison.theirs(paper[paper_name(name)]),
        }
    return "\n".join([heading, table(list(found), columns)])


def _table3(found: Found) -> str:
    return "\n".join([
        _effects(found, prose.TABLE_3, OWN, SCORE, "f1", F1_MENTR),
        _effects(found, prose.TABLE_3_SHADOW, SHADOW, SCORE_SHADOW, "f1", None),
    ])  # fmt: skip


def _table4(found: Found) -> str:
    return "\n".join([
        _effects(found, prose.TABLE_4, LIRA, SCORE, "f1", F1_LIRA),
        _effects(found, prose.TABLE_4_LOW, LIRA_LOW, SCORE, "f1", None),
    ])  # fmt: skip


def _table5(found: Found) -> str:
    return "\n".join([
        _effects(found, prose.TABLE_5, OWN, SCORE, "recall", RECALL_MENTR),
        _effects(found, prose.TABLE_5_LIRA, LIRA, SCORE, "recall", RECALL_LIRA),
    ])  # fmt: skip


def _spaces(found: Found) -> str:
    def cell(attack: str, risk: str) -> Callable[[str], str]:
        def of(name: str) -> str:
            row = _effect(found[name], attack, risk)
            return f"{row['f1']['mean']:.2f}, {row['recall']['mean']:.2f}"

        return of

    columns: dict[str, Callable] = {"dataset": paper_name}
    for attack in (OWN, LIRA):
        columns |= {f"{attack}: {space.removeprefix('SHAPr, ')}": cell(attack, space) for space in SPACES}
    return "\n".join([prose.SPACES, table(list(found), columns)])


def _auc(found: Found) -> str:
    rows = [(name, attack) for name in found for attack in ATTACKS]
    columns: dict[str, Callable] = {"dataset": lambda row: paper_name(row[0]), "attack": lambda row: row[1]}

    def cell(risk: str) -> Callable[[tuple], str]:
        def of(row: tuple[str, str]) -> str:
            same = SCORE_SHADOW if risk == SCORE and row[1] == SHADOW else risk
            return spread(_effect(found[row[0]], row[1], same)["auc"])

        return of

    columns |= {risk: cell(risk) for risk in (SCORE, *SPACES)}
    return "\n".join([prose.AUC, table(rows, columns)])


def _table8(found: Found) -> str:
    def called(name: str, attack: str) -> str:
        (row,) = (row for row in found[name]["called"] if row["attack"] == attack)
        return percent(row["accuracy"])

    columns: dict[str, Callable] = {
        "dataset": paper_name,
        "members": lambda name: f"{found[name]['sizes'][name]['members']:,}",
        "paper": lambda name: f"{SOURCES[name].members:,}",
        "training": lambda name: percent(found[name]["accuracy"][0]["train"]),
        "test": lambda name: percent(found[name]["accuracy"][0]["test"]),
        "test (paper)": lambda name: f"{ACCURACY[paper_name(name)][0]:.1f}",
        **{attack: lambda name, attack=attack: called(name, attack) for attack in (OWN, SHADOW, LIRA)},
        "mentr, own shadow (paper)": lambda name: f"{ACCURACY[paper_name(name)][1]:.1f}",
    }
    return "\n".join([prose.TABLE_8, table(list(found), columns)])


def _table9(found: Found) -> str:
    rows = [(name, row) for name in found for row in found[name]["groups"]]
    if not rows:
        return ""

    def theirs(each: tuple[str, dict]) -> tuple[str, str]:
        key = (paper_name(each[0]), each[1]["column"], each[1]["group"])
        return tuple(f"{value:.2f}" for value in GROUPS[key])

    columns: dict[str, Callable] = {
        "dataset": lambda each: paper_name(each[0]),
        "group": lambda each: each[1]["group"],
        "members": lambda each: f"{each[1]['members']:,.0f}",
        "SHAPr, first layer": lambda each: signed(spread(each[1]["shapr"]), each[1]["shapr"]),
        "SHAPr, outputs": lambda each: signed(spread(each[1]["shapr_outputs"]), each[1]["shapr_outputs"]),
        "risk score": lambda each: signed(spread(each[1]["score"], 3), each[1]["score"]),
        "attack accuracy": lambda each: signed(percent(each[1]["accuracy"]), each[1]["accuracy"]),
        "test accuracy": lambda each: signed(percent(each[1]["test"]), each[1]["test"]),
        "gap": lambda each: signed(percent(each[1]["gap"]), each[1]["gap"]),
        "paper: risk score": lambda each: theirs(each)[0],
        "attack accuracy (paper)": lambda each: theirs(each)[1],
    }
    return "\n".join([prose.TABLE_9, table(rows, columns), comparison.groups_said(found)])


def _figures(found: Found) -> str:
    columns = {
        "dataset": lambda row: paper_name(row[0]),
        "risk": lambda row: row[1]["risk"],
        "at risk": lambda row: f"{100 * row[1]['at_risk']:.1f} %",
        "different values": lambda row: f"{row[1]['values']:,}",
    }
    rows = [(name, row) for name in found for row in found[name]["distributions"]]
    return "\n".join([prose.FIGURES, table(rows, columns)])


def _table6(result: dict) -> str:
    scores = {row["dataset"]: row for row in result["timings"] if row["what"] != "SHAPr"}
    columns: dict[str, Callable] = {
        "dataset": lambda row: paper_name(row["dataset"]),
        "members × tests": lambda row: f"{row['members']:,} × {row['tests']:,}",
        "features": lambda row: row["features"],
        "seconds": lambda row: f"{row['seconds']:,.2f}",
        "CPU seconds": lambda row: f"{row['cpu_seconds']:,.2f}",
        "paper": lambda row: f"{SECONDS[paper_name(row['dataset'])]:,.2f}",
        "times faster": lambda row: f"{SECONDS[paper_name(row['dataset'])] / row['seconds']:,.0f}",
        "risk score": lambda row: f"{scores[row['dataset']]['seconds']:.3f}",
        "risk score (paper)": lambda row: f"{SECONDS_SCORE.get(paper_name(row['dataset']), '–')}",
    }
    rows = [row for row in result["timings"] if row["what"] == "SHAPr"]
    (naive,) = result["leave_one_out"]
    said = (
        f"Leave-one-out of {naive['records']} records of LOCATION: {naive['seconds']:,.1f} s for as many models, against "
        f"{naive['shapr_seconds']:.2f} s for one model and SHAPr (SHAPr alone {naive['shapr_alone']:.4f} s). The paper: "
        f"{LEAVE_ONE_OUT[0]:,.2f} s and {LEAVE_ONE_OUT[1]} s.\n"
    )
    return "\n".join([prose.TABLE_6, table(rows, columns), said])


def _table7(result: dict) -> str:
    columns = {
        "dataset": lambda row: paper_name(row["dataset"]),
        "everybody": lambda row: "1.00",
        "SHAPr": lambda row: spread(row["shapr"]),
        "influence functions": lambda row: _judged(row["influence_functions"]),
        "TracIn": lambda row: _judged(row["tracin"]),
        "paper: SHAPr, influence functions, TracIn": lambda row: ", ".join(
            f"{value:.2f}" for value in ATTRIBUTION[paper_name(row["dataset"])]
        ),
        "AUC: SHAPr": lambda row: spread(row["shapr_auc"]),
        "influence functions (AUC)": lambda row: spread(row["influence_functions_auc"]),
        "TracIn (AUC)": lambda row: spread(row["tracin_auc"]),
    }
    return "\n".join(
        [prose.TABLE_7, table(result["recalls"], columns), comparison.attributions_said(result["recalls"])]
    )


def _judged(figure: dict) -> str:
    said = verdict(figure["difference"], figure["p"])
    return spread(figure) + (f" ({said})" if said else "")


SECTIONS = (_table3, _table4, _table5, _spaces, _auc, _table8, _table9, _figures)
SWEEPS = {"regularisation": sections.regularisation, "removal": sections.removal, "noise": sections.noise}
ALONE = {"times": _table6, "attribution": _table7} | SWEEPS
TARGETS = "The targets of the tables above."
SIZES = {"times": "Members and tests as in the table.", "attribution": TARGETS} | dict.fromkeys(SWEEPS, TARGETS)


def _made(found: Found) -> str:
    """What made each dataset's part of the tables."""
    return "\n".join(
        _foot(
            result,
            f"{size['members']:,} members and as many others of {paper_name(name)}, {size['features']} features.",
        )
        + "<br>"
        for name, result in found.items()
        for size in [result["sizes"][name]]
    ) + ("\n" if found else "")


def _foot(result: dict, sizes: str) -> str:
    return made_by(result, sizes, ("guestlist", "numpy", "torch"))


def _effect(result: dict, attack: str, risk: str) -> dict:
    (row,) = (row for row in result["effects"] if (row["attack"], row["risk"]) == (attack, risk))
    return row
