"""docs/papers_shapr.md, made from ``results/``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2, log10, sqrt

from papers.pages import NO, YES, Page, Part, Row, Size, Texts, compose, csv_table, existing, image, verdict
from papers.pictures import Axes, Panel, Series, picture, published, steps
from papers.shapr import comparison
from papers.shapr.attribution import ALL_LAYERS, INFLUENCE, SHAPR, TRACIN
from papers.shapr.backdoors import LABEL, TRIGGER
from papers.shapr.comparison import direction, effect
from papers.shapr.data import SOURCES
from papers.shapr.measures import FIRST, SCORE, SELF_SHADOW
from papers.shapr.models import SWEEP_FULL, SWEEP_MEMBERS
from papers.shapr.noise import CLEAN, KNOWN, MIXED, NOISY, QUERIES, TRAINED
from papers.shapr.published import (
    ACCURACY,
    ATTRIBUTION,
    CLEAN_RISES,
    CORRELATIONS,
    GROUPS,
    LEAVE_ONE_OUT,
    SECONDS,
)
from papers.shapr.removal import HIGHEST, RANDOM
from papers.shapr.results import read

Results = Mapping[str, dict]
GROUPED = {dataset for dataset, _, _ in GROUPS}  # datasets of Table IX
POINTS = 5.0  # accuracies that differ by at most this count as equal, in percentage points
INTRODUCTION = """Duddu et al. propose the exact K-NN Shapley value of a member (SHAPr) as its privacy risk; above 0 it is at risk.
They compare it with the privacy risk score of Song & Mittal, at risk above 0.5.
A risk metric is judged by how well it predicts which members an attack identifies.
"""  # noqa: E501
SETTING = f"""## Setting

- The network is the paper's (1024-512-256-128, tanh). The paper does not state its training; we use AdamW for 20 epochs. LOCATION in Tables III, IV, V and VIII has the public recipe of MemGuard's code (SGD, 200 epochs).
- Ten targets per dataset train on random halves of one pool; all models are references. Tests over targets hold for these records.
- Targets with changed training (Figures 1, 2, 6 and 7, Table X) have at most {SWEEP_MEMBERS:,} members, or the paper's number up to {SWEEP_FULL:,}.
- SHAPr uses the first layer. Modified entropy takes its thresholds from the target itself, as in the paper.
- "Better" is a paired t-test over targets at 0.05; for the paper, Welch's test on its printed means.
- FLOWER has 256 features (paper 2,048). MEPS is panel 21 (paper 19).
"""  # noqa: E501
NOT_RUN = (
    Row(
        where="PURCHASE and TEXAS",
        what="two of the paper's ten datasets, in all tables",
        size="not possible",
        detail="the data are not available here",
    ),
)
QUERY_LABELS = {
    TRAINED: "attacker queries noisy records",
    KNOWN: "attacker queries original records",
    MIXED: "attacker queries original records, score reads noisy ones",
}
DIFFERENT = {"meps": "MEPS panel 21 (paper 19)", "flowers": "FLOWER 256 features (paper 2,048)"}
SPRS_DATASETS = "LOCATION, PURCHASE, TEXAS"  # of Figures 1 and 2 in the paper
NEAR = 0.05  # difference between mean SHAPr and test accuracy that counts as small
TEXTS = Texts("shapr", "Duddu et al. (2022): SHAPr", INTRODUCTION, SETTING, NOT_RUN)


def page() -> Page:
    datasets = existing(SOURCES, read)
    alone = existing(ALONE, read)
    parts = [part(datasets) for part in DATASETS] if datasets else []
    parts += [ALONE[name](result) for name, result in alone.items()]
    return compose(TEXTS, parts, {**datasets, **alone})


def _names(datasets: Results) -> list[str]:
    return [SOURCES[name].paper for name in datasets]


def _members(sizes: Mapping[str, dict]) -> str:
    """Return datasets with fewer members than in the paper, and with other records.

    Args:
        sizes: dataset to its sizes.
    """
    smaller = []
    for name, size in sizes.items():
        source = SOURCES[name]
        if size["members"] < source.members:
            reason = "half of all records; " if size["members"] == source.most_members else ""
            smaller.append(f"{source.paper} {size['members']:,} ({reason}paper {source.members:,})")
    members = f"members: {', '.join(smaller)}" if smaller else "the paper's members"
    if smaller and len(smaller) < len(sizes):
        members += ", others as in the paper"
    return members + "".join(f"; {difference}" for name, difference in DIFFERENT.items() if name in sizes)


def _size(sizes: Mapping[str, dict], expected: Iterable[str] = ()) -> tuple[Size, bool]:
    """Return the size of a row, and whether no larger one is possible.

    Args:
        sizes: dataset to its sizes.
        expected: datasets of the paper that are available.
    """
    if not set(expected) <= set(sizes) or any(
        size["members"] < SOURCES[name].most_members for name, size in sizes.items()
    ):
        return "reduced", False
    if set(DIFFERENT) & set(sizes):
        return "other data", True
    if any(size["members"] < SOURCES[name].members for name, size in sizes.items()):
        return "reduced", True
    return "full", False


def _has_papers_location(result: dict) -> bool:
    """Return whether LOCATION has the paper's size: the only dataset of Figures 1 and 2 that is available."""
    return result["sizes"].get("location30", {"members": 0})["members"] == SOURCES["location30"].members


