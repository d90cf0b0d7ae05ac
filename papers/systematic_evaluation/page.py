"""docs/papers_systematic_evaluation.md, made from ``results/``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from math import hypot, sqrt
from statistics import fmean, stdev

import numpy as np
from scipy import stats

from papers.pages import NO, OPEN, YES, Agreement, Page, Part, Row, Texts, csv_table, image, page_of, verdict
from papers.pictures import Axes, Panel, Series, picture, published
from papers.systematic_evaluation.defended import ADAPTIVE, KNOWS_HALF, NAIVE
from papers.systematic_evaluation.difficulty import AS_THEY_ARE, EVEN, UNEVEN
from papers.systematic_evaluation.distributions import GRID, PRIORS
from papers.systematic_evaluation.memguard import WITHOUT_LABEL
from papers.systematic_evaluation.pairs import (
    ADV_REG,
    CIFAR_IMAGES,
    EARLY,
    HALF,
    LOCATION,
    MEMGUARD,
    NO_DEFENCE,
    PUBLIC,
    PUBLIC_500,
    SHADOW,
    STUDIES,
)
from papers.systematic_evaluation.published import (
    ABOVE_SIX_TENTHS,
    ATTACKS,
    BY_ADV_REG,
    BY_MEMGUARD,
    CONFIDENT,
    DISTANCES,
    GAP_CORRELATION,
    IMAGES,
    NETWORKS,
    RMSE,
    RMSE_ARCHITECTURES,
    RMSE_DEFENDED,
    TEXAS_THRESHOLDS,
    WHITE_BOX,
)
from papers.systematic_evaluation.results import read
from papers.systematic_evaluation.risk_scores import NETWORK, RISK
from papers.systematic_evaluation.subjects import AUTHORS, AUTHORS_MEMGUARD
from papers.systematic_evaluation.uneven import named
from papers.systematic_evaluation.white_box import WHITE_BOX_NETWORK

OURS = (NO_DEFENCE, ADV_REG, EARLY, MEMGUARD)  # trainings of our models
CHANGES = (UNEVEN, EVEN)  # an experiment and its control
LIMIT = 0.10  # RMSE up to which a risk score counts as calibrated
AUTHORS_MEMBERS = 1000  # of the authors' Location30 model
LEAST_SHOWN = 5  # members of a risk score whose mean and quartiles are drawn
GUESS = 3.0  # an attack within this many points of 50 guesses
METRIC_ATTACKS = tuple(name for name in ATTACKS if name not in NETWORKS)
OTHER_DATA = "Location30 and CIFAR100 features instead of Purchase100 and Texas100"
LOCATION_ONLY = "Location30 instead of Purchase100 and Texas100"
INTRODUCTION = """Song & Mittal attack with metrics and a threshold per class, re-evaluate two defences, and define the privacy risk score.
Attack accuracies are balanced, in percent; guessing has 50.
An adaptive attacker knows the defence, a naive one does not.
"""  # noqa: E501
SETTING = """## Setting

- The public recipe is that of the released MemGuard code. Other networks train with AdamW for 20 epochs (Location30) or 12 (CIFAR100).
- Targets and shadow models have separate records: 1,000 members of Location30, 5,000 of CIFAR100 features.
- AdvReg has guestlist's default weight, unless released settings are named. Weights 0.5, 3 and 10 were tried on one target each, with attack results in view.
- Early stopping in Table 2 interpolates between two stored epochs, to the test accuracy of AdvReg; below that of the first epoch, between an untrained model (accuracy 1/30, attack accuracy 50) and this epoch. Elsewhere it takes the closest epoch.
"""  # noqa: E501
NOT_RUN = (
    Row(
        where="Purchase100, Texas100",
        what="the paper's main datasets",
        size="not possible",
        detail="the data are not available here; commands `purchase100` and `texas100` read a user's files",
    ),
    Row(
        where="Figure 12",
        what="risk score of defended models with seven architectures",
        size="not run",
        detail="python -m papers.systematic_evaluation figure12",
        results=("figure12",),
    ),
)
TEXTS = Texts("systematic_evaluation", "Song & Mittal (2021): systematic evaluation", INTRODUCTION, SETTING, NOT_RUN)


def page() -> Page:
    return page_of(TEXTS, PARTS, read)


def _table4(result: dict) -> Part:
    rows = result["accuracies"]
    same = all(row["accuracy"] == row["paper"] for row in rows)
    networks = {(row["defended"], row["shadow_defended"], row["attack"]): row["accuracy"] for row in result["networks"]}
    undefended, defended_accuracy = networks[False, False, WITHOUT_LABEL], networks[True, False, WITHOUT_LABEL]
    published_networks = [BY_MEMGUARD[f"Location30, {training}"][1][0] for training in (NO_DEFENCE, MEMGUARD)]
    summary_rows = (
        Row(
            where="Table 4, metric attacks",
            what="MemGuard on the authors' Location30 model",
            size="full",
            detail="the authors' predictions",
            agrees=YES if same else NO,
            finding="all eight accuracies equal the published ones to the last digit."
            if same
            else "not all accuracies equal the published ones.",
            results=("table4",),
        ),
        Row(
            where="Table 4, networks",
            what="attack networks on the authors' Location30 model",
            size="full",
            detail="two networks of our own, one without labels",
            agrees=YES if abs(defended_accuracy - 50) < GUESS else NO,
            finding=(
                f"MemGuard reduces a naive network without labels from {undefended:.1f} to {defended_accuracy:.1f} (published "
                f"{published_networks[0]} to {published_networks[1]})."
            ),
            results=("table4",),
        ),
    )
    gains = next(
        row["gains"] for row in result["thresholds"] if (row["training"], row["source"]) == (NO_DEFENCE, SHADOW)
    )
    gained = {gain["metric"]: gain for gain in gains}
    gain_list = ", ".join(f"{gain['gain']:+.1f} ({name})" for name, gain in gained.items())
    summary_rows += (
        Row(
            where="Table 3, authors' predictions",
            what="a threshold per class instead of one, on the authors' Location30 model",
            size="other data",
            largest=_has_authors_size(result),
            detail="Location30 instead of Texas100; the authors' predictions",
            agrees=YES if min(gained[name]["gain"] for name in ("confidence", "mentr")) > 1 else NO,
            finding=f"thresholds per class gain {gain_list}; published {_texas_gain():+.1f} on average (Texas100).",
            results=("table4",),
        ),
    )
    attacks = list(dict.fromkeys(row["attack"] for row in rows))
    series = []
    for index, (defended, name) in enumerate(((False, "no defence"), (True, "MemGuard"))):
        gains = {row["attack"]: row for row in rows if row["defended"] == defended}
        x = [position + 0.3 * index - 0.2 for position in range(len(attacks))]
        series.append(Series(f"{name}, ours", x, [gains[attack]["accuracy"] for attack in attacks], style="points"))
        series.append(
            published(
                f"{name}, paper", x, [gains[attack]["paper"] for attack in attacks], like=f"{name}, ours", shift=0.1
            )
        )
    name = "systematic_evaluation_table4.svg"
    alternative = (
        "Accuracy of four metric attacks on the authors' Location30 model, without a defence and with MemGuard: ours "
        "and the published values."
    )
    svg = picture([[Panel("Table 4", series, Axes(y=(50, 80), names=attacks, y_label="%"))]], alternative)
    shadow, half = (
        next(row for row in result["sources"] if (row["training"], row["source"]) == (NO_DEFENCE, source))
        for source in (SHADOW, HALF)
    )
    text = (
        "## Attacks and defences (Tables 1 to 5 and 7)\n\n"
        "The released evaluation of AdvReg takes thresholds from half of the target's records. On the authors' "
        f"predictions this gives RMSE {half['rmse'][0]:.2f} (with a shadow model {shadow['rmse'][0]:.2f}), and "
        f"correlation {half['correlation'][0]:.2f} ({shadow['correlation'][0]:.2f}) in Figure 8.\n\n"
        + image(name, alternative, "The authors' predictions, our attacks.")
    )
    tables = {
        "table4.csv": csv_table(rows),
        "table4_networks.csv": csv_table(result["networks"]),
        "table4_thresholds.csv": csv_table(_gain_rows(result["thresholds"])),
        "table4_sources.csv": csv_table(result["sources"]),
    }
    return Part(rows=summary_rows, text=text, pictures={name: svg}, tables=tables)


def _with_targets(detail: str, result: dict) -> str:
    """Return a detail with the number of targets of each dataset."""
    repeats = result["repeats"]
    counts = [repeats["count"], *map(int, re.findall(r", (\d+) of ", repeats.get("unit", "")))]
    return f"{detail}; {' and '.join(map(str, counts))} target{'s' * (max(counts) > 1)}"


def _has_authors_size(result: dict) -> bool:
    """Return whether models of Location30, which replaces larger datasets, have as many members as the authors' model."""
    members = [size["members"] for name, size in result.get("sizes", {}).items() if name.startswith(LOCATION)]
    return bool(members) and min(members) >= AUTHORS_MEMBERS


