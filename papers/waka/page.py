"""docs/papers_waka.md, made from ``results/``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from papers.pages import NO, OPEN, YES, Page, Part, Row, Size, Texts, csv_table, image, page_of, table, verdict
from papers.pictures import Axes, Panel, Series, picture, published
from papers.waka.data import SOURCES
from papers.waka.onion import GRID
from papers.waka.published import ONION, RATE, SECONDS, SPEARMAN, SPEARMAN_WITH_LIRA, TPR
from papers.waka.results import read
from papers.waka.shapes import ends_above_middle

INTRODUCTION = """Mesana et al. score each training record by WaKA, a Wasserstein distance between loss distributions of K-NN models.
Self-WaKA ranks records by privacy risk; t-WaKA attacks one target.
The attack success rate (ASR) of a record is the share of targets for which LiRA is right about it.
"""  # noqa: E501
SETTING = """## Setting

- Adult has 11,087 records; the paper prints "11,0874". IMDB has 5,000 MiniLM embeddings (paper 25,000).
- CIFAR10 is 64 components of ImageNet features (paper: a ResNet-18 trained on CIFAR10).
- Each game splits the pool in two random halves. LiRA has 16 shadow models and one variance.
- Tables III and IV print the column for the full pool next to the wrong rows (see [errata](errata.md)). We correct the order.
"""
SIZES = "IMDB 5,000 records (paper 25,000), CIFAR10 with other features; Adult and Bank full"
NAMES = {"adult": "Adult", "bank": "Bank", "cifar10": "CIFAR10", "imdb": "IMDB"}
WAYS = ("nothing", "random", "asr", "self-waka", "self-shapley", "test-waka", "test-shapley")
TEXTS = Texts("waka", "Mesana et al. (2024): WaKA", INTRODUCTION, SETTING)


def page() -> Page:
    return page_of(TEXTS, PARTS, read)


def _size(result: dict) -> tuple[Size, str]:
    """Return size and detail of a result, by its datasets."""
    if set(result["sizes"]) >= set(NAMES):
        return "other data", SIZES
    return "reduced", f"{' and '.join(NAMES.get(name, name) for name in result['sizes'])} only"


def _has_all_records(result: dict, names: Iterable[str] = NAMES) -> bool:
    """Return whether these datasets have all records that are available."""
    return all(_records(result, name) == SOURCES[name].training for name in names)


def _records(result: dict, name: str) -> int:
    return result.get("sizes", {}).get(name, {"records": 0})["records"]


def _table1(result: dict) -> Part:
    rows = result["correlations"]
    ours = [row["percentiles"]["self-waka"] for row in rows]
    paper = [SPEARMAN[row["dataset"]][row["k"]] for row in rows]
    exact = [row["exact"] for row in rows]
    close = sum(
        abs(our_value - published_value) <= 0.05 for our_value, published_value in zip(ours, paper, strict=True)
    )
    row = Row(
        where="Table I",
        what="Spearman correlation of self-WaKA with ASR",
        size="other data",
        largest=_has_all_records(result),
        detail=SIZES,
        agrees=verdict(close, len(rows)),
        finding=(
            f"over percentiles {min(ours):.2f} to {max(ours):.2f} (published {min(paper):.2f} to {max(paper):.2f}), "
            f"{close} of {len(rows)} within 0.05; with the best attack's exact success rate above {min(exact) - 0.005:.2f}."
        ),
        results=("table1",),
    )
    positions = list(range(len(rows)))
    names = [f"{NAMES.get(row['dataset'], row['dataset'])}, {row['k']}" for row in rows]
    correlations = [
        Series("over percentiles, ours", positions, ours, style="points"),
        published("paper", positions, paper, like="over percentiles, ours", shift=0.12),
        Series(
            "over records, ours",
            [position - 0.12 for position in positions],
            [row["spearman"]["self-waka"] for row in rows],
            style="points",
        ),
        Series("with the best attack, ours", [position + 0.24 for position in positions], exact, style="points"),
    ]
    correlation_name = "waka_correlation.svg"
    correlation_text = (
        "Spearman correlation of self-WaKA with the attack success rate, by dataset and K: ours and the published "
        "values."
    )
    success_name = "waka_success.svg"
    success_text = (
        "Mean attack success rate in each tenth of the records, ordered by self-WaKA, by dataset for K = 1 and K = 5."
    )
    panels = [
        Panel(
            f"K = {k}",
            [
                Series(NAMES.get(row["dataset"], row["dataset"]), list(range(1, 11)), row["deciles"])
                for row in rows
                if row["k"] == k
            ],
            Axes(x=(1, 10), y=(0.5, 1), x_label="tenth by self-WaKA", y_label="ASR"),
        )
        for k in dict.fromkeys(row["k"] for row in rows)
    ]
    text = "\n".join(
        [
            "## Self-WaKA and attack success (Tables I and II, Figures 1 and 2)\n",
            f"{_halves(rows)}\n",
            image(
                correlation_name,
                correlation_text,
                "Labels: dataset and K. The paper does not state whether it correlates over records or percentiles.",
            ),
            image(success_name, success_text, "Figure 1. The paper prints no values."),
        ]
    )
    svg = picture([[Panel("Table I", correlations, Axes(names=names, y_label="Spearman"))]], correlation_text)
    tables = {"table1.csv": csv_table(rows, lambda row: {"spearman": SPEARMAN[row["dataset"]][row["k"]]})}
    return Part(
        rows=(row,),
        text=text,
        pictures={correlation_name: svg, success_name: picture([panels], success_text)},
        tables=tables,
    )


def _halves(rows: Sequence[dict]) -> str:
    """Return in how many rows self-WaKA predicts success better than other games do."""
    largest = max(row["k"] for row in rows)
    chosen = [row for row in rows if row["k"] == largest]
    less = sum(row["split_half"] < row["spearman"]["self-waka"] for row in chosen)
    return (
        f"At K = {largest}, two halves of the games correlate less with each other than with self-WaKA on {less} of "
        f"{len(chosen)} datasets."
    )


def _table2(result: dict) -> Part:
    rows = result["rates"]
    gaps = [abs(row["asr"] - RATE[row["dataset"]][row["model"]]) for row in rows]
    close = sum(gap <= 0.025 for gap in gaps)
    row = Row(
        where="Table II",
        what="mean ASR of K-NN and logistic regression",
        size="other data",
        largest=_has_all_records(result),
        detail=SIZES,
        agrees=verdict(close, len(gaps)),
        finding=f"rates differ by at most {max(gaps):.3f}; ASR falls from K = 1 to K = 5.",
        results=("table2",),
    )
    models = list(dict.fromkeys(row["model"] for row in rows))
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    series = []
    for index, model in enumerate(models):
        chosen = [row for row in rows if row["model"] == model]
        x = [datasets.index(row["dataset"]) + 0.2 * (index - 1) for row in chosen]
        low, high = ([row["asr"] + sign * 1.96 * row["error"] for row in chosen] for sign in (-1, 1))
        series.append(Series(f"{model}, ours", x, [row["asr"] for row in chosen], low=low, high=high, style="points"))
        paper = [RATE[row["dataset"]][model] for row in chosen]
        series.append(published(f"{model}, paper", x, paper, like=f"{model}, ours", shift=0.08))
    name = "waka_rates.svg"
    alternative = (
        "Mean attack success rate by dataset for K = 1, K = 5 and logistic regression: ours and the published values."
    )
    axes = Axes(names=[NAMES.get(dataset, dataset) for dataset in datasets], y_label="ASR")
    text = image(name, alternative, "Table II, with 95% confidence intervals.")
    tables = {"table2.csv": csv_table(rows, lambda row: {"asr": RATE[row["dataset"]][row["model"]]})}
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture([[Panel("Table II", series, axes)]], alternative)},
        tables=tables,
    )


def _figure1(result: dict) -> Part:
    rows = result["shapes"]
    at_both_ends = sum(min(ends_above_middle(row["deciles"])) > 0 for row in rows)
    highest_in_lowest = sum(row["deciles"][0] == max(row["deciles"]) for row in rows)
    size, detail = _size(result)
    row = Row(
        where="Figure 1, test values",
        what="ASR against values on a validation set",
        size=size,
        largest=_has_all_records(result),
        detail=detail,
        agrees=verdict(at_both_ends, len(rows)),
        finding=(
            f"ASR is higher at both ends than in the middle, as published, in {at_both_ends} of {len(rows)} rows, and highest in "
            f"the lowest tenth in {highest_in_lowest}."
        ),
        results=("figure1",),
    )
    return Part(rows=(row,), text="", pictures={}, tables={"figure1.csv": csv_table(rows)})


def _table3(result: dict) -> Part:
    rows = result["layers"]
    settings = list(dict.fromkeys((row["dataset"], row["k"]) for row in rows))
    cells = {(row["dataset"], row["k"], row["removed_by"]): row for row in rows}
    published_cells = [key for key in cells if key[2] in ONION["auc"][key[:2]]]
    gaps = {
        metric: [abs(cells[key][metric] - ONION[metric][key[:2]][key[2]]) for key in published_cells]
        for metric in ("auc", "tpr")
    }
    falls = sum(cells[*setting, "self-waka"]["auc"] < cells[*setting, "nothing"]["auc"] for setting in settings)
    above_expected = sum(
        cells[*setting, "self-waka"]["auc"] > cells[*setting, "self-waka"]["unchanged_auc"] for setting in settings
    )
    same_signs = sum(row["regimes"][0] < 0 < row["regimes"][2] for row in result["influences"])
    summary_rows = (
        Row(
            where="Table III",
            what="AUC after removing 10% of the records",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=verdict(falls, len(settings)),
            finding=(
                f"removal by self-WaKA lowers AUC in {falls} of {len(settings)} rows; AUCs differ by "
                f"{_mean(gaps['auc']):.3f} on average, {max(gaps['auc']):.3f} at most."
            ),
            results=("table3",),
        ),
        Row(
            where="Table IV",
            what="TPR at 5% FPR after removing 10% of the records",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=verdict(sum(gap <= 0.05 for gap in gaps["tpr"]), len(published_cells)),
            finding=f"TPRs differ by {_mean(gaps['tpr']):.3f} on average, {max(gaps['tpr']):.3f} at most.",
            results=("table3",),
        ),
        Row(
            where="Tables III and IV, onion effect",
            what="is the decrease smaller than expected?",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=OPEN,  # the paper does not define the expected decrease
            finding=(
                "the paper prints no expected AUC. AUC is above that of models trained on all records (Carlini et al.) "
                f"in {above_expected} of {len(settings)} rows."
            ),
            results=("table3",),
        ),
        Row(
            where="Figure 5",
            what="change of ASR and change of self-WaKA",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=verdict(same_signs, len(result["influences"])),
            finding=(
                f"ASR falls where self-WaKA falls and rises where it rises, on {same_signs} of {len(result['influences'])} "
                "datasets."
            ),
            results=("table3",),
        ),
    )
    ways = [way for way in WAYS if way != "random"]
    panels = []
    for metric, title in (("auc", "AUC"), ("tpr", "TPR at 5% FPR")):
        series = []
        for dataset in dict.fromkeys(setting[0] for setting in settings):
            name = NAMES.get(dataset, dataset)
            ours = [cells[dataset, 1, way][metric] for way in ways]
            paper = [ONION[metric][dataset, 1][way] for way in ways]
            x = list(range(len(ways)))
            series += [
                Series(f"{name}, ours", x, ours),
                published(f"{name}, paper", x, paper, like=f"{name}, ours", style="line"),
            ]
        panels.append([Panel(f"{title}, K = 1", series, Axes(names=ways, x_label="10% removed by", y_label=title))])
    picture_name = "waka_onion.svg"
    alternative = (
        "AUC and TPR at 5% FPR of LiRA at K = 1 after 10% of the records are removed, by removal order: ours and the "
        "published values."
    )
    text = "\n".join(
        [
            "## Removing exposed records (Tables III and IV, Figures 3 and 5)\n",
            image(picture_name, alternative, "K = 1; the CSV file has K = 5 and random removal."),
        ]
    )
    tables = {
        "table3.csv": csv_table(rows, _published_onion),
        "figure5.csv": csv_table(result["influences"]),
    }
    return Part(rows=summary_rows, text=text, pictures={picture_name: picture(panels, alternative)}, tables=tables)


def _figure4(result: dict) -> Part:
    """Return the distributions of the attack success rate before and after removal."""
    distributions = result["success"]
    size, detail = _size(result)
    by_dataset: dict[str, dict[str, dict]] = {}
    for row in distributions:
        by_dataset.setdefault(row["dataset"], {})[row["removed_by"]] = row
    lower = sum(pair["self-waka"]["mean"] < pair["nothing"]["mean"] for pair in by_dataset.values())
    exposed = {name: 1 - pair["self-waka"]["below"][GRID.index(0.9)] for name, pair in by_dataset.items()}
    highest = max(exposed, key=exposed.__getitem__)
    row = Row(
        where="Figure 4",
        what="distribution of ASR before and after removal",
        size=size,
        largest=_has_all_records(result),
        detail=detail,
        agrees=verdict(lower, len(by_dataset)),
        finding=(
            f"ASR shifts to lower values on {lower} of {len(by_dataset)} datasets; at most {exposed[highest]:.1%} remain above "
            f"0.9 ({NAMES.get(highest, highest)})."
        ),
        results=("figure4",),
    )
    labels = {"nothing": "all records", "self-waka": "10% removed by self-WaKA"}
    panels = [
        Panel(
            NAMES.get(name, name),
            [Series(label, GRID, pair[order]["below"], style="curve") for order, label in labels.items()],
            Axes(x=(0, 1), y=(0, 1), x_label="ASR", y_label="share of records up to it"),
        )
        for name, pair in by_dataset.items()
    ]
    name = "waka_distributions.svg"
    alternative = "Cumulative distribution of the attack success rate at K = 1, before and after removal, by dataset."
    return Part(
        rows=(row,),
        text=image(name, alternative, "Figure 4. The paper prints no values."),
        pictures={name: picture([panels], alternative)},
        tables={"figure4.csv": csv_table(distributions)},
    )


def _published_onion(row: dict) -> dict:
    values = {metric: ONION[metric][row["dataset"], row["k"]].get(row["removed_by"]) for metric in ("auc", "tpr")}
    return {metric: value for metric, value in values.items() if value is not None}


def _figure3(result: dict) -> Part:
    rows = result["curves"]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    rates = {(row["dataset"], row["removed_by"]): dict(zip(row["log10_fpr"], row["tpr"], strict=True)) for row in rows}
    lower = sum(rates[name, "self-waka"][-2.0] < rates[name, "nothing"][-2.0] for name in datasets)
    size, detail = _size(result)
    row = Row(
        where="Figure 3",
        what="ROC curves before and after removal",
        size=size,
        largest=_has_all_records(result),
        detail=f"{detail}; 18 games",
        agrees=verdict(lower, len(datasets)),
        finding=f"removal by self-WaKA lowers TPR at 1% FPR on {lower} of {len(datasets)} datasets.",
        results=("figure3",),
    )
    labels = {"nothing": "all records", "random": "10% removed at random", "self-waka": "10% removed by self-WaKA"}
    axes = Axes(
        x=(1e-4, 1), y=(1e-4, 1), x_label="false positive rate", y_label="true positive rate", log_x=True, log_y=True
    )
    panels = [
        Panel(
            NAMES.get(name, name),
            [
                Series(labels[row["removed_by"]], [10.0**rate for rate in row["log10_fpr"]], row["tpr"], style="curve")
                for row in rows
                if row["dataset"] == name
            ],
            axes,
        )
        for name in datasets
    ]
    picture_name = "waka_roc.svg"
    alternative = (
        "ROC curves of LiRA at K = 1 on logarithmic axes, for all records and after removing 10% at random or by "
        "self-WaKA."
    )
    text = image(picture_name, alternative, "Figure 3, means over games. The paper prints no values.")
    return Part(
        rows=(row,),
        text=text,
        pictures={picture_name: picture([panels[:2], panels[2:]] if len(panels) > 2 else [panels], alternative)},
        tables={"figure3.csv": csv_table(rows)},
    )


def _best_and_worst(rows: Sequence[dict], k: int) -> tuple[list[str], list[str]]:
    """Return the datasets on which, at 10% removed, test-Shapley is best, and leave-one-out no better than random."""
    index = rows[0]["shares"].index(0.1)
    accuracy = {(row["dataset"], row["removed_by"]): row["accuracy"][index] for row in rows if row["k"] == k}
    datasets = list(dict.fromkeys(name for name, _ in accuracy))
    values = list(dict.fromkeys(value for _, value in accuracy))
    best = [
        name for name in datasets if accuracy[name, "test-shapley"] >= max(accuracy[name, value] for value in values)
    ]
    worst = [name for name in datasets if accuracy[name, "leave-one-out"] <= accuracy[name, "random"] + 0.005]
    return best, worst


def _balanced_removal() -> tuple[str, str]:
    """Return the cause of Figure 6 at K = 5 that balanced classes show, or that they were tried."""
    result = read("figure6_balanced")
    if not result:
        return "", ""
    rows = result["curves"]
    datasets = {row["dataset"] for row in rows}
    best, worst = _best_and_worst(rows, 5)
    text = (
        f"With balanced classes, test-Shapley is best on {_named(best)}, and leave-one-out no better than random on "
        f"{_named(worst)} (of {_named(sorted(datasets))})."
    )
    same = set(best) == set(worst) == datasets
    return (text, "") if same else ("", f" {text}")


def _named(datasets: Sequence[str]) -> str:
    return " and ".join(NAMES[name.removesuffix(" balanced")] for name in datasets) or "none"


def _figure6(result: dict) -> Part:
    rows = result["curves"]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    index = rows[0]["shares"].index(0.1)
    cause, tried = _balanced_removal()
    summary_rows = []
    for k in dict.fromkeys(row["k"] for row in rows):
        best, worst = map(len, _best_and_worst(rows, k))
        summary_rows.append(
            Row(
                where=f"Figure 6, K = {k}",
                what="accuracy after removing records",
                size="other data",
                largest=_has_all_records(result),
                detail=SIZES,
                agrees=verdict(best + worst, 2 * len(datasets)),
                finding=(
                    f"at 10% removed, test-Shapley is best on {best} of {len(datasets)} datasets, leave-one-out no "
                    f"better than random on {worst}.{tried if k > 1 else ''}"
                ),
                cause=cause if k > 1 else "",
                results=("figure6", "figure6_balanced") if k > 1 and (cause or tried) else ("figure6",),
            )
        )
    short = {"random": "random"}
    panels = []
    for k in dict.fromkeys(row["k"] for row in rows):
        panels.append(
            [
                Panel(
                    f"{NAMES.get(name, name)}, K = {k}",
                    [
                        Series(short.get(row["removed_by"], row["removed_by"]), row["shares"], row["accuracy"])
                        for row in rows
                        if (row["dataset"], row["k"]) == (name, k)
                    ],
                    Axes(
                        x=(0, 0.9), x_label="share removed", ticks=((0, "0"), (0.3, "0.3"), (0.6, "0.6"), (0.9, "0.9"))
                    ),
                )
                for name in datasets
            ]
        )
    name = "waka_minimisation.svg"
    alternative = (
        "Test accuracy against the share of records removed, by removal order, for each dataset at K = 1 and K = 5."
    )
    rare = [
        row
        for row in rows
        if row["removed_by"] == "test-shapley"
        and row["k"] == 5
        and row["rarest"]
        and row["dataset"] in ("adult", "bank")
    ]
    removed = "; ".join(
        f"{NAMES[row['dataset']]} from {row['rarest'][0]:.1%} to {row['rarest'][index]:.1%}" for row in rare
    )
    text = "\n".join(
        [
            "## Data minimisation (Figures 6 and 7)\n",
            "The paper finds test-Shapley best and leave-one-out worst.\n",
            *([f"At K = 5, test-Shapley first removes the rarest class: {removed} at 10%.\n"] if removed else []),
            image(name, alternative, "Test accuracy. The paper prints no values."),
        ]
    )
    return Part(
        rows=tuple(summary_rows),
        text=text,
        pictures={name: picture(panels, alternative)},
        tables={"figure6.csv": csv_table(rows)},
    )


def _figure7(result: dict) -> Part:
    """Return the records that each round removes from synthetic data, by two values."""
    distances = {(row["value"], row["round"]): row["removed_distance"] for row in result["removals"]}
    rounds = sorted({number for _, number in distances})
    nearer = sum(distances["self-shapley", number] < distances["test-shapley", number] for number in rounds)
    row = Row(
        where="Figure 7",
        what="removal by Shapley values on synthetic data",
        size="full",
        detail=f"{result['repeats']['count']} datasets of 400 records; the paper states neither generator nor size",
        agrees=verdict(nearer, len(rounds)),
        finding=(
            f"self-Shapley removes records nearer to the decision boundary than test-Shapley in {nearer} of {len(rounds)} "
            "rounds."
        ),
        results=("figure7",),
    )
    panels = []
    for drawn in result["drawn"]:
        series = []
        for number in (*rounds, 0):
            chosen = [index for index, removed in enumerate(drawn["round"]) if removed == number]
            label = f"removed in round {number}" if number else "kept"
            series.append(
                Series(
                    label,
                    [drawn["x"][index] for index in chosen],
                    [drawn["y"][index] for index in chosen],
                    style="dots",
                )
            )
        series.append(Series("decision boundary", (0, 0), (-3.5, 3.5), style="curve"))
        panels.append(Panel(drawn["value"].replace("-s", "-S"), series, Axes(x=(-5, 5), y=(-3.5, 3.5))))
    name = "waka_synthetic.svg"
    alternative = "Records of a synthetic dataset, by the round that removes them, for self-Shapley and test-Shapley."
    return Part(
        rows=(row,),
        text=image(
            name, alternative, "Figure 7: two Gaussian classes; each round removes 20% of the remaining records."
        ),
        pictures={name: picture([panels], alternative)},
        tables={"figure7.csv": csv_table(result["removals"])},
    )


def _table5(result: dict) -> Part:
    rows = result["outcomes"]
    cells = {(row["dataset"], row["k"], row["attack"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    ks = list(dict.fromkeys(row["k"] for row in rows))
    gaps = [
        abs(cells[name, k, "t-WaKA"]["spearman_with_lira"] - SPEARMAN_WITH_LIRA[name][k - 1])
        for name in datasets
        for k in ks
    ]
    close = sum(gap <= 0.1 for gap in gaps)
    t_waka_above = {
        "ours": [name for name in datasets if cells[name, 5, "t-WaKA"]["tpr"] > cells[name, 5, "LiRA"]["tpr"]],
        "paper": [name for name in datasets if TPR[name]["t-WaKA"][0] > TPR[name]["LiRA"][0]],
    }
    tprs = [
        abs(cells[name, 5, attack]["tpr"] - TPR[name][attack][0]) for name in datasets for attack in ("LiRA", "t-WaKA")
    ]
    our_deviations = [cells[name, 5, attack]["tpr_deviation"] for name in datasets for attack in ("LiRA", "t-WaKA")]
    paper_sd = [TPR[name][attack][1] for name in datasets for attack in ("LiRA", "t-WaKA")]
    auc_gaps = [cells[name, k, "t-WaKA"]["auc"] - cells[name, k, "LiRA"]["auc"] for name in datasets for k in ks]
    summary_rows = (
        Row(
            where="Table V",
            what="Spearman correlation of t-WaKA with LiRA",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=verdict(close, len(gaps)),
            finding=(
                f"the correlation falls with K, as published; {close} of {len(gaps)} values are within 0.1, the "
                f"largest difference is {max(gaps):.2f}."
            ),
            results=("table5",),
        ),
        Row(
            where="Table VI",
            what="TPR at 5% FPR of LiRA and t-WaKA",
            size="other data",
            largest=_has_all_records(result),
            detail=f"{SIZES}; K = 5 (the paper does not state K)",
            agrees=verdict(sum(gap <= 0.07 for gap in tprs), len(tprs)),
            finding=(
                f"means differ by at most {max(tprs):.2f}; t-WaKA is above LiRA on {len(t_waka_above['ours'])} of "
                f"{len(datasets)} datasets, in the paper on {len(t_waka_above['paper'])}."
            ),
            results=("table5",),
        ),
        Row(
            where="Table VI, standard deviations",
            what="dispersion over games",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=YES if max(our_deviations) >= min(paper_sd) else NO,
            finding=(
                f"ours are {min(our_deviations):.2f} to {max(our_deviations):.2f}, published {min(paper_sd):.2f} to "
                f"{max(paper_sd):.2f}.{_fewer_records()}"
            ),
            results=("table5", "variants"),
        ),
        Row(
            where="Figure 8",
            what="AUC of LiRA and t-WaKA, K = 1 to 5",
            size="other data",
            largest=_has_all_records(result),
            detail=SIZES,
            agrees=YES if max(map(abs, auc_gaps)) <= 0.05 else NO,
            finding=f"AUC of t-WaKA is {min(auc_gaps):+.3f} to {max(auc_gaps):+.3f} from LiRA's.",
            results=("table5",),
        ),
    )
    panels = []
    for name in datasets:
        ours = [cells[name, k, "t-WaKA"]["spearman_with_lira"] for k in ks]
        series = [
            Series("t-WaKA with LiRA, ours", ks, ours),
            published(
                "t-WaKA with LiRA, paper",
                ks,
                [SPEARMAN_WITH_LIRA[name][k - 1] for k in ks],
                like="t-WaKA with LiRA, ours",
                style="line",
            ),
        ]
        panels.append(
            Panel(NAMES.get(name, name), series, Axes(x=(1, 5), y=(0, 1), x_label="K", ticks=[(k, str(k)) for k in ks]))
        )
    correlation_name = "waka_lira.svg"
    correlation_text = (
        "Spearman correlation of the scores of t-WaKA and LiRA against K, by dataset: ours and the published values."
    )
    attack_panels = []
    for name in datasets:
        series = []
        for attack in ("LiRA", "t-WaKA", "exact likelihood ratio"):
            chosen = [cells[name, k, attack] for k in ks]
            errors = [1.96 * row["auc_deviation"] / row["games"] ** 0.5 for row in chosen]
            values = [row["auc"] for row in chosen]
            low, high = (
                [value + sign * error for value, error in zip(values, errors, strict=True)] for sign in (-1, 1)
            )
            series.append(Series(attack, ks, values, low=low, high=high))
        attack_panels.append(
            Panel(
                NAMES.get(name, name),
                series,
                Axes(x=(1, 5), y=(0.5, 0.9), x_label="K", ticks=[(k, str(k)) for k in ks]),
            )
        )
    auc_name = "waka_attacks.svg"
    auc_text = (
        "AUC of LiRA, t-WaKA and the exact likelihood ratio against K, by dataset, with 95% confidence intervals."
    )
    text = "\n".join(
        [
            "## t-WaKA and LiRA (Tables V and VI, Figure 8)\n",
            _table6(datasets, cells),
            image(correlation_name, correlation_text, "Table V: Spearman correlation."),
            image(auc_name, auc_text, "Figure 8: AUC. The paper prints no values."),
        ]
    )
    pictures = {correlation_name: picture([panels], correlation_text), auc_name: picture([attack_panels], auc_text)}
    return Part(
        rows=summary_rows, text=text, pictures=pictures, tables={"table5.csv": csv_table(rows, _published_outcome)}
    )


def _fewer_records() -> str:
    """Return the standard deviations with fewer records per game, which were tried as a cause."""
    result = read("variants")
    if not result:
        return ""
    fewest = min(row["records"] for row in result["variants"])
    rows = [row for row in result["variants"] if row["k"] == 5 and row["records"] == fewest]
    deviations = [row[field] for row in rows for field in ("tpr_deviation", "waka_tpr_deviation")]
    means = [row[field] for row in rows for field in ("tpr", "waka_tpr")]
    return (
        f" With {fewest} records per game instead of 100 they are {min(deviations):.2f} to {max(deviations):.2f}, but the "
        f"means rise to {min(means):.2f} to {max(means):.2f}."
    )


def _table6(datasets: Sequence[str], cells: dict) -> str:
    columns: dict[str, Callable] = {"TPR at 5% FPR": lambda name: NAMES.get(name, name)}
    for attack in ("LiRA", "t-WaKA"):
        columns[f"{attack}, paper"] = lambda name, attack=attack: "{:.2f} ± {:.2f}".format(*TPR[name][attack])
        columns[f"{attack}, ours (K = 5)"] = lambda name, attack=attack: (
            f"{cells[name, 5, attack]['tpr']:.2f} ± {cells[name, 5, attack]['tpr_deviation']:.2f}"
        )
    return table(datasets, columns)


def _published_outcome(row: dict) -> dict:
    values = {}
    if row["attack"] == "t-WaKA":
        values["spearman_with_lira"] = SPEARMAN_WITH_LIRA[row["dataset"]][row["k"] - 1]
    if row["attack"] in ("LiRA", "t-WaKA"):
        values["tpr"], values["tpr_deviation"] = TPR[row["dataset"]][row["attack"]]
    return values


def _balanced(result: dict) -> Part:
    """Adult with balanced classes, compared with Adult as it is."""
    ours = {(row["model"]): row["asr"] for row in result["rates"]}
    as_it_is, onion = read("table2"), read("table3")
    triples = [
        (row["asr"], ours[row["model"]], RATE["adult"][row["model"]])
        for row in (as_it_is["rates"] if as_it_is else ())
        if row["dataset"] == "adult"
    ]
    layers = {(row["k"], row["removed_by"]): row for row in result["layers"]}
    triples += [
        (row[metric], layers[row["k"], row["removed_by"]][metric], ONION[metric]["adult", row["k"]][row["removed_by"]])
        for row in (onion["layers"] if onion else ())
        if row["dataset"] == "adult" and row["removed_by"] in ("nothing", "self-waka")
        for metric in ("auc", "tpr")
    ]
    closer = sum(abs(balanced - paper) < abs(unbalanced - paper) for unbalanced, balanced, paper in triples)
    text = (
        f"With balanced classes, {closer} of {len(triples)} of our numbers for Adult are closer to the published ones; the "
        "paper does not fully describe its pool.\n"
        if triples
        else ""
    )
    tables = {
        "balanced_rates.csv": csv_table(result["rates"], lambda row: {"asr": RATE["adult"][row["model"]]}),
        "balanced_layers.csv": csv_table(result["layers"], lambda row: _published_onion(row | {"dataset": "adult"})),
    }
    return Part(rows=(), text=text, pictures={}, tables=tables)


def _variants(result: dict) -> Part:
    rows = result["variants"]
    largest = max(row["records"] for row in rows)
    cells = {(row["dataset"], row["k"], row["variance"], row["records"]): row for row in rows}
    settings = [key[:2] for key in cells if key[1] > 1 and key[2:] == ("pooled", largest)]

    def gap(setting: tuple, variance: str) -> float:
        return abs(cells[*setting, variance, largest]["spearman"] - SPEARMAN_WITH_LIRA[setting[0]][setting[1] - 1])

    closer = sum(gap(setting, "record") < gap(setting, "pooled") for setting in settings)
    text = (
        f"LiRA with one variance per record is closer to Table V in {closer} of {len(settings)} rows with K > 1; the paper "
        "does not state its variance.\n"
    )
    tables = {
        "variants.csv": csv_table(rows, lambda row: {"spearman": SPEARMAN_WITH_LIRA[row["dataset"]][row["k"] - 1]})
    }
    return Part(rows=(), text=text, pictures={}, tables=tables)


def _times(result: dict) -> Part:
    rows = result["timings"]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    ratios = {}
    for name in datasets:
        lira, *_, exact = (row["cpu_seconds"] / row["scores"] for row in rows if row["dataset"] == name)
        ratios[name] = lira / exact
    numbers = ", ".join(f"{NAMES.get(name, name)} {ratio:.1f} times" for name, ratio in ratios.items())
    row = Row(
        where="Time",
        what="CPU time of LiRA and t-WaKA",
        size="other data",
        largest=_has_all_records(result, ["imdb"]),
        detail=(
            f"{' and '.join(NAMES.get(name, name) for name in datasets)}, IMDB {_records(result, 'imdb'):,} records (paper: "
            f"only IMDB, 25,000); {result['repeats']['count']} games (paper 48)"
        ),
        agrees=YES if min(ratios.values()) > 2 else NO,
        finding=f"t-WaKA is faster per score ({numbers}); published {SECONDS['LiRA'] / SECONDS['t-WaKA']:.0f} times on IMDB.",
        results=("times",),
    )
    return Part(rows=(row,), text="", pictures={}, tables={"times.csv": csv_table(rows)})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


PARTS = {
    "table1": _table1,
    "figure1": _figure1,
    "table2": _table2,
    "balanced": _balanced,
    "table3": _table3,
    "figure3": _figure3,
    "figure4": _figure4,
    "figure6": _figure6,
    "figure6_balanced": lambda result: Part(tables={"figure6_balanced.csv": csv_table(result["curves"])}),
    "figure7": _figure7,
    "table5": _table5,
    "variants": _variants,
    "times": _times,
}