def _sizes(datasets: Results) -> dict[str, dict]:
    return {name: result["sizes"][name] for name, result in datasets.items()}


def _effects(datasets: Results) -> Part:
    """Tables III to V: SHAPr and the risk score against two attacks."""
    rows, panels = [], []
    size, largest = _size(_sizes(datasets), SOURCES)
    for title, (attack, measure, paper) in comparison.TABLES.items():
        same, opposite, _ = comparison.winners(datasets, title)
        tail = f", the opposite on {', '.join(opposite)}" if opposite else ""
        metric = "F1" if measure == "f1" else "recall"
        rows.append(
            Row(
                where=title,
                what=f"{metric} of SHAPr and the risk score against {'modified entropy' if attack == SELF_SHADOW else 'LiRA'}",
                size=size,
                largest=largest,
                detail=_members(_sizes(datasets)),
                agrees=verdict(len(same), len(datasets)),
                finding=f"the paper's winner on {len(same)} of {len(datasets)} datasets{tail}.",
                results=tuple(datasets),
            )
        )
        series = []
        for index, (name, risk) in enumerate((("SHAPr", FIRST), ("risk score", SCORE))):
            x = [position + 0.24 * index - 0.18 for position in range(len(datasets))]
            metrics = [effect(result, attack, risk)[measure] for result in datasets.values()]
            series.append(_points(f"{name}, ours", x, metrics))
            printed = [paper[name_in_paper][1 - index][0] for name_in_paper in _names(datasets)]
            series.append(published(f"{name}, paper", x, printed, like=f"{name}, ours", shift=0.1))
        panels.append([Panel(f"{title}: {metric}", series, Axes(y=(0, 1), names=_names(datasets)))])
    everyone, pairs = comparison.everyone_at_risk(datasets)
    name = "shapr_effectiveness.svg"
    alternative = (
        "F1 and recall of SHAPr and the privacy risk score by dataset, against modified entropy and LiRA: ours and "
        "the published values."
    )
    text = "\n".join(
        [
            "## SHAPr and the risk score (Tables III to V)\n",
            f"Calling every member at risk has an F1 of at least SHAPr's in {everyone} of {pairs} pairs of dataset and attack. "
            "There, a high F1 does not show that SHAPr predicts which members are identified.\n",
            image(name, alternative, "Bars: one standard deviation over targets."),
        ]
    )
    effects = [
        {"dataset": SOURCES[name].paper, **row} for name, result in datasets.items() for row in result["effects"]
    ]
    return Part(
        rows=tuple(rows),
        text=text,
        pictures={name: picture(panels, alternative)},
        tables={"effects.csv": csv_table(effects, _published_effect)},
    )


def _published_effect(row: dict) -> dict:
    values = {}
    for attack, measure, paper in comparison.TABLES.values():
        if row["attack"] == attack and row["risk"] in (SCORE, FIRST):
            values[measure], values[f"{measure}_deviation"] = paper[row["dataset"]][int(row["risk"] == FIRST)]
    return values