def _table2(result: dict) -> Part:
    accuracy = {(row["dataset"], row["training"], row["attacker"], row["attack"]): row for row in result["attacked"]}
    datasets = list(dict.fromkeys(row["dataset"] for row in result["fitted"]))

    def best(dataset: str, training: str, attacker: str = ADAPTIVE, attacks: Iterable[str] = ATTACKS) -> dict:
        return max((accuracy[dataset, training, attacker, name] for name in attacks), key=lambda row: row["accuracy"])

    pairs = {dataset: (best(dataset, ADV_REG), best(dataset, EARLY)) for dataset in datasets}
    verdicts = {_no_better(*pair) for pair in pairs.values() if len(pair[0]["by_target"]) > 1}
    compared = "; ".join(f"{_compared(*pair)} ({dataset})" for dataset, pair in pairs.items())
    rows = [
        Row(
            where="Table 2",
            what="AdvReg and early stopping",
            size="other data",
            largest=_has_authors_size(result),
            detail=_with_targets(OTHER_DATA, result),
            agrees=verdicts.pop() if len(verdicts) == 1 else OPEN,
            finding=f"best attack with AdvReg and with early stopping at equal test accuracy: {compared}; paper: no better.",
            results=("table2",),
        )
    ]
    without_label = _without_label()
    for training, paper in ((ADV_REG, BY_ADV_REG), (MEMGUARD, BY_MEMGUARD)):
        if (LOCATION, training, NAIVE, NETWORKS[0]) in accuracy:
            naive = best(LOCATION, training, NAIVE, NETWORKS)["accuracy"]
            metric = best(LOCATION, training, ADAPTIVE, METRIC_ATTACKS)["accuracy"]
            published_gaps = [
                max(values[1][1:]) - values[1][0] for name, values in paper.items() if name.endswith(training)
            ]
            gap, networks, others = metric - naive, "naive networks", ""
            if training == MEMGUARD and without_label:
                gap, networks = (
                    metric - without_label[MEMGUARD],
                    "a naive network without the label, as MemGuard's authors use,",
                )
                others = (
                    f" Without MemGuard this network has {without_label[NO_DEFENCE]:.1f}. Naive networks with the label are "
                    f"not misled: {metric - naive:+.1f}."
                )
            rows.append(
                Row(
                    where=f"Table 1, {training}",
                    what=f"naive networks understate the risk under {training}",
                    size="other data",
                    largest=_has_authors_size(result),
                    detail=_with_targets(LOCATION_ONLY if training == ADV_REG else "our own Location30 models", result),
                    agrees=YES if gap > 0.5 else NO,
                    finding=(
                        f"adaptive metrics minus {networks} {gap:+.1f} points (published "
                        f"{min(published_gaps):+.1f} to {max(published_gaps):+.1f}).{others}"
                    ),
                    results=("table2", "memguard_network") if others else ("table2",),
                )
            )
    trainings = (NO_DEFENCE, ADV_REG, EARLY)
    series = []
    for index, dataset in enumerate(datasets):
        chosen = [best(dataset, training, attacks=METRIC_ATTACKS) for training in trainings]
        series.append(_points(f"{dataset}, ours", [position + 0.08 * index for position in range(3)], chosen))
    for index, dataset in enumerate(("Purchase100", "Texas100")):
        values = [max(BY_ADV_REG[f"{dataset}, {training}"][1][1:]) for training in trainings]
        series.append(published(f"{dataset}, paper", range(3), values, shift=0.08 * (index + 2)))
    name = "systematic_evaluation_table2.svg"
    alternative = (
        "Accuracy of the best metric attack without a defence, with AdvReg and with early stopping: ours on two "
        "datasets, published on two others."
    )
    svg = picture([[Panel("Table 2", series, Axes(y=(50, 100), names=trainings, y_label="%"))]], alternative)
    text = image(
        name,
        alternative,
        "Best of four metric attacks, adaptive attacker. Bars, also below: one standard deviation over targets.",
    )
    tables = {
        "table2.csv": csv_table(result["attacked"]),
        "table2_models.csv": csv_table(result["fitted"]),
        "table2_paper.csv": _published_defences(),
    }
    return Part(rows=tuple(rows), text=text, pictures={name: svg}, tables=tables)


def _without_label() -> dict[str, float]:
    """Return the accuracy of a naive network without the label by training, where it has been run."""
    result = read("memguard_network")
    return {row["training"]: row["accuracy"] for row in result["naive"]} if result else {}


def _no_better(defended: dict, early: dict) -> Agreement:
    """Return "yes" where the interval shows AdvReg's best attack to be stronger, "no" where it is weaker, else "open"."""
    interval = difference(defended, early)
    if interval is None or interval[1] <= 0 <= interval[2]:
        return OPEN
    return YES if interval[0] > 0 else NO


def difference(first: dict, second: dict) -> tuple[float, float, float] | None:
    """Return the mean difference of two attacks over targets with its 95% interval (Student's t); None with one target."""
    differences = np.subtract(first["by_target"], second["by_target"])
    if len(differences) < 2:
        return None
    error = float(stats.sem(differences) * stats.t.ppf(0.975, len(differences) - 1))
    mean = float(differences.mean())
    return mean, mean - error, mean + error


def _compared(defended: dict, early: dict) -> str:
    """Return both accuracies, and their difference with its interval."""
    text = f"{defended['accuracy']:.1f} and {early['accuracy']:.1f}"
    interval = difference(defended, early)
    if interval is None:
        return f"{text}, one target"
    return f"{text}, difference {interval[0]:+.1f} (95% CI {interval[1]:+.1f} to {interval[2]:+.1f})"


def _published_defences() -> str:
    names = ("network", *(name.removeprefix("class_") for name in METRIC_ATTACKS))
    rows = [
        {"model": model, "train": train, "test": test} | dict(zip(names, values, strict=True))
        for table in (BY_ADV_REG, BY_MEMGUARD)
        for model, ((train, test), values) in table.items()
    ]
    return csv_table(rows)


def _texas_gains() -> dict[tuple[str, str], float]:
    """Return the published gains by training and metric."""
    return {
        (training, metric): per_class - single
        for training, metrics in TEXAS_THRESHOLDS.items()
        for metric, (single, per_class) in metrics.items()
    }


def _texas_gain() -> float:
    return fmean(_texas_gains().values())


def _gain_rows(trained: Sequence[dict]) -> list[dict]:
    return [
        {name: row[name] for name in ("dataset", "training", "source")} | gain
        for row in trained
        for gain in row["gains"]
    ]


