"""docs/papers_waka.md, made from ``results/``: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papers.markdown import made_by, page, table
from papers.waka import prose
from papers.waka.published import ONION, RATE, SECONDS, SPEARMAN, SPEARMAN_WITH_LIRA, TPR
from papers.waka.results import read
from papers.waka.roc import drawn
from papers.waka.shapes import ends_above_middle

PAGE = Path(__file__).parents[2] / "docs" / "papers_waka.md"
CURVES = PAGE.parent / "images" / "waka_roc.svg"

WAYS = ("nothing", "random", "asr", "self-waka", "self-shapley", "test-waka", "test-shapley")
VALUES = ("self-waka", "self-shapley", "test-waka", "test-shapley")


def write() -> None:
    """Write the page and its figure anew."""
    PAGE.write_text(text(), "utf-8")
    if found := read("figure3"):
        CURVES.write_text(drawn(found["curves"]), "utf-8")


def text() -> str:
    """The page, with a section for each result that is there."""
    return page(prose.INTRODUCTION, SECTIONS, read, _made_by, prose.DIFFERENCES)


def _table1(result: dict) -> str:
    rows = result["correlations"]
    columns = {
        "dataset": lambda row: row["dataset"],
        "K": lambda row: row["k"],
        "paper": lambda row: _two(SPEARMAN[row["dataset"]][row["k"]]),
        "ours, over percentiles": lambda row: _two(row["percentiles"]["self-waka"]),
        "ours, over records": lambda row: _two(row["spearman"]["self-waka"]),
        "ASR with itself": lambda row: _two(row["split_half"]),
        "with the best attack": lambda row: _two(row["exact"]),
        "games": lambda row: row["games"],
    }
    others = {"dataset": lambda row: row["dataset"], "K": lambda row: row["k"]}
    others |= {name: _picked("spearman", name) for name in VALUES}
    return "\n".join([
        prose.TABLE_1, table(rows, columns), prose.OTHER_VALUES, table(rows, others),
        prose.FIGURE_1, _deciles(rows, "K", "k"),
    ])  # fmt: skip


def _table2(result: dict) -> str:
    rows = result["rates"]
    columns = {
        "dataset": lambda row: row["dataset"],
        "model": lambda row: row["model"],
        "paper": lambda row: _three(RATE[row["dataset"]][row["model"]]),
        "ours ± standard error": lambda row: f"{_three(row['asr'])} ± {_three(row['error'])}",
        "best attack": lambda row: _three(row["best"]),
        "games": lambda row: row["games"],
    }
    logistic = [row for row in rows if row["model"] not in ("K=1", "K=5")]
    return "\n".join([prose.TABLE_2, table(rows, columns), prose.FIGURE_2, _deciles(logistic, "model", "model")])


def _table3(result: dict) -> str:
    parts = [prose.TABLE_3]
    for number, figure in (("AUC", "auc"), ("TPR at 5 % FPR", "tpr")):
        parts += [f"{number}, ours (paper's):\n", _onion(result["layers"], figure)]
    parts += [prose.UNCHANGED, _unchanged(result["layers"]), prose.FIGURE_5, _influences(result["influences"])]
    return "\n".join(parts)


def _onion(rows: list[dict], figure: str) -> str:
    cells = {(row["dataset"], row["k"], row["removed_by"]): row[figure] for row in rows}

    def cell(way: str) -> Callable[[tuple], str]:
        def of(place: tuple) -> str:
            theirs = ONION[figure][place].get(way)
            return _three(cells[*place, way]) + (f" ({_three(theirs)})" if theirs else "")

        return of

    columns = {"dataset": lambda place: place[0], "K": lambda place: place[1], **{way: cell(way) for way in WAYS}}
    return table(list(dict.fromkeys((row["dataset"], row["k"]) for row in rows)), columns)


def _unchanged(rows: list[dict]) -> str:
    columns = {
        "dataset": lambda row: row["dataset"],
        "K": lambda row: row["k"],
        "AUC, trained on all": lambda row: _three(row["unchanged_auc"]),
        "AUC, trained on the rest": lambda row: _three(row["auc"]),
        "TPR, trained on all": lambda row: _three(row["unchanged_tpr"]),
        "TPR, trained on the rest": lambda row: _three(row["tpr"]),
    }
    return table([row for row in rows if row["removed_by"] == "self-waka"], columns)


def _influences(rows: list[dict]) -> str:
    def regime(at: int) -> Callable[[dict], str]:
        return lambda row: f"{_signed(row['regimes'][at])} ({100 * row['shares'][at]:.1f} %)"

    names = ("fell by > 0.05", "within ± 0.05", "rose by > 0.05")
    columns = {"dataset": lambda row: row["dataset"], "Spearman": lambda row: _two(row["spearman"])}
    return table(rows, columns | {f"self-WaKA {name}": regime(at) for at, name in enumerate(names)})


def _figure6(result: dict) -> str:
    rows = result["curves"]
    shares = rows[0]["shares"]

    def at(place: int) -> Callable[[dict], str]:
        return lambda row: _three(row["accuracy"][place])

    columns = {
        "dataset": lambda row: row["dataset"],
        "K": lambda row: row["k"],
        "removed by": lambda row: row["removed_by"] + ("" if row["first"] == "any" else f", {row['first']} first"),
    }
    steps = {f"{share:.0%}": at(place) for place, share in enumerate(shares)}
    valued = [row for row in rows if row["zeros"] is not None and row["dataset"] in ("adult", "bank")]
    return "\n".join([prose.FIGURE_6, table(rows, columns | steps), prose.RAREST, _rarest(valued, shares)])


def _rarest(rows: list[dict], shares: list[float]) -> str:
    def at(place: int) -> Callable[[dict], str]:
        return lambda row: f"{row['rarest'][place]:.1%}"

    columns = {
        "dataset": lambda row: row["dataset"],
        "K": lambda row: row["k"],
        "removed by": lambda row: row["removed_by"],
        "values of 0": lambda row: f"{row['zeros']:.0%}",
    }
    return table(rows, columns | {f"{share:.0%}": at(place) for place, share in enumerate(shares)})


def _table5(result: dict) -> str:
    cells = {(row["dataset"], row["k"], row["attack"]): row for row in result["outcomes"]}
    places = list(dict.fromkeys((row["dataset"], row["k"]) for row in result["outcomes"]))
    attacks = list(dict.fromkeys(row["attack"] for row in result["outcomes"]))

    def figure(attack: str, name: str) -> Callable[[tuple], str]:
        return lambda place: _spread(cells[*place, attack], name)

    head = {"dataset": lambda place: place[0], "K": lambda place: place[1]}
    aucs = head | {attack: figure(attack, "auc") for attack in attacks}
    tprs = head | {attack: figure(attack, "tpr") for attack in attacks}
    ranks = head | {
        "paper": lambda place: _two(SPEARMAN_WITH_LIRA[place[0]][place[1] - 1]),
        "t-WaKA": lambda place: _two(cells[*place, "t-WaKA"]["spearman_with_lira"]),
        "exact likelihood ratio": lambda place: _two(cells[*place, "exact likelihood ratio"]["spearman_with_lira"]),
    }
    return "\n".join([
        prose.TABLE_5, table(places, aucs), _low_fpr(places, tprs, cells), prose.RANKS, table(places, ranks),
        _ahead(cells, places),
    ])  # fmt: skip


def _ahead(cells: dict, places: list[tuple]) -> str:
    """On which datasets t-WaKA's TPR is above LiRA's, in the paper and here: counted from the two tables."""
    datasets = list(dict.fromkeys(dataset for dataset, _ in places))
    theirs = [name for name in datasets if TPR[name]["t-WaKA"][0] > TPR[name]["LiRA"][0]]
    ours = [name for name in datasets if cells[name, 5, "t-WaKA"]["tpr"] > cells[name, 5, "LiRA"]["tpr"]]
    gaps = {
        name: [cells[name, k, "t-WaKA"]["spearman_with_lira"] - SPEARMAN_WITH_LIRA[name][k - 1] for k in range(1, 6)]
        for name in datasets
    }
    ranges = "; ".join(f"{name} {min(gap):+.2f} to {max(gap):+.2f}" for name, gap in gaps.items())
    return (
        f"In Table VI t-WaKA is ahead of LiRA on {_listed(theirs)}; here on {_listed(ours)}. In Table V ours minus the "
        f"paper's, over K: {ranges}.\n"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


def _low_fpr(places: list[tuple], tprs: dict[str, Callable], cells: dict) -> str:
    columns = {"dataset": lambda dataset: dataset}
    for attack in ("LiRA", "t-WaKA"):
        columns[f"{attack}, paper"] = lambda dataset, name=attack: "{:.2f} ± {:.2f}".format(*TPR[dataset][name])
        columns[f"{attack}, ours at K = 5"] = lambda dataset, name=attack: _spread(cells[dataset, 5, name], "tpr")
    datasets = list(dict.fromkeys(dataset for dataset, _ in places))
    return "\n".join([prose.FIGURE_8, table(places, tprs), prose.TABLE_6, table(datasets, columns)])


def _times(result: dict) -> str:
    columns = {
        "dataset": lambda row: row["dataset"],
        "how": lambda row: row["how"],
        "CPU s": lambda row: f"{row['cpu_seconds']:.1f}",
        "pairs scored": lambda row: f"{row['scores']:,}",
        "CPU µs per pair": lambda row: f"{1e6 * row['cpu_seconds'] / row['scores']:.0f}",
    }
    return "\n".join([prose.times(SECONDS), table(result["timings"], columns)])


def _figure1(result: dict) -> str:
    rows = result["shapes"]

    def at(place: int) -> Callable[[dict], str]:
        return lambda row: _two(row["deciles"][place])

    columns = {"dataset": lambda row: row["dataset"], "K": lambda row: row["k"], "value": lambda row: row["value"]}
    columns |= {f"{place + 1}": at(place) for place in range(10)}
    columns |= {"ends minus middle": lambda row: "{:+.3f}, {:+.3f}".format(*ends_above_middle(row["deciles"]))}
    u_shaped = [row for row in rows if min(ends_above_middle(row["deciles"])) > 0]
    low = [row for row in rows if row["deciles"][0] == max(row["deciles"])]
    return "\n".join([
        prose.FIGURE_1_TEST, table(rows, columns),
        f"Both ends lie above the middle in {len(u_shaped)} of {len(rows)} rows: a U, if a lopsided one. The lowest tenth "
        f"is the most exposed of all in {len(low)}.\n",
    ])  # fmt: skip


def _figure3(result: dict) -> str:
    rows = result["curves"]
    cells = {(row["dataset"], row["removed_by"]): dict(zip(row["log10_fpr"], row["tpr"], strict=True)) for row in rows}
    powers = (-3.0, -2.0, -1.0)
    columns: dict[str, Callable] = {"dataset": lambda name: name}
    for power in powers:
        for way in ("nothing", "random", "self-waka"):
            said = "all" if way == "nothing" else f"less {way}"
            columns[f"at {10**power:g}, {said}"] = lambda name, way=way, power=power: _three(cells[name, way][power])
    return "\n".join([prose.FIGURE_3, table(list(dict.fromkeys(row["dataset"] for row in rows)), columns)])


def _balanced(result: dict) -> str:
    """Adult as it is, with even classes, and in the paper."""
    rates = {row["model"]: row["asr"] for row in result["rates"]}
    layers = {(row["k"], row["removed_by"]): row for row in result["layers"]}
    as_it_is, onion = read("table2"), read("table3")
    rows = [
        (f"success rate, {model}", _of(as_it_is, "rates", "asr", model=model), rates[model], RATE["adult"][model])
        for model in rates
    ]
    for name, figure in (("AUC", "auc"), ("TPR at 5 % FPR", "tpr")):
        for k in (1, 5):
            for way in ("nothing", "self-waka"):
                ours = _of(onion, "layers", figure, k=k, removed_by=way)
                theirs = ONION[figure]["adult", k][way]
                rows.append((f"{name}, K = {k}, {way} removed", ours, layers[k, way][figure], theirs))
    columns = {
        "Adult": lambda row: row[0],
        "as it is": lambda row: _three(row[1]),
        "even classes": lambda row: _three(row[2]),
        "paper": lambda row: _three(row[3]),
    }
    known = [row for row in rows if row[1] is not None]
    nearer = sum(abs(even - theirs) < abs(own - theirs) for _, own, even, theirs in known)
    return "\n".join([
        prose.BALANCED, table(rows, columns),
        f"With even classes {nearer} of {len(known)} figures are nearer to the paper's.\n",
    ])  # fmt: skip


def _of(result: dict | None, rows: str, figure: str, **where) -> float | None:
    """A figure of Adult in another result; None where that has not been run."""
    for row in result[rows] if result else ():
        if row["dataset"] == "adult" and all(row[name] == value for name, value in where.items()):
            return row[figure]
    return None


def _variants(result: dict) -> str:
    cells = {(row["dataset"], row["k"], row["variance"], row["asked"]): row for row in result["variants"]}
    places = list(dict.fromkeys((row["dataset"], row["k"]) for row in result["variants"]))
    most, fewest = (pick(row["asked"] for row in result["variants"]) for pick in (max, min))

    def ranks(variance: str) -> Callable[[tuple], str]:
        return lambda place: _two(cells[*place, variance, most]["spearman"])

    def low(asked: int, name: str) -> Callable[[tuple], str]:
        return lambda place: _spread(cells[*place, "pooled", asked], name)

    columns = {"dataset": lambda place: place[0], "K": lambda place: place[1]}
    spearman = columns | {
        "paper": lambda place: _two(SPEARMAN_WITH_LIRA[place[0]][place[1] - 1]),
        "one variance": ranks("pooled"),
        "a variance per record": ranks("record"),
    }
    tpr = {
        "dataset": lambda place: place[0],
        "LiRA, paper": lambda place: "{:.2f} ± {:.2f}".format(*TPR[place[0]]["LiRA"]),
        f"LiRA, {most} asked": low(most, "tpr"),
        "LiRA, a variance per record": lambda place: _spread(cells[*place, "record", most], "tpr"),
        f"LiRA, {fewest} asked": low(fewest, "tpr"),
        "t-WaKA, paper": lambda place: "{:.2f} ± {:.2f}".format(*TPR[place[0]]["t-WaKA"]),
        f"t-WaKA, {most} asked": low(most, "waka_tpr"),
        f"t-WaKA, {fewest} asked": low(fewest, "waka_tpr"),
    }
    at_five = [place for place in places if place[1] == 5]
    nearer = sum(
        abs(cells[*place, "record", most]["spearman"] - SPEARMAN_WITH_LIRA[place[0]][place[1] - 1])
        < abs(cells[*place, "pooled", most]["spearman"] - SPEARMAN_WITH_LIRA[place[0]][place[1] - 1])
        for place in places
        if place[1] > 1
    )
    return "\n".join([
        prose.VARIANTS, table(places, spearman),
        f"A variance per record is nearer to the paper's in {nearer} of {sum(place[1] > 1 for place in places)} rows with "
        "K above 1; at K = 1 the two rank alike.\n",
        prose.VARIANTS_TPR, table(at_five, tpr),
    ])  # fmt: skip


def _deciles(rows: list[dict], title: str, key: str) -> str:
    def at(place: int) -> Callable[[dict], str]:
        return lambda row: _two(row["deciles"][place])

    columns = {"dataset": lambda row: row["dataset"], title: lambda row: row[key]}
    return table(rows, columns | {f"{place + 1}": at(place) for place in range(10)})


def _picked(field: str, name: str) -> Callable[[dict], str]:
    return lambda row: _two(row[field][name])


def _made_by(result: dict) -> str:
    sizes = "; ".join(f"{name} {size['records']:,}" for name, size in result["sizes"].items())
    return made_by(result, f"Records in the pool: {sizes}.")


def _spread(row: dict, name: str) -> str:
    return f"{_three(row[name])} ± {_two(row[f'{name}_spread'])}"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


SECTIONS = {
    "table1": _table1, "figure1": _figure1, "table2": _table2, "balanced": _balanced, "table3": _table3,
    "figure3": _figure3, "figure6": _figure6, "table5": _table5, "variants": _variants, "times": _times,
}  # fmt: skip