def _table8(datasets: Results) -> Part:
    tests = {SOURCES[name].paper: 100 * result["accuracy"][0]["test"]["mean"] for name, result in datasets.items()}
    within = [name for name, value in tests.items() if abs(value - ACCURACY[name][0]) <= POINTS]
    far = [
        f"{name} {value:.1f} (published {ACCURACY[name][0]:.1f})" for name, value in tests.items() if name not in within
    ]
    size, largest = _size(_sizes(datasets), SOURCES)
    row = Row(
        where="Table VIII",
        what="test accuracy of the targets, accuracy of the attack",
        size=size,
        largest=largest,
        detail=_members(_sizes(datasets)),
        agrees=verdict(len(within), len(tests)),
        finding=f"test accuracy is within {POINTS:.0f} points on {len(within)} of {len(tests)} datasets"
        + (f"; not on {', '.join(far)}." if far else "."),
        results=tuple(datasets),
    )
    attacks = [
        next(row for row in result["called"] if row["attack"] == SELF_SHADOW)["accuracy"]
        for result in datasets.values()
    ]
    metrics = {
        "test accuracy": [result["accuracy"][0]["test"] for result in datasets.values()],
        "attack accuracy": attacks,
    }
    series = []
    for index, (name, values) in enumerate(metrics.items()):
        x = [position + 0.3 * index - 0.2 for position in range(len(datasets))]
        series.append(_points(f"{name}, ours", x, values, factor=100))
        printed = [ACCURACY[dataset][index] for dataset in _names(datasets)]
        series.append(published(f"{name}, paper", x, printed, like=f"{name}, ours", shift=0.12))
    picture_name = "shapr_accuracy.svg"
    alternative = (
        "Test accuracy of the targets and balanced accuracy of modified entropy by dataset: ours and the published "
        "values."
    )
    drawn = picture(
        [[Panel("Table VIII", series, Axes(y=(40, 100), names=_names(datasets), y_label="%"))]], alternative
    )
    rows = [
        {
            "dataset": SOURCES[name].paper,
            **result["sizes"][name],
            **result["accuracy"][0],
            "attacks": {row["attack"]: row["accuracy"] for row in result["called"]},
        }
        for name, result in datasets.items()
    ]
    text = "## Targets (Table VIII)\n\n" + image(
        picture_name, alternative, "Modified entropy with thresholds from the target itself."
    )
    tables = {
        "table8.csv": csv_table(rows, lambda row: dict(zip(("test", "attack"), ACCURACY[row["dataset"]], strict=True)))
    }
    return Part(rows=(row,), text=text, pictures={picture_name: drawn}, tables=tables)


def _table9(datasets: Results) -> Part:
    rows = [{"dataset": SOURCES[name].paper, **row} for name, result in datasets.items() for row in result["groups"]]
    if not rows:
        return Part()
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    published_order = [_group(second)[1] > _group(first)[1] for first, second in pairs]
    same = sum(
        (direction(second["accuracy"]) == "higher") == higher
        for (_, second), higher in zip(pairs, published_order, strict=True)
    )
    with_attack = sum(direction(second["shapr"]) == direction(second["accuracy"]) for _, second in pairs)
    with_test = sum(direction(second["shapr"]) == direction(second["test"]) for _, second in pairs)
    sizes = _sizes({name: result for name, result in datasets.items() if result["groups"]})
    size, largest = _size(sizes, [name for name, source in SOURCES.items() if source.paper in GROUPED])
    summary_rows = (
        Row(
            where="Table IX",
            what="attack accuracy by group",
            size=size,
            largest=largest,
            detail=_members(sizes),
            agrees=verdict(same, len(pairs)),
            finding=(
                f"the attack's accuracy differs between groups in the paper's direction in {same} of {len(pairs)} "
                "comparisons."
            ),
            results=tuple(datasets),
        ),
        Row(
            where="Figure 3",
            what="SHAPr by group",
            size=size,
            largest=largest,
            detail=_members(sizes),
            agrees=verdict(with_attack, len(pairs)),
            finding=f"SHAPr follows the attack's accuracy in {with_attack} of {len(pairs)} comparisons (paper: all).",
            cause=f"SHAPr follows test accuracy in all {len(pairs)} comparisons (table9.csv)."
            if with_test == len(pairs)
            else "",
            results=tuple(datasets),
        ),
    )
    panels = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        rows_of_dataset = [row for row in rows if row["dataset"] == dataset]
        x = list(range(len(rows_of_dataset)))
        series = [
            _points("attack accuracy, ours", x, [row["accuracy"] for row in rows_of_dataset], factor=100),
            published(
                "attack accuracy, paper",
                x,
                [_group(row)[1] for row in rows_of_dataset],
                like="attack accuracy, ours",
                shift=0.15,
            ),
        ]
        panels.append(
            Panel(dataset, series, Axes(y=(50, 70), names=[row["group"] for row in rows_of_dataset], y_label="%"))
        )
    name = "shapr_groups.svg"
    alternative = (
        f"Accuracy of modified entropy on groups by sex and race of {', '.join(_names(sizes))}: ours and the published "
        "values."
    )
    text = "## Groups (Table IX, Figure 3)\n\n" + image(
        name, alternative, "Balanced accuracy on members and non-members of a group. Bars: one standard deviation."
    )
    tables = {"table9.csv": csv_table(rows, lambda row: dict(zip(("score", "accuracy"), _group(row), strict=True)))}
    return Part(rows=summary_rows, text=text, pictures={name: picture([panels], alternative)}, tables=tables)