def _table3(result: dict) -> Part:
    rows = _gain_rows(result["trained"])
    ours = fmean(row["gain"] for row in rows)
    texas_gains = _texas_gains()
    row = Row(
        where="Table 3",
        what="a threshold per class instead of one",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets("Location30 instead of Texas100", result),
        agrees=YES if ours > 1 else NO,
        finding=f"on average {ours:+.1f} points on our models (published {_texas_gain():+.1f}).",
        cause=_difficulty_cause(),
        results=("table3", *_with_cause("difficulty")),
    )
    names = [f"{row['training']}, {row['metric']}" for row in rows]
    x = list(range(len(rows)))
    series = [
        _points(
            "gain, ours (Location30)",
            x,
            [{"accuracy": row["gain"], "deviation": row["gain_deviation"]} for row in rows],
        ),
        published(
            "gain, paper (Texas100)",
            x,
            [texas_gains[row["training"], row["metric"]] for row in rows],
            like="gain, ours (Location30)",
            shift=0.15,
        ),
    ]
    short = [
        name.replace("no defence", "none")
        .replace("early stopping", "early")
        .replace("confidence", "conf.")
        .replace("entropy", "entr.")
        for name in names
    ]
    name = "systematic_evaluation_table3.svg"
    alternative = (
        "Gain of a threshold per class over one threshold, by defence and metric: ours on Location30 and published "
        "on Texas100."
    )
    svg = picture([[Panel("Table 3", series, Axes(names=short, y_label="points"))]], alternative)
    text = image(name, alternative, "Labels: defence and metric.")

    def paper(row: dict) -> dict:
        single, per_class = TEXAS_THRESHOLDS[row["training"]][row["metric"]]
        return {"single": single, "per_class": per_class}

    return Part(rows=(row,), text=text, pictures={name: svg}, tables={"table3.csv": csv_table(rows, paper)})


def _with_cause(name: str) -> tuple[str, ...]:
    """Return the name of an experiment on a cause, where it has been run."""
    return (name,) if read(name) else ()


def _difficulty_cause() -> str:
    """Return what the experiment with classes of unequal difficulty shows, where it has been run."""
    result = read("difficulty")
    if not result:
        return ""
    gains = {
        (row["records"], row["references"]): (gain["gain"], gain["gain_deviation"])
        for row in result["changed"]
        for gain in row["gains"]
        if gain["metric"] == "mentr"
    }
    largest = max(references for _, references in gains)
    uneven, plain = gains[UNEVEN, largest], gains[AS_THEY_ARE, largest]
    if not beyond(uneven, plain, result["repeats"]["count"]):
        return ""
    return (
        f"With label noise in half of the classes ({largest} references) it is {uneven[0]:+.1f}, without "
        f"{plain[0]:+.1f}; an earlier version with one shadow model showed no effect."
    )


def beyond(larger: tuple, smaller: tuple, targets: int) -> bool:
    """Tell whether a (mean, standard deviation) over targets is larger by two standard errors; never with one target."""
    (high, high_deviation), (low, low_deviation) = larger, smaller
    if high_deviation is None or low_deviation is None:
        return False
    return high - low > 2 * hypot(high_deviation, low_deviation) / sqrt(targets)


def _difficulty(result: dict) -> Part:
    rows = [
        {"records": row["records"], "references": row["references"], **gain}
        for row in result["changed"]
        for gain in row["gains"]
    ]
    return Part(tables={"difficulty.csv": csv_table(rows), "difficulty_levels.csv": csv_table(result["levels"])})


def _table5(result: dict) -> Part:
    rows = result["outcomes"]
    accuracy = {row["attack"]: row["accuracy"] for row in rows}
    white_boxes = {name: accuracy[name] for name in ("white_box", WHITE_BOX_NETWORK) if name in accuracy}
    black_box = max(value for name, value in accuracy.items() if name not in white_boxes)
    advantages = [value - black_box for value in white_boxes.values()]
    names = ["random forest", "network"][: len(advantages)]
    published_advantages = {
        name: values["white_box"] - max(value for attack, value in values.items() if attack != "white_box")
        for name, values in WHITE_BOX.items()
    }
    row = Row(
        where="Table 5",
        what="white-box and black-box attacks",
        size="other data",
        largest=_has_authors_size(result),
        detail=f"Location30 instead of three datasets; {result['repeats']['count']} targets; a smaller attack network",
        agrees=YES if max(advantages) < 2 else NO,
        finding=(
            f"white box ({' and '.join(names)}) minus best black box "
            f"{' and '.join(f'{value:+.1f}' for value in advantages)} points (published "
            f"{min(published_advantages.values()):+.1f} to {max(published_advantages.values()):+.1f})."
        ),
        results=("table5",),
    )
    x = list(range(len(rows)))
    series = [_points("Location30, ours", x, rows)]
    for index, (dataset, values) in enumerate(WHITE_BOX.items(), start=1):
        printed = [values[row["attack"].replace(WHITE_BOX_NETWORK, "white_box")] for row in rows]
        series.append(published(f"{dataset}, paper", x, printed, shift=0.1 * index))
    name = "systematic_evaluation_table5.svg"
    alternative = (
        "Accuracy of two white-box and five black-box attacks: ours on Location30, published on three other datasets."
    )
    labels = [row["attack"].replace("_", " ") for row in rows]
    svg = picture([[Panel("Table 5", series, Axes(y=(50, 100), names=labels, y_label="%"))]], alternative)
    text = (
        "Both white-box attacks know half of the records and attack the others. The random forest is guestlist's "
        "`white_box`. The network is that of Nasr et al. (2019) in a smaller size: one filter per class over the last layer's "
        "gradient, and branches for outputs, label and loss.\n\n"
    ) + image(
        name,
        alternative,
        f"Training accuracy of our networks: {result['fitted'][0]['train_accuracy']:.0f}%. The paper's white box is a network; "
        "its values are drawn at both of ours.",
    )
    by_attack = {
        attack: {dataset: values[attack] for dataset, values in WHITE_BOX.items()} for attack in WHITE_BOX["Texas100"]
    }
    return Part(
        rows=(row,),
        text=text,
        pictures={name: svg},
        tables={
            "table5.csv": csv_table(rows, lambda row: by_attack[row["attack"].replace(WHITE_BOX_NETWORK, "white_box")])
        },
    )


def _table7(result: dict) -> Part:
    accuracy = {row["attack"]: row["accuracy"] for row in result["attacked"]}
    ours = max(accuracy[name] for name in METRIC_ATTACKS) - accuracy["attack network"]
    published_gaps = [
        max(values[name] for name in METRIC_ATTACKS) - values["attack network"] for values in IMAGES.values()
    ]
    row = Row(
        where="Table 7",
        what="models of images",
        size="other data",
        detail="CIFAR100 features instead of CH-MNIST and Car196; 1 target",
        agrees=YES if ours > 0 else NO,
        finding=(
            f"best metric minus network {ours:+.1f} points (published {min(published_gaps):+.1f} and {max(published_gaps):+.1f})."
        ),
        results=("table7",),
    )
    csv_text = csv_table(
        result["attacked"], lambda row: {name: values[row["attack"]] for name, values in IMAGES.items()}
    )
    return Part(rows=(row,), text="", pictures={}, tables={"table7.csv": csv_text})


def _figure3(result: dict) -> Part:
    rows = result["calibrated"]
    errors = {(row["dataset"], row["training"], row["estimate"]): _rmse(row) for row in rows}
    trainings = list(dict.fromkeys(row["training"] for row in rows))
    summary_rows = []
    if (LOCATION, NO_DEFENCE, RISK) in errors:
        risk, network = (errors[LOCATION, NO_DEFENCE, estimate] for estimate in (RISK, NETWORK))
        ratio = fmean(rmse_name / calibration_name for calibration_name, rmse_name in RMSE.values())
        cause, tried = _longer_training(errors)
        scores = [value for (_, training, estimate), value in errors.items() if estimate == RISK and training in OURS]
        calibrated = sum(value <= LIMIT for value in scores)
        summary_rows = [
            Row(
                where="Figure 3",
                what="calibration of the risk score",
                size="other data",
                largest=_has_authors_size(result),
                detail=_with_targets(OTHER_DATA, result),
                agrees=verdict(calibrated, len(scores)),
                finding=(
                    f"the score's RMSE is at most {LIMIT:.2f} for {calibrated} of {len(scores)} of our models, {risk:.2f} "
                    "for Location30 without a defence (published "
                    f"{min(calibration_name for calibration_name, _ in RMSE.values()):.2f} to "
                    f"{max(calibration_name for calibration_name, _ in RMSE.values()):.2f})."
                ),
                results=("figure3",),
            ),
            Row(
                where="Figure 11",
                what="calibration of the attack network",
                size="other data",
                largest=_has_authors_size(result),
                detail=_with_targets(OTHER_DATA, result),
                agrees=YES if network > 2 * risk else NO,
                finding=f"the network's RMSE is {network / risk:.1f} times the score's (published {ratio:.1f}).{tried}",
                cause=cause,
                results=("figure3", *_with_cause("attack_networks")),
            ),
        ]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    panels = []
    for dataset in datasets:
        series = [
            Series(row["training"], [part[1] for part in row["bins"]], [part[2] for part in row["bins"]])
            for row in rows
            if (row["dataset"], row["estimate"]) == (dataset, RISK) and row["training"] in OURS
        ]
        series.append(published("calibrated", (0, 1), (0, 1), style="curve"))
        panels.append(
            Panel(dataset, series, Axes(x=(0, 1), y=(0, 1), x_label="risk score", y_label="share of members"))
        )
    calibration_name = "systematic_evaluation_figure3.svg"
    calibration_text = (
        "Share of members among records against their risk score, by defence and dataset, with the diagonal of a "
        "calibrated score."
    )
    rmse_name = "systematic_evaluation_rmse.svg"
    rmse_text = (
        "RMSE of the risk score and of the attack network by model: ours on Location30 and the published values."
    )
    ours = [training for training in trainings if (LOCATION, training, RISK) in errors]
    our_series = [
        Series(
            f"{estimate}, ours",
            list(range(len(ours))),
            [errors[LOCATION, training, estimate] for training in ours],
            style="points",
        )
        for estimate in (RISK, NETWORK)
    ]
    printed = {tuple(name.replace("adversarial regularisation", ADV_REG).split(", ")): name for name in RMSE}
    shifts = {"Purchase100": 0.12, "Texas100": 0.24}
    shown = [key for key in printed if key[1] in ours]
    paper_series = [
        published(
            f"{estimate}, paper (Purchase100, Texas100)",
            [ours.index(training) + shifts[dataset] for dataset, training in shown],
            [RMSE[printed[key]][index] for key in shown],
            like=f"{estimate}, ours",
        )
        for index, estimate in enumerate((RISK, NETWORK))
    ]
    text = "\n".join(
        [
            "## The privacy risk score (Figures 2 to 11, Table 6)\n",
            image(calibration_name, calibration_text, "First target (Figure 3)."),
            image(
                rmse_name,
                rmse_text,
                "Our models and the authors' predictions on Location30. Open markers: the paper's Purchase100 (left) and "
                "Texas100 (right).",
            ),
        ]
    )
    names = [name.replace("authors' model, MemGuard", "authors', MemGuard") for name in ours]
    grid = [
        [Panel("Figures 3 and 11", [*our_series, *paper_series], Axes(y=(0, 0.35), names=names, y_label="RMSE"))],
    ]
    pictures = {calibration_name: picture([panels], calibration_text), rmse_name: picture(grid, rmse_text)}
    return Part(rows=tuple(summary_rows), text=text, pictures=pictures, tables={"figure3.csv": csv_table(rows)})


def _longer_training(errors: dict[tuple[str, str, str], float]) -> tuple[str, str]:
    """Return the cause of the difference in Figure 11 that attack networks of more epochs show, or that they were tried.

    Args:
        errors: RMSE by dataset, training and estimate.
    """
    result = read("attack_networks")
    if not result:
        return "", ""
    parts, same = [], True
    for dataset in dict.fromkeys(row["dataset"] for row in result["networks"]):
        if (dataset, NO_DEFENCE, RISK) not in errors:
            continue
        rows = [row for row in result["networks"] if row["dataset"] == dataset]
        score = errors[dataset, NO_DEFENCE, RISK]
        last = max(rows, key=lambda row: row["epochs"])
        same = same and _rmse(last) > 2 * score
        values = ", ".join(f"{_rmse(row):.2f}" for row in rows)
        parts.append(f"{values} ({dataset}, score {score:.2f})")
    epochs = ", ".join(str(epochs) for epochs in dict.fromkeys(row["epochs"] for row in result["networks"]))
    text = f"After {epochs} epochs of the network it is {'; '.join(parts)}."
    return (text, "") if same else ("", f" {text}")


def _figure4(result: dict) -> Part:
    errors = {row["training"]: _rmse(row) for row in result["calibrated"]}
    above = [f"{name} ({value:.2f})" for name, value in errors.items() if value >= RMSE_ARCHITECTURES]
    row = Row(
        where="Figure 4",
        what="risk score of seven architectures",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets(LOCATION_ONLY, result),
        agrees=verdict(len(errors) - len(above), len(errors)),
        finding=(
            f"RMSE is below {RMSE_ARCHITECTURES} for {len(errors) - len(above)} of {len(errors)} architectures "
            "(published: all)" + (f"; not for {', '.join(above)}." if above else ".")
        ),
        results=("figure4",),
    )
    x = list(range(len(errors)))
    intervals = [row["rmse"][0] for row in result["calibrated"]]
    series = [
        Series(
            "RMSE, ours",
            x,
            [value for value, _, _ in intervals],
            low=[low for _, low, _ in intervals],
            high=[high for _, _, high in intervals],
            style="points",
        ),
        published("largest RMSE, paper", (-0.5, len(x) - 0.5), (RMSE_ARCHITECTURES, RMSE_ARCHITECTURES), style="curve"),
    ]
    name = "systematic_evaluation_figure4.svg"
    alternative = (
        "RMSE of the risk score for seven architectures with 95% confidence intervals, and the largest published RMSE."
    )
    svg = picture([[Panel("Figure 4", series, Axes(y=(0, 0.25), names=list(errors), y_label="RMSE"))]], alternative)
    text = image(name, alternative, "Labels: activation, width, depth.")
    tables = {"figure4.csv": csv_table(result["calibrated"]), "figure4_aligned.csv": csv_table(result["aligned"])}
    return Part(rows=(row,), text=text, pictures={name: svg}, tables=tables)


def _figure12(result: dict) -> Part:
    rows = {ADV_REG: result["adv_reg"], MEMGUARD: result["memguard"]}
    errors = {f"{row['training']} with {defence}": _rmse(row) for defence, each in rows.items() for row in each}
    within = sum(value < RMSE_DEFENDED for value in errors.values())
    largest = max(errors, key=errors.__getitem__)
    row = Row(
        where="Figure 12",
        what="risk score of defended models with seven architectures",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets(LOCATION_ONLY, result),
        agrees=verdict(within, len(errors)),
        finding=(
            f"RMSE is below {RMSE_DEFENDED:.2f} for {within} of {len(errors)} pairs of architecture and defence "
            f"(published: all), at most {errors[largest]:.2f} ({largest})."
        ),
        results=("figure12",),
    )
    names = [row["training"] for row in result["adv_reg"]]
    x = list(range(len(names)))
    series = [
        Series(
            defence,
            x,
            [row["rmse"][0][0] for row in each],
            low=[row["rmse"][0][1] for row in each],
            high=[row["rmse"][0][2] for row in each],
            style="points",
        )
        for defence, each in rows.items()
    ]
    series.append(published("largest RMSE, paper", (-0.5, len(x) - 0.5), (RMSE_DEFENDED, RMSE_DEFENDED), style="curve"))
    name = "systematic_evaluation_figure12.svg"
    alternative = (
        "RMSE of the risk score for seven architectures with AdvReg and with MemGuard, with 95% confidence intervals, "
        "and the largest published RMSE."
    )
    svg = picture([[Panel("Figure 12", series, Axes(y=(0, 0.6), names=names, y_label="RMSE"))]], alternative)
    text = image(name, alternative, "Labels: activation, width, depth.")
    every = [{"defence": defence, **row} for defence, each in rows.items() for row in each]
    return Part(rows=(row,), text=text, pictures={name: svg}, tables={"figure12.csv": csv_table(every)})