def _group(row: dict) -> tuple[float, float]:
    return GROUPS[row["dataset"], row["column"], row["group"]]


def _distributions(datasets: Results) -> Part:
    rows = [
        {"dataset": SOURCES[name].paper, **row} for name, result in datasets.items() for row in result["distributions"]
    ]
    if not rows:
        return Part()
    values = {(row["dataset"], row["risk"]): row["values"] for row in rows}
    finer = sum(values[dataset, FIRST] > values[dataset, SCORE] for dataset in _names(datasets))
    size, largest = _size(_sizes(datasets), SOURCES)
    row = Row(
        where="Figures 4 and 5",
        what="distributions of SHAPr and the risk score",
        size=size,
        largest=largest,
        detail=_members(_sizes(datasets)),
        agrees=verdict(finer, len(datasets)),
        finding=f"SHAPr has more distinct values than the risk score on {finer} of {len(datasets)} datasets.",
        results=tuple(datasets),
    )
    panels = {risk: [_distribution(row) for row in rows if row["risk"] == risk] for risk in (FIRST, SCORE)}
    name = "shapr_distributions.svg"
    alternative = (
        "Distributions of SHAPr and of the risk score over members of one target, by dataset, for members that "
        "modified entropy flags and others."
    )
    grid = [part[start : start + 4] for part in panels.values() for start in range(0, len(part), 4)]
    text = image(
        name,
        alternative,
        "SHAPr times the number of members (above) and the risk score (below). The paper prints no values.",
    )
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture(grid, alternative)},
        tables={"distributions.csv": csv_table(rows)},
    )


def _distribution(row: dict) -> Panel:
    width = (row["high"] - row["low"]) / len(row["called"])
    edges = [row["low"] + width * index for index in range(len(row["called"]) + 1)]
    series = [
        Series("flagged members", *steps(edges, row["called"]), style="curve"),
        Series("other members", *steps(edges, row["not_called"]), style="curve"),
    ]
    ticks = ((0.0, "0"), (1.0, "1")) if row["risk"] == SCORE else ((0.0, "0"),)
    return Panel(
        row["dataset"], series, Axes(x=(row["low"], row["high"]), x_label=row["risk"].partition(",")[0], ticks=ticks)
    )


def _times(result: dict) -> Part:
    rows = [row for row in result["timings"] if row["what"] == "SHAPr"]
    factors = [SECONDS[SOURCES[row["dataset"]].paper] / row["seconds"] for row in rows]
    (naive,) = result["leave_one_out"]
    sizes = {row["dataset"]: {"members": row["members"]} for row in rows}
    fewer = any(row["members"] < SOURCES[row["dataset"]].members for row in rows)
    size, largest = ("reduced", False) if fewer else _size(sizes, SOURCES)
    row = Row(
        where="Table VI",
        what="time of SHAPr",
        size=size,
        largest=largest,
        detail=f"two threads; the paper has eight cores; {_members(sizes)}",
        agrees=YES if min(factors) > 1 else NO,
        finding=(
            f"SHAPr takes 1/{min(factors):,.0f} to 1/{max(factors):,.0f} of the published time. Leave-one-out of "
            f"{naive['records']} records "
            f"takes {naive['seconds'] / naive['shapr_seconds']:,.0f} times as long (published "
            f"{LEAVE_ONE_OUT[0] / LEAVE_ONE_OUT[1]:,.0f})."
        ),
        results=("times",),
    )
    x = list(range(len(rows)))
    names = [SOURCES[row["dataset"]].paper for row in rows]
    series = [
        Series("seconds, ours", x, [row["seconds"] for row in rows], style="points"),
        published("seconds, paper", x, [SECONDS[name] for name in names], like="seconds, ours"),
    ]
    name = "shapr_times.svg"
    alternative = "Seconds to compute SHAPr by dataset, on a logarithmic axis: ours and the published values."
    svg = picture([[Panel("Table VI", series, Axes(names=names, log_y=True, y_label="seconds"))]], alternative)
    text = "## Time (Table VI)\n\n" + image(name, alternative, "The paper's sizes, SHAPr in the space of inputs.")
    timings = [{**row, "dataset": SOURCES[row["dataset"]].paper} for row in result["timings"]]
    tables = {
        "times.csv": csv_table(
            timings, lambda row: {"seconds": SECONDS[row["dataset"]]} if row["what"] == "SHAPr" else {}
        )
    }
    return Part(rows=(row,), text=text, pictures={name: svg}, tables=tables)