def _figure2(result: dict) -> Part:
    rows = result["epochs"]
    series = [
        Series(
            f"{label}, {training}",
            [row["epochs"] for row in rows if row["training"] == training],
            [row[field] for row in rows if row["training"] == training],
        )
        for training in dict.fromkeys(row["training"] for row in rows)
        for label, field in (("training", "train_accuracy"), ("test", "test_accuracy"))
    ]
    plain, defended = (
        [(row["epochs"], row["test_accuracy"]) for row in rows if row["training"] == training]
        for training in (NO_DEFENCE, ADV_REG)
    )
    last_epoch, reached = defended[-1]
    earlier = [epochs for epochs, accuracy in plain if accuracy >= reached and epochs < last_epoch]
    finding = f"no earlier epoch without a defence has AdvReg's {reached:.0f}%."
    if earlier:
        finding = f"without a defence, AdvReg's {reached:.0f}% of epoch {last_epoch} are reached at epoch {earlier[0]}."
    row = Row(
        where="Figure 2",
        what="accuracy by epoch",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets(LOCATION_ONLY, result),
        agrees=OPEN,  # the paper prints no values, and this comparison was chosen after the run
        finding=finding,
        results=("figure2",),
    )
    name = "systematic_evaluation_figure2.svg"
    alternative = "Training and test accuracy against epochs, without a defence and with AdvReg, on Location30."
    svg = picture(
        [[Panel("Figure 2, Location30", series, Axes(y=(0, 100), x_label="epochs", y_label="%"))]], alternative
    )
    return Part(
        rows=(row,),
        text=image(name, alternative, "Means over targets. The paper prints no values."),
        pictures={name: svg},
        tables={"figure2.csv": csv_table(rows)},
    )


def _figure5(result: dict) -> Part:
    rows = result["spreads"]
    above = next((row["above"][0] for row in rows if row["training"] == AUTHORS_MEMGUARD), None)
    means = {(row["dataset"], row["training"]): row["mean"] for row in rows}
    undefended = {ADV_REG: NO_DEFENCE, MEMGUARD: NO_DEFENCE, AUTHORS_MEMGUARD: AUTHORS}
    lower = [
        mean < means[dataset, undefended[training]]
        for (dataset, training), mean in means.items()
        if training in undefended
    ]
    summary_rows = ()
    if above is not None:
        summary_rows = (
            Row(
                where="Figures 1, 5 and 6",
                what="distribution of members' risk scores",
                size="other data",
                largest=_has_authors_size(result),
                detail=_with_targets(OTHER_DATA, result),
                agrees=OPEN,  # the paper prints other values, and this comparison was chosen after the run
                finding=(
                    f"AdvReg and MemGuard lower the mean in {sum(lower)} of {len(lower)} cases. With MemGuard "
                    f"{above:.0%} of members score above 0.6; published {ABOVE_SIX_TENTHS:.0%}."
                ),
                results=("figure5",),
            ),
        )
    panels = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        series = [
            Series(row["training"], GRID, row["below"], style="curve") for row in rows if row["dataset"] == dataset
        ]
        panels.append(
            Panel(dataset, series, Axes(x=(0, 1), y=(0, 1), x_label="risk score", y_label="share of members up to it"))
        )
    name = "systematic_evaluation_figure5.svg"
    alternative = "Cumulative distribution of members' risk scores, by model and dataset."
    text = image(name, alternative, "Figures 5 and 6. The paper prints one value.")
    return Part(
        rows=summary_rows,
        text=text,
        pictures={name: picture([panels], alternative)},
        tables={"figure5.csv": csv_table(rows)},
    )


def _figure10(result: dict) -> Part:
    rows = result["priors"]
    peaks = {
        dataset: max((row for row in rows if row["dataset"] == dataset), key=lambda row: row["distance"])["prior"]
        for dataset in dict.fromkeys(row["dataset"] for row in rows)
    }
    published_peak = max(DISTANCES, key=DISTANCES.__getitem__)
    cause, tried = _smaller_leak(result)
    row = Row(
        where="Figure 10",
        what="risk scores under other priors",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets(OTHER_DATA, result),
        agrees=YES if set(peaks.values()) == {published_peak} else NO,
        finding=(
            "the distance to the prior is largest at "
            f"{', '.join(f'{prior:g} ({name})' for name, prior in peaks.items())}; published {published_peak:g}.{tried}"
        ),
        cause=cause,
        results=("figure10",),
    )
    series = []
    for dataset in peaks:
        rows_of_dataset = [row for row in rows if row["dataset"] == dataset]
        series.append(
            Series(
                f"{dataset}, ours",
                [row["prior"] for row in rows_of_dataset],
                [row["distance"] for row in rows_of_dataset],
            )
        )
        series.append(Series(f"{dataset}, small leak, ours", PRIORS, _similar_leak(result, dataset)["pooled"]))
    series.append(published("Purchase100, paper", list(DISTANCES), list(DISTANCES.values()), style="line"))
    name = "systematic_evaluation_figure10.svg"
    alternative = (
        "Mean risk score of members minus the prior, against the prior: ours on two datasets and the published values."
    )
    svg = picture(
        [[Panel("Figure 10", series, Axes(x=(0, 1), x_label="prior", y_label="mean score minus prior"))]], alternative
    )
    caption = "Models without a defence. Small leak: fewer epochs, and scores from all classes together."
    text = image(name, alternative, caption)
    tables = {
        "figure10.csv": csv_table(rows, lambda row: {"distance": DISTANCES[row["prior"]]}),
        "figure10_steps.csv": csv_table(result["steps"]),
    }
    return Part(rows=(row,), text=text, pictures={name: svg}, tables=tables)


def _similar_leak(result: dict, dataset: str) -> dict:
    """Return the step of training whose scores from all classes together leak as the paper's, at a prior of 0.5."""
    steps = [row for row in result["steps"] if row["dataset"] == dataset]
    return min(steps, key=lambda row: abs(row["pooled"][PRIORS.index(0.5)] - DISTANCES[0.5]))


def _smaller_leak(result: dict) -> tuple[str, str]:
    """Return the cause of the difference in Figure 10 that models with a small leak show, or that they were tried.

    Their scores are estimated from all classes together.
    """
    parts, same = [], True
    for dataset in dict.fromkeys(row["dataset"] for row in result["steps"]):
        row = _similar_leak(result, dataset)
        largest = max(row["pooled"])
        peak = PRIORS[row["pooled"].index(largest)]
        same = same and peak == 0.5
        differences = [abs(row["pooled"][PRIORS.index(prior)] - value) for prior, value in DISTANCES.items()]
        parts.append(
            f"{largest:.2f} at {peak:g} ({dataset}, epoch {row['epochs']}, at most {max(differences):.2f} from the paper's)"
        )
    text = (
        f"With a leak as small as the paper's, and scores from all classes together, it is {', '.join(parts)}; published "
        f"{DISTANCES[0.5]:g} at 0.5."
    )
    return (text, "") if same else ("", f" {text}")


def _table6(result: dict) -> Part:
    rows = result["calls"]
    models = list(dict.fromkeys((row["dataset"], row["training"]) for row in rows))
    rising = sum(_rises([row for row in rows if (row["dataset"], row["training"]) == model]) for model in models)
    row = Row(
        where="Table 6",
        what="precision and recall by threshold of the risk score",
        size="other data",
        largest=_has_authors_size(result),
        detail=_with_targets(OTHER_DATA, result),
        agrees=verdict(rising, len(models)),
        finding=(
            f"precision never falls with the threshold for {rising} of {len(models)} models (published: all "
            f"{len(CONFIDENT)})."
        ),
        results=("table6",),
    )
    thresholds = list(dict.fromkeys(row["threshold"] for row in rows))
    series = []
    for training in (NO_DEFENCE, ADV_REG):
        rows_of_model = [row for row in rows if (row["dataset"], row["training"]) == (LOCATION, training)]
        series.append(
            Series(
                f"Location30, {training}, ours",
                [row["threshold"] for row in rows_of_model],
                [row["precision"] for row in rows_of_model],
            )
        )
    for model in ("Texas100, no defence", "Purchase100, adversarial regularisation"):
        values = [precision for precision, _ in CONFIDENT[model]]
        series.append(published(f"{model}, paper", thresholds, values, style="line"))
    name = "systematic_evaluation_table6.svg"
    alternative = (
        "Precision against the threshold of the risk score: ours on Location30, published on Texas100 and Purchase100."
    )
    svg = picture(
        [
            [
                Panel(
                    "Table 6",
                    series,
                    Axes(x=(0.5, 1), y=(50, 100), x_label="threshold of the risk score", y_label="precision, %"),
                )
            ]
        ],
        alternative,
    )
    tables = {"table6.csv": csv_table(rows), "table6_paper.csv": _published_confident(thresholds)}
    return Part(
        rows=(row,),
        text=image(name, alternative, "Models without a defence and with AdvReg."),
        pictures={name: svg},
        tables=tables,
    )