def _attribution(result: dict) -> Part:
    rows = [row for row in result["recalls"] if row["risk"] != SHAPR]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    of_all_layers = {row["dataset"] for row in rows if ALL_LAYERS in row["risk"]}
    layers = "the last layer" + (" and all layers" if of_all_layers else "")
    if 0 < len(of_all_layers) < len(datasets):
        layers = f"the last layer, on {len(of_all_layers)} datasets also all layers"
    below = sum(direction(row["recall"]) == "lower" for row in rows)
    size, largest = _size(result["sizes"], SOURCES)
    row = Row(
        where="Table VII",
        what="recall of influence functions and TracIn",
        size=size,
        largest=largest,
        detail=f"{len(datasets)} of 10 datasets; {result['repeats']['count']} targets (paper 10); {layers}; "
        f"{_members(result['sizes'])}",
        agrees=verdict(below, len(rows)),
        finding=f"both are below SHAPr in {below} of {len(rows)} comparisons ({layers}; paper: in all).",
        results=("attribution",),
    )
    name = "shapr_attribution.svg"
    alternative = (
        "Recall of SHAPr, influence functions and TracIn for the members that modified entropy flags, by dataset: ours "
        "and the published values."
    )
    text = "## Influence functions and TracIn (Table VII)\n\n" + image(
        name,
        alternative,
        "The paper does not state whether the last or all layers are used. Bars: one standard deviation.",
    )
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture([[_attribution_panel(result["recalls"], datasets)]], alternative)},
        tables={"table7.csv": csv_table(result["recalls"], _published_recall)},
    )


def _attribution_panel(rows: Sequence[dict], datasets: Sequence[str]) -> Panel:
    recalls = {(row["dataset"], row["risk"]): row["recall"] for row in rows}
    series = []
    for index, risk in enumerate(dict.fromkeys(row["risk"] for row in rows)):
        with_risk = [dataset for dataset in datasets if (dataset, risk) in recalls]
        x = [datasets.index(dataset) + 0.13 * index - 0.32 for dataset in with_risk]
        series.append(_points(f"{risk}, ours", x, [recalls[dataset, risk] for dataset in with_risk]))
        if not risk.endswith(ALL_LAYERS):
            printed = [_published_recall({"dataset": dataset, "risk": risk})["recall"] for dataset in with_risk]
            series.append(published(f"{risk}, paper", x, printed, like=f"{risk}, ours", shift=0.06))
    names = [SOURCES[dataset].paper for dataset in datasets]
    return Panel("Table VII: recall", series, Axes(y=(0, 1), names=names))


def _published_recall(row: dict) -> dict:
    index = (SHAPR, INFLUENCE, TRACIN).index(row["risk"].removesuffix(f", {ALL_LAYERS}"))
    return {"recall": ATTRIBUTION[SOURCES[row["dataset"]].paper][index]}