def _rises(rows: Sequence[dict]) -> bool:
    """Tell whether precision never falls as the threshold rises."""
    ordered = sorted((row for row in rows if row["precision"] is not None), key=lambda row: row["threshold"])
    return all(higher["precision"] >= lower["precision"] for lower, higher in pairwise(ordered))


def _largest_fall(rows: Sequence[dict]) -> tuple[float, float]:
    """Return the largest fall of precision between two thresholds, and the larger standard deviation over targets of both."""
    ordered = sorted((row for row in rows if row["precision"] is not None), key=lambda row: row["threshold"])
    falls = [
        (lower["precision"] - higher["precision"], max(row["precision_deviation"] or 0.0 for row in (lower, higher)))
        for lower, higher in pairwise(ordered)
    ]
    return max(falls, default=(0.0, 0.0))


def _never_falls(rising: dict[str, bool], largest_fall: tuple[float, float]) -> Agreement:
    """Return "no" only where precision falls by more than one standard deviation over targets."""
    agreement = verdict(sum(rising.values()), len(rising))
    return OPEN if agreement == NO and largest_fall[0] <= largest_fall[1] else agreement


def _published_confident(thresholds: Sequence[float]) -> str:
    rows = [
        {"model": model, "threshold": threshold, "precision": precision, "recall": recall}
        for model, values in CONFIDENT.items()
        for threshold, (precision, recall) in zip(thresholds, values, strict=True)
    ]
    return csv_table(rows)


def _figure7(result: dict) -> Part:
    ranked = {row["measure"]: row for row in result["ranked"]}
    sensitivity = ranked["sensitivity"]
    significant = sensitivity["p_value"] is not None and sensitivity["p_value"] < 0.05
    row = Row(
        where="Figure 7",
        what="risk score and sensitivity",
        size="other data",
        largest=_has_authors_size(result) and sensitivity["members"] == AUTHORS_MEMBERS,
        detail=f"{sensitivity['members']:,} members of one Location30 target",
        agrees=(YES if sensitivity["spearman"] > 0 else NO) if significant else OPEN,
        finding=(
            f"Spearman {sensitivity['spearman']:+.2f} over {sensitivity['members']:,} members "
            f"(p = {sensitivity['p_value']:.2g}); of models trained again on all members "
            f"{ranked['trained again']['spearman']:+.2f}; paper: a rise."
        ),
        results=("figure7",),
    )
    rows = result["removed"]
    series = [
        _sensitivities("trained without the member", rows, "sensitivity"),
        _sensitivities("trained again with it", rows, "chance"),
    ]
    name = "systematic_evaluation_figure7.svg"
    alternative = "Logarithm of the ratio of modified entropies against the risk score, for members of one target."
    svg = picture(
        [[Panel("Figure 7, Location30", series, Axes(x=(0, 1), x_label="risk score", y_label="log ratio"))]],
        alternative,
    )
    text = image(
        name, alternative, "Mean and quartiles of members with similar risk scores. The paper prints no values."
    )
    tables = {"figure7.csv": csv_table(rows), "figure7_correlations.csv": csv_table(result["ranked"])}
    return Part(rows=(row,), text=text, pictures={name: svg}, tables=tables)


def _sensitivities(name: str, rows: Sequence[dict], field: str) -> Series:
    """Return mean and quartiles of a value in each twentieth of the risk scores."""
    bins: dict[float, list[float]] = {}
    for row in rows:
        bins.setdefault((min(int(20 * row["risk"]), 19) + 0.5) / 20, []).append(row[field])
    centres = sorted(centre for centre, values in bins.items() if len(values) >= LEAST_SHOWN)
    low, high = ([float(np.quantile(bins[centre], share)) for centre in centres] for share in (0.25, 0.75))
    return Series(name, centres, [fmean(bins[centre]) for centre in centres], low=low, high=high)


def _figure8(result: dict) -> Part:
    rows = [row for row in result["gaps"] if row["training"] == NO_DEFENCE]
    correlations = {
        row["dataset"]: [fmean(value for value, _, _ in row[field]) for field in ("correlation", "by_target")]
        for row in rows
    }
    cause, tried = _more_targets()
    compared = ", ".join(
        f"{by_shadow:.2f} and {by_target:.2f} ({dataset})" for dataset, (by_shadow, by_target) in correlations.items()
    )
    row = Row(
        where="Figure 8",
        what="class generalisation gap and risk score",
        size="other data",
        largest=_has_authors_size(result),
        detail=f"{' and '.join(correlations)} instead of Texas100",
        agrees=YES if min(by_shadow for by_shadow, _ in correlations.values()) > GAP_CORRELATION - 0.1 else NO,
        finding=(
            f"correlation, scores from a shadow model and from the target itself {compared}; published {GAP_CORRELATION}."
            f"{tried}"
        ),
        cause=cause,
        results=("figure8", *_with_cause("figure8_averages")),
    )
    panels = []
    for gaps in rows:
        classes = list(range(1, len(gaps["gaps"]) + 1))
        series = [
            Series("generalisation gap", classes, gaps["gaps"], style="curve"),
            Series("mean risk score", classes, gaps["risks"], style="curve"),
        ]
        panels.append(
            Panel(
                gaps["dataset"],
                series,
                Axes(
                    x=(1, len(classes)),
                    y=(0, 1),
                    x_label="class, by gap",
                    ticks=[(1, "1"), (len(classes), str(len(classes)))],
                ),
            )
        )
    name = "systematic_evaluation_figure8.svg"
    alternative = "Generalisation gap and mean risk score of classes, ordered by the gap, for two datasets."
    text = image(name, alternative, "First target. The paper prints the correlation only.")
    return Part(
        rows=(row,),
        text=text,
        pictures={name: picture([panels], alternative)},
        tables={"figure8.csv": csv_table(result["gaps"])},
    )


def _figure9(result: dict) -> Part:
    ends = {row["end"]: row["near_nonmembers"] for row in result["ends"]}
    larger = sum(low > high for low, high in zip(ends["low"], ends["high"], strict=True))
    row = Row(
        where="Figure 9",
        what="classes in the last hidden layer",
        size="other data",
        largest=_has_authors_size(result),
        detail="Location30 instead of Texas100; classes with at least 20 members (paper 100)",
        agrees=verdict(larger, len(ends["low"])),
        finding=(
            f"{fmean(ends['low']):.0%} of non-members are nearest to a member of their class at low risk, "
            f"{fmean(ends['high']):.0%} at high risk."
        ),
        results=("figure9",),
    )
    rows = result["shown"]
    panels = []
    for title, side in (("members", "members_at"), ("non-members", "nonmembers_at")):
        series = []
        for end in ("low", "high"):
            points = [point for row in rows if row["end"] == end for point in row[side]]
            series.append(Series(f"{end} risk", [x for x, _ in points], [y for _, y in points], style="dots"))
        panels.append(Panel(title, series))
    name = "systematic_evaluation_figure9.svg"
    alternative = (
        "t-SNE map of the last hidden layer for five classes of low and five of high risk, members and non-members."
    )
    tables = {"figure9.csv": csv_table(rows, skip=("members_at", "nonmembers_at"))}
    return Part(
        rows=(row,),
        text=image(name, alternative, "Figure 9, one target."),
        pictures={name: picture([panels], alternative)},
        tables=tables,
    )