def _regularisation(result: dict) -> Part:
    rows = [row for row in result["sweep"] if row["weight"] > 0]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    names = ", ".join(SOURCES[name].paper for name in datasets)
    lower, higher = (sum(direction(row["metrics"]["shapr"]) == way for row in rows) for way in ("lower", "higher"))
    from_accuracy = {
        name: max(
            abs(row["metrics"]["outputs"]["mean"] - row["metrics"]["test"]["mean"])
            for row in result["sweep"]
            if row["dataset"] == name
        )
        for name in datasets
    }
    farthest = max(from_accuracy.values())
    utility = farthest <= NEAR
    near = sum(distance <= NEAR for distance in from_accuracy.values())
    partly = ""
    if near and not utility:
        partly = (
            f" On outputs the mean differs from test accuracy by at most {NEAR} on {near} of {len(datasets)} datasets, so "
            "it shows utility there: Shapley values add up to the accuracy of the K-NN model."
        )
    row = Row(
        where="Figure 1",
        what="L2 regularisation",
        size="other data",
        largest=_has_papers_location(result),
        detail=(f"{names} (paper: {SPRS_DATASETS}); {result['repeats']['count']} targets; {_members(result['sizes'])}"),
        agrees=verdict(lower, len(rows)),
        finding=(
            f"the paper's mean SHAPr decreases with the penalty; ours is lower at {lower} and higher at {higher} of "
            f"{len(rows)} weights ({names}).{partly}"
        ),
        cause=(
            "Shapley values add up to the accuracy of the K-NN model, so the mean shows utility: on outputs it differs "
            f"from test accuracy by at most {farthest:.2f}."
        )
        if utility
        else "",
        results=("regularisation",),
    )
    keys = {"SHAPr, all members": "shapr", "attack accuracy": "attack", "test accuracy": "test"}
    count = result["repeats"]["count"]
    ticks = [(power, f"{10.0**power:g}") for power in range(-4, 0)]
    panels = []
    for dataset in datasets:
        chosen = [row for row in rows if row["dataset"] == dataset]
        x = [log10(row["weight"]) for row in chosen]
        series = [_line(name, x, [row["metrics"][key] for row in chosen], count) for name, key in keys.items()]
        axes = Axes(x=(-4.1, -0.9), y=(0, 1), x_label="weight of the penalty", ticks=ticks)
        panels.append(Panel(f"{SOURCES[dataset].paper}, L2", series, axes))
    name = "shapr_regularisation.svg"
    alternative = "SHAPr, attack accuracy and test accuracy against the weight of an L2 penalty, by dataset."
    text = "## Defences (Figures 1, 2, 6 and 7, Table X)\n\n" + image(
        name, alternative, "Bands: 95% confidence intervals of the mean over targets. The paper prints no values."
    )
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture([panels], alternative)},
        tables={"figure1.csv": csv_table(result["sweep"])},
    )


def _removal_panel(result: dict) -> Panel:
    count = result["repeats"]["count"]
    series = []
    for name, key in {"SHAPr": "shapr", "attack accuracy": "attack"}.items():
        for by, suffix in ((HIGHEST, "highest SHAPr removed"), (RANDOM, "random members removed")):
            rows = [row for row in result["sweep"] if row["by"] == by]
            series.append(
                _line(f"{name}, {suffix}", [row["share"] for row in rows], [row["after"][key] for row in rows], count)
            )
    return Panel("LOCATION, removal", series, Axes(x=(0, 0.5), y=(0, 1), x_label="share of members removed"))


def _removal(result: dict) -> Part:
    rows = [row for row in result["sweep"] if row["by"] == HIGHEST]
    scaled = [row["after"]["shapr"]["mean"] / (1 - row["share"]) for row in rows]
    changes = [after - before for before, after in itertools.pairwise(scaled)]
    consistent = all(change > 0 for change in changes) or all(change < 0 for change in changes)
    higher = sum(direction(row["after"]["attack"]) == "higher" for row in rows)
    row = Row(
        where="Figure 2",
        what="removal of members with high SHAPr",
        size="other data",
        largest=_has_papers_location(result),
        detail=(
            f"{', '.join(_names(result['sizes']))} (paper: {SPRS_DATASETS}); {result['repeats']['count']} targets; "
            f"{_members(result['sizes'])}"
        ),
        agrees=NO if consistent else YES,
        finding=(
            f"SHAPr of the remaining members has {'a' if consistent else 'no'} consistent trend (paper: none). The "
            f"attack on them is more accurate than before at {higher} of {len(rows)} shares."
        ),
        results=("removal",),
    )
    name = "shapr_removal.svg"
    alternative = "SHAPr and attack accuracy of the remaining members of LOCATION against the share of members removed."
    text = image(
        name, alternative, "Members with the highest SHAPr removed, or random ones. The paper prints no values."
    )
    svg = picture([[_removal_panel(result)]], alternative)
    return Part(rows=(row,), text=text, pictures={name: svg}, tables={"figure2.csv": csv_table(result["sweep"])})


def _noise(result: dict) -> Part:
    rows = result["correlations"]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    names = [SOURCES[name].paper for name in datasets]
    by_query = {(row["dataset"], row["risk"], row["queried"]): row["r"] for row in rows}

    def same(risk: str, queried: str) -> int:
        index = ("shapr", "score").index(risk)
        pairs = ((by_query[name, risk, queried], CORRELATIONS[SOURCES[name].paper][index]) for name in datasets)
        return sum(r is not None and r * paper > 0 for r, paper in pairs)

    cells = {(row["dataset"], row["size"], row["half"], row["queried"]): row["metrics"] for row in result["sweep"]}
    largest = max(row["size"] for row in result["sweep"])
    rises = sum(direction(cells[name, largest, CLEAN, TRAINED]["shapr"]) == "higher" for name in datasets)
    falls = sum(direction(cells[name, largest, NOISY, TRAINED]["shapr"]) == "lower" for name in datasets)
    detail = f"{len(datasets)} of 10 datasets; {result['repeats']['count']} targets each; {_members(result['sizes'])}"
    size, largest = _size(result["sizes"], SOURCES)
    summary_rows = (
        Row(
            where="Table X, SHAPr",
            what="correlation of SHAPr with the attack under FGSM noise",
            size=size,
            largest=largest,
            detail=detail,
            agrees=verdict(same("shapr", KNOWN), len(datasets)),
            finding=(
                f"the published sign on {same('shapr', KNOWN)} of {len(datasets)} datasets if the attacker queries "
                f"the original records, as the paper's argument implies; on {same('shapr', TRAINED)} if it queries the "
                "noisy ones."
            ),
            results=("noise",),
        ),
        Row(
            where="Table X, risk score",
            what="correlation of the risk score with the attack",
            size=size,
            largest=largest,
            detail=detail,
            agrees=verdict(same("score", MIXED), len(datasets)),
            finding=(
                f"the published sign on {same('score', MIXED)} of {len(datasets)} datasets with this attacker, if the "
                f"score reads noisy records; on {same('score', KNOWN)} if it reads original ones."
            ),
            results=("noise",),
        ),
        Row(
            where="Figures 6 and 7",
            what="SHAPr of the noisy and the clean half",
            size=size,
            largest=largest,
            detail=detail,
            agrees=verdict(falls, len(datasets)),
            finding=(
                f"SHAPr of the noisy half falls on {falls} of {len(datasets)} datasets, as published. That of "
                f"the clean half rises on {rises}; the paper names {len(CLEAN_RISES)} of 10."
            ),
            results=("noise",),
        ),
    )
    x = list(range(len(datasets)))
    panels = []
    for index, (risk, title) in enumerate((("shapr", "SHAPr"), ("score", "risk score"))):
        series = [
            Series(
                f"{QUERY_LABELS[queried]}, ours",
                [position + 0.1 * shift - 0.15 for position in x],
                [by_query[name, risk, queried] for name in datasets],
                style="points",
            )
            for shift, queried in enumerate(QUERIES[risk])
        ]
        printed = [CORRELATIONS[name][index] for name in names]
        series.append(published("paper", x, printed, shift=0.14))
        panels.append(Panel(f"Table X: {title}", series, Axes(y=(-1, 1), names=names, y_label="correlation")))
    first = "shapr_correlations.svg"
    correlations_alt = (
        "Correlation, over noise sizes, of mean SHAPr and of the mean risk score with the attack's accuracy, by "
        "dataset: ours and the published values."
    )
    second = "shapr_noise.svg"
    sweep_alt = (
        "SHAPr of the noisy and the clean half, and the attack's accuracy on the noisy half, against the size of the "
        "noise, by dataset."
    )
    highest = max(row["metrics"]["shapr"]["mean"] for row in result["sweep"])
    sweeps = [_noise_panel(name, result["sweep"], max(1.75, highest)) for name in datasets]
    grid = [sweeps[start : start + 4] for start in range(0, len(sweeps), 4)]
    text = "\n".join(
        [
            image(first, correlations_alt, "Correlations of means over targets."),
            image(second, sweep_alt, "A random half of the members has FGSM noise. The paper prints no values."),
        ]
    )
    correlations = csv_table(
        [{**row, "dataset": SOURCES[row["dataset"]].paper} for row in rows],
        lambda row: {"r": CORRELATIONS[row["dataset"]][list(QUERIES).index(row["risk"])]},
    )
    tables = {"table10.csv": correlations, "figure6.csv": csv_table(result["sweep"])}
    return Part(
        rows=summary_rows,
        text=text,
        pictures={first: picture([[panel] for panel in panels], correlations_alt), second: picture(grid, sweep_alt)},
        tables=tables,
    )