def _recipe(result: dict) -> Part:
    """Return the models with the public recipe, by the source of thresholds and scores."""
    targets = result["repeats"]["count"]
    detail = f"1,000 members; the public recipe; {targets} targets"
    sources = {
        "shadow model of 500": (PUBLIC_500, SHADOW),
        "shadow model of 1,000": (PUBLIC, SHADOW),
        "half of the target's records": (PUBLIC, HALF),
    }

    def chosen(table: str, key: tuple[str, str], training: str = NO_DEFENCE) -> list[dict]:
        dataset, source = key
        wanted = (dataset, training, source)
        return [row for row in result[table] if (row["dataset"], row["training"], row["source"]) == wanted]

    gains = {
        name: {gain["metric"]: gain for gain in chosen("trained", key)[0]["gains"]} for name, key in sources.items()
    }
    errors = {
        name: _rmse(next(row for row in chosen("calibrated", key) if row["estimate"] == RISK))
        for name, key in sources.items()
    }
    networks = {
        name: _rmse(next(row for row in chosen("calibrated", key) if row["estimate"] == NETWORK))
        for name, key in sources.items()
    }
    of_500, of_1000, of_target = sources
    fitted = chosen("calibrated", sources[of_500])[0]["test_accuracy"]
    (_, test), (_, _, *published_attacks) = BY_MEMGUARD["Location30, no defence"]
    accuracies = [gains[of_500][metric]["per_class"] for metric in ("confidence", "entropy", "mentr")]
    close = abs(fitted - test) <= GUESS and all(
        abs(ours - paper) <= GUESS for ours, paper in zip(accuracies, published_attacks, strict=True)
    )
    mean = {name: fmean(gain["gain"] for gain in by_metric.values()) for name, by_metric in gains.items()}
    correlations = next(row for row in result["gaps"] if (row["dataset"], row["training"]) == (PUBLIC, NO_DEFENCE))
    by_shadow, by_half = (fmean(value for value, _, _ in correlations[field]) for field in ("correlation", "half"))
    rising = {name: _rises(chosen("calls", key)) for name, key in sources.items()}
    cause, tried = _uneven_gap(PUBLIC, "half")
    largest_fall = max(_largest_fall(chosen("calls", key)) for key in sources.values())
    rows = (
        Row(
            where="Table 4, our models",
            what="Location30 without a defence, trained by us",
            size="full",
            detail=f"{detail}; shadow model of 500, as the authors'",
            agrees=YES if close else OPEN,
            finding=(
                f"test accuracy {fitted:.1f}, attacks {_listed(accuracies)} (published {test}, {_listed(published_attacks)})."
            ),
            results=("recipe",),
        ),
        Row(
            where="Table 3, public recipe",
            what="a threshold per class instead of one",
            size="other data",
            largest=_has_authors_size(result),
            detail=f"Location30 instead of Texas100; {detail}",
            agrees=YES if mean[of_target] > 1 else NO,
            finding=(
                f"{mean[of_500]:+.1f}, {mean[of_1000]:+.1f} and {mean[of_target]:+.1f} points on average (shadow model of 500, "
                "of 1,000, half of the target's records)."
            ),
            cause=_uneven_gain_cause(PUBLIC),
            results=("recipe", *_with_cause("uneven")),
        ),
        Row(
            where="Figure 3, public recipe",
            what="calibration of the risk score",
            size="other data",
            largest=_has_authors_size(result),
            detail=f"Location30 instead of Purchase100 and Texas100; {detail}",
            agrees=YES if errors[of_1000] <= LIMIT else NO,
            finding=f"RMSE {errors[of_500]:.2f}, {errors[of_1000]:.2f} and {errors[of_target]:.2f}, in this order.",
            results=("recipe",),
        ),
        Row(
            where="Figure 8, public recipe",
            what="class generalisation gap and risk score",
            size="other data",
            largest=_has_authors_size(result),
            detail=f"Location30 instead of Texas100; {detail}",
            agrees=YES if by_half > GAP_CORRELATION - 0.1 else NO,
            finding=(
                f"correlation {by_shadow:.2f} (1,000; {correlations['averaged'][0] or by_shadow:.2f} for means over the targets) "
                f"and {by_half:.2f} (half of the target's records); published {GAP_CORRELATION}.{tried}"
            ),
            cause=cause,
            results=("recipe", *_with_cause("uneven")),
        ),
        Row(
            where="Table 6, public recipe",
            what="precision by threshold of the risk score",
            size="other data",
            largest=_has_authors_size(result),
            detail=f"Location30 instead of Purchase100 and Texas100; {detail}",
            agrees=_never_falls(rising, largest_fall),
            finding=(
                f"precision never falls with the threshold for {sum(rising.values())} of {len(rising)} sources; the largest "
                f"fall is {largest_fall[0]:.1f} points, with standard deviations over targets of up to {largest_fall[1]:.1f}."
            ),
            results=("recipe",),
        ),
    )
    names = ["500", "1,000", "half of target"]
    x = list(range(len(names)))
    series = [
        _points(
            f"{metric}, gain",
            [position + 0.1 * index - 0.1 for position in x],
            [
                {"accuracy": by_metric[metric]["gain"], "deviation": by_metric[metric]["gain_deviation"]}
                for by_metric in gains.values()
            ],
        )
        for index, metric in enumerate(("confidence", "entropy", "mentr"))
    ]
    low, high = (end(first for first, _ in RMSE.values()) for end in (min, max))
    right = [
        Series("risk score, RMSE", x, list(errors.values()), style="points"),
        Series("attack network, RMSE", x, list(networks.values()), style="points"),
        *(
            published(
                f"{name} RMSE of the score, paper", (-0.5, 2.5), (value, value), like="risk score, RMSE", style="curve"
            )
            for name, value in (("smallest", low), ("largest", high))
        ),
    ]
    name = "systematic_evaluation_recipe.svg"
    alternative = (
        "Gain of thresholds per class, and RMSE of the risk score and of the attack network, by the source of thresholds: shadow "
        "models of 500 and of 1,000 members, and half of the target's records."
    )
    panels = [
        Panel("Table 3", series, Axes(names=names, y_label="points")),
        Panel("Figures 3 and 11", right, Axes(y=(0, 0.35), names=names, y_label="RMSE")),
    ]
    tables = {
        "recipe.csv": csv_table(_gain_rows(result["trained"])),
        "recipe_calibration.csv": csv_table(result["calibrated"]),
        "recipe_classes.csv": csv_table(result["gaps"], skip=("gaps", "risks")),
        "recipe_calls.csv": csv_table(result["calls"]),
    }
    text = "## Public recipe, by source of thresholds\n\n" + image(
        name, alternative, "Bars are one standard deviation over targets."
    )
    return Part(rows=rows, text=text, pictures={name: picture([panels], alternative)}, tables=tables)


def _uneven_gain_cause(study: str) -> str:
    """Return the gain of thresholds per class with classes of unequal difficulty, if it exceeds that of the control."""
    result = read("uneven")
    if not result:
        return ""
    gains = {
        row["dataset"]: next(gain for gain in row["gains"] if gain["metric"] == "mentr")
        for row in result["trained"]
        if row["source"] == SHADOW
    }
    uneven, even = (
        (gains[named(study, change)]["gain"], gains[named(study, change)]["gain_deviation"]) for change in CHANGES
    )
    if not beyond(uneven, even, result["repeats"]["count"]):
        return ""
    return f"With label noise in half of the classes (modified entropy) it is {uneven[0]:+.1f}, in all {even[0]:+.1f}."


def _uneven_gap(study: str, field: str) -> tuple[str, str]:
    """Return the cause of a difference in Figure 8 that classes of unequal difficulty show, or that they were tried."""
    result = read("uneven")
    if not result:
        return "", ""
    values = {row["dataset"]: [value for value, _, _ in row[field]] for row in result["gaps"]}
    uneven, even = (_mean_and_deviation(values[named(study, change)]) for change in CHANGES)
    text = f"With label noise in half of the classes it is {uneven[0]:.2f}, with the same noise in all {even[0]:.2f}."
    return (text, "") if beyond(uneven, even, result["repeats"]["count"]) else ("", f" {text}")


def _more_targets() -> tuple[str, str]:
    """Return the cause of a difference in Figure 8 that means over many targets show, or that they were tried."""
    result = read("figure8_averages")
    if not result:
        return "", ""
    values = {row["targets"]: row["correlation"][0] for row in result["averaged"]}
    last = max(values)
    text = (
        f"A class has few members here. For means over {last} targets it is {values[last]:.2f}, for the first target "
        f"{values[1]:.2f} (Location30)."
    )
    return (text, "") if values[last] > GAP_CORRELATION - 0.1 else ("", f" {text}")


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    return fmean(values), stdev(values) if len(values) > 1 else None


def _uneven(result: dict) -> Part:
    """Return the picture of Figure 8 and Table 3 on classes of unequal difficulty."""
    studies = list(
        dict.fromkeys(
            row["dataset"].removesuffix(f", {change}")
            for row in result["gaps"]
            for change in CHANGES
            if row["dataset"].endswith(change)
        )
    )
    gaps = {row["dataset"]: row for row in result["gaps"]}
    gains = {(row["dataset"], row["source"]): row["gains"] for row in result["trained"]}
    correlations, by_metric = [], []
    for index, (study, (source, field)) in enumerate(product(studies, ((SHADOW, "correlation"), (HALF, "half")))):
        x = [position + 0.1 * index for position in range(len(CHANGES))]
        rows = []
        for change in CHANGES:
            mean, deviation = _mean_and_deviation([value for value, _, _ in gaps[named(study, change)][field]])
            rows.append({"accuracy": mean, "deviation": deviation})
        correlations.append(_points(f"{study}, {source}", x, rows))
        rows = [
            {"accuracy": gain["gain"], "deviation": gain["gain_deviation"]}
            for change in CHANGES
            for gain in gains[named(study, change), source]
            if gain["metric"] == "mentr"
        ]
        by_metric.append(_points(f"{study}, {source}", x, rows))
    ends = (-0.5, len(CHANGES) - 0.5)
    correlations.append(published("paper (Texas100)", ends, (GAP_CORRELATION, GAP_CORRELATION), style="curve"))
    texas = _texas_gains()[NO_DEFENCE, "mentr"]
    by_metric.append(published("paper (Texas100)", ends, (texas, texas), style="curve"))
    name = "systematic_evaluation_uneven.svg"
    alternative = (
        "Correlation of class gap and risk score, and gain of thresholds per class, with label noise in half of the classes "
        "and in all of them: ours on Location30 and the published values of Texas100."
    )
    names = ["noise in half", "noise in all"]
    panels = [
        Panel("Figure 8", correlations, Axes(y=(0, 1), names=names, y_label="correlation")),
        Panel("Table 3, modified entropy", by_metric, Axes(names=names, y_label="points")),
    ]
    tables = {
        "uneven.csv": csv_table(_gain_rows(result["trained"])),
        "uneven_calibration.csv": csv_table(result["calibrated"]),
        "uneven_classes.csv": csv_table(result["gaps"], skip=("gaps", "risks")),
        "uneven_calls.csv": csv_table(result["calls"]),
    }
    text = image(name, alternative, "Classes of unequal difficulty, without a defence.")
    return Part(text=text, pictures={name: picture([panels], alternative)}, tables=tables)


def _cifar100_images(result: dict) -> Part:
    """Return the black-box attacks of Table 5 on a network of CIFAR100 images."""
    accuracy = {row["attack"]: row["accuracy"] for row in result["attacked"]}
    paper = WHITE_BOX["CIFAR100"]
    ours, published_gap = (
        max(values[name] for name in METRIC_ATTACKS) - values[network]
        for values, network in ((accuracy, NETWORK), (paper, NETWORKS[1]))
    )
    members = result["sizes"].get(CIFAR_IMAGES, {"members": 0})["members"]
    [fitted] = result["fitted"]
    row = Row(
        where="Table 5, CIFAR100 images",
        what="black-box attacks on a convolutional network",
        size="reduced",
        largest=members == STUDIES[CIFAR_IMAGES].members,  # a quarter of all available images
        detail=_with_targets(f"{members:,} members (paper 50,000); two convolutions instead of a DenseNet", result),
        agrees=YES if ours > 0 else NO,
        finding=(
            f"best metric minus network {ours:+.1f} points (published {published_gap:+.1f}); training and test accuracy "
            f"{fitted['train_accuracy']:.0f}% and {fitted['test_accuracy']:.0f}% (published 100% and 83%)."
        ),
        results=("cifar100_images",),
    )

    def published_values(row: dict) -> dict:
        return {"CIFAR100": paper[NETWORKS[1] if row["attack"] == NETWORK else row["attack"]]}

    return Part(rows=(row,), tables={"cifar100_images.csv": csv_table(result["attacked"], published_values)})


def _listed(values: Iterable[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def _released_adv_reg(name: str, where: str, detail: str = "") -> Callable[[dict], Part]:
    """Return a function to the part of AdvReg with the released settings; ``detail`` names what differs in size."""

    def part(result: dict) -> Part:
        accuracy = {(row["training"], row["attacker"], row["attack"]): row for row in result["attacked"]}

        def best(training: str) -> dict:
            return max(
                (accuracy[training, KNOWS_HALF, name] for name in METRIC_ATTACKS), key=lambda row: row["accuracy"]
            )

        models = {row["training"]: row["test_accuracy"] for row in result["fitted"]}
        defended, early, targets = best(ADV_REG), best(EARLY), result["repeats"]["count"]
        first = next(row["epochs"].count(1) for row in result["fitted"] if row["training"] == EARLY)
        row = Row(
            where=where,
            what="AdvReg and early stopping",
            size="other data" if detail else "full",
            largest=bool(detail) and _has_authors_size(result),
            detail=f"{detail}{targets} targets",
            agrees=_no_better(defended, early),
            finding=(
                f"best attack with AdvReg and with early stopping at equal test accuracy: {_compared(defended, early)}; "
                f"without a defence {best(NO_DEFENCE)['accuracy']:.1f}. AdvReg lowers the test accuracy from "
                f"{models[NO_DEFENCE]:.0f}% to {models[ADV_REG]:.0f}%; the closest epoch of plain training is the first for "
                f"{first} of {targets} targets."
            ),
            results=(name,),
        )
        tables = {f"{name}.csv": csv_table(result["attacked"]), f"{name}_models.csv": csv_table(result["fitted"])}
        return Part(rows=(row,), tables=tables)

    return part


def _only_csv(name: str, table: str) -> Callable[[dict], Part]:
    """Return a part that only writes a CSV file."""
    return lambda result: Part(tables={f"{name}.csv": csv_table(result[table])})


def _points(name: str, x: Sequence[float], rows: Sequence[dict]) -> Series:
    """Return accuracies with bars of one standard deviation."""
    low, high = ([row["accuracy"] + sign * (row["deviation"] or 0.0) for row in rows] for sign in (-1, 1))
    return Series(name, x, [row["accuracy"] for row in rows], low=low, high=high, style="points")


def _rmse(row: dict) -> float:
    return fmean(value for value, _, _ in row["rmse"])


def _deviation(row: dict) -> str:
    return "" if row["deviation"] is None else f" ± {row['deviation']:.1f}"


PARTS: dict[str, Callable[[dict], Part]] = {
    "table4": _table4,
    "recipe": _recipe,
    "table2": _table2,
    "released_adv_reg": _released_adv_reg(
        "released_adv_reg", "Table 2, released settings", "Location30 instead of Purchase100 and Texas100; "
    ),
    "purchase100": _released_adv_reg("purchase100", "Table 2, Purchase100"),
    "texas100": _released_adv_reg("texas100", "Table 2, Texas100"),
    "cifar100_images": _cifar100_images,
    "memguard_network": _only_csv("memguard_network", "naive"),
    "uneven": _uneven,
    "table3": _table3,
    "difficulty": _difficulty,
    "table5": _table5,
    "table7": _table7,
    "figure3": _figure3,
    "attack_networks": _only_csv("attack_networks", "networks"),
    "references": _only_csv("references", "learnt"),
    "figure4": _figure4,
    "figure12": _figure12,
    "figure2": _figure2,
    "figure5": _figure5,
    "figure10": _figure10,
    "table6": _table6,
    "rises": _only_csv("rises", "rises"),
    "figure7": _figure7,
    "figure8": _figure8,
    "figure8_averages": _only_csv("figure8_averages", "averaged"),
    "figure9": _figure9,
}