def _noise_panel(dataset: str, sweep: Sequence[dict], highest: float) -> Panel:
    curves: dict[str, tuple[str, str, str]] = {
        "SHAPr, noisy half": ("shapr", NOISY, TRAINED),
        "SHAPr, clean half": ("shapr", CLEAN, TRAINED),
        "attack, noisy records": ("attack", NOISY, TRAINED),
        "attack, original records": ("attack", NOISY, KNOWN),
    }
    series = []
    for name, (key, half, queried) in curves.items():
        rows = [
            row
            for row in sweep
            if (row["dataset"], row["half"], row["queried"]) == (dataset, half, queried) and row["size"]
        ]
        series.append(Series(name, [log2(row["size"]) for row in rows], [row["metrics"][key]["mean"] for row in rows]))
    ticks = [(power, f"{2**power}") for power in (0, 4, 8)]
    return Panel(
        SOURCES[dataset].paper, series, Axes(x=(-0.3, 8.8), y=(0, highest), x_label="noise × 255", ticks=ticks)
    )


def _backdoors(result: dict) -> Part:
    rows = result["backdoors"]
    lower = [row for row in rows if direction(row["poisoned"]["shapr"]) == "lower"]
    triggers = [row for row in rows if row["backdoor"] == TRIGGER]
    success = [row["success"]["mean"] for row in triggers]
    labels = [row["poisoned"]["train"]["mean"] for row in rows if row["backdoor"] == LABEL]
    means = {
        backdoor: [row["poisoned"]["shapr"]["mean"] for row in rows if row["backdoor"] == backdoor]
        for backdoor in (TRIGGER, LABEL)
    }
    sizes = ", ".join(
        f"{SOURCES[name].paper} with {size['members']:,} members" for name, size in result["sizes"].items()
    )
    row = Row(
        where="Section X-B",
        what="SHAPr of members with a backdoor",
        size="reduced",
        detail=f"{sizes}; {result['repeats']['count']} targets; the paper states it without an experiment",
        agrees=verdict(len(lower), len(rows)),
        finding=(
            f"SHAPr of poisoned members is lower in {len(lower)} of {len(rows)} settings: {_range(means[TRIGGER])} with "
            f"a trigger (success {_range(success)}), {_range(means[LABEL])} with a wrong label ({_range(labels)} "
            f"memorised); others {_range([row['clean']['shapr']['mean'] for row in rows])}."
        ),
        results=("backdoors",),
    )
    settings = [f"{SOURCES[row['dataset']].paper}, {row['backdoor']}" for row in rows]
    x = list(range(len(rows)))
    panels = []
    for title, key in (("SHAPr times members", "shapr"), ("attack accuracy", "attack")):
        series = [
            _points("poisoned members", [position - 0.08 for position in x], [row["poisoned"][key] for row in rows]),
            _points("other members", [position + 0.08 for position in x], [row["clean"][key] for row in rows]),
        ]
        panels.append(Panel(f"Section X-B: {title}", series, Axes(names=settings)))
    name = "shapr_backdoors.svg"
    alternative = (
        "SHAPr and attack accuracy of members with a backdoor and of other members, by dataset and type of backdoor."
    )
    text = image(name, alternative, "5% of the members are poisoned. Bars: one standard deviation over targets.")
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture([[panel] for panel in panels], alternative)},
        tables={"backdoors.csv": csv_table(rows)},
    )


def _range(values: Sequence[float]) -> str:
    """Return the smallest and the largest value, or one number where they are equal after rounding."""
    return " to ".join(dict.fromkeys((f"{min(values):.2f}", f"{max(values):.2f}")))


def _points(name: str, x: Sequence[float], metrics: Sequence[dict], factor: float = 1.0) -> Series:
    """Return means with bars of one standard deviation."""
    values = [None if metric["mean"] is None else factor * metric["mean"] for metric in metrics]
    low, high = (
        [factor * ((metric["mean"] or 0.0) + sign * (metric["deviation"] or 0.0)) for metric in metrics]
        for sign in (-1, 1)
    )
    return Series(name, x, values, low=low, high=high, style="points")


def _line(name: str, x: Sequence[float], metrics: Sequence[dict], count: int) -> Series:
    """Return means with 95% confidence intervals over targets."""
    errors = [1.96 * (metric["deviation"] or 0.0) / sqrt(count) for metric in metrics]
    means = [metric["mean"] for metric in metrics]
    low, high = ([mean + sign * error for mean, error in zip(means, errors, strict=True)] for sign in (-1, 1))
    return Series(name, x, means, low=low, high=high)


DATASETS: tuple[Callable[[Results], Part], ...] = (_effects, _table8, _table9, _distributions)
ALONE: dict[str, Callable[[dict], Part]] = {
    "times": _times,
    "attribution": _attribution,
    "regularisation": _regularisation,
    "removal": _removal,
    "noise": _noise,
    "backdoors": _backdoors,
}
