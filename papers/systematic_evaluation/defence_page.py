"""The sections of the page about attacks and defences: tables, and sentences that are computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

from papers.markdown import table
from papers.systematic_evaluation import prose
from papers.systematic_evaluation.confident import THRESHOLDS as CONFIDENT_AT
from papers.systematic_evaluation.defended import ADAPTIVE, NAIVE
from papers.systematic_evaluation.difficulty import AS_THEY_ARE, EVEN, FEW_RECORDS, UNEVEN
from papers.systematic_evaluation.memguard import WITHOUT_LABEL
from papers.systematic_evaluation.pairs import ADV_REG, EARLY, MEMGUARD, NO_DEFENCE
from papers.systematic_evaluation.published import (
    ATTACKS,
    BY_ADV_REG,
    BY_MEMGUARD,
    CONFIDENT,
    NETWORKS,
    TEXAS_THRESHOLDS,
)
from papers.systematic_evaluation.rises import ANEW, MUCH, SURE

GUESS = 3.0  # points: an attack this near to 50 guesses
METRIC_ATTACKS = tuple(name for name in ATTACKS if name not in NETWORKS)


def table4(result: dict) -> str:
    """The authors' answers: the metric attacks, then the networks."""
    cells = {(row["defended"], row["attack"]): row for row in result["accuracies"]}

    def cell(attack: str) -> Callable[[bool], str]:
        return lambda defended: f"{cells[defended, attack]['accuracy']} ({cells[defended, attack]['paper']})"

    attacks = list(dict.fromkeys(attack for _, attack in cells))
    columns = {"MemGuard": lambda defended: "yes" if defended else "no"} | {f"`{name}`": cell(name) for name in attacks}
    learnt = {(row["defended"], row["shadow_defended"], row["attack"]): row["accuracy"] for row in result["networks"]}
    kinds = list(dict.fromkeys(kind[:2] for kind in learnt))
    networks = {
        "MemGuard": lambda kind: "yes" if kind[0] else "no",
        "attacker": lambda kind: NAIVE if kind[0] and not kind[1] else ADAPTIVE,
        **{f"`{name}`": lambda kind, name=name: learnt[*kind, name] for name in NETWORKS},
        WITHOUT_LABEL: lambda kind: learnt[*kind, WITHOUT_LABEL],
        "paper's best network": lambda kind: BY_MEMGUARD[f"Location30, {MEMGUARD if kind[0] else NO_DEFENCE}"][1][0],
    }
    return "\n".join([
        prose.TABLE_4, table([False, True], columns), prose.TABLE_4_NETWORKS, table(kinds, networks),
        _said_of_networks(learnt, cells[True, "correctness"]["accuracy"]),
    ])  # fmt: skip


def _said_of_networks(learnt: dict, right: float) -> str:
    """Whether networks are left to guess, and which."""
    best = {kind[:2]: max(learnt[*kind[:2], name] for name in NETWORKS) for kind in learnt}
    blind = {kind: learnt[*kind, WITHOUT_LABEL] for kind in best}
    before, theirs = (BY_MEMGUARD[f"Location30, {training}"][1][0] for training in (NO_DEFENCE, MEMGUARD))

    def left(accuracy: float) -> str:
        return "left to guess" if abs(accuracy - 50) < GUESS else "not left to guess"

    return (
        f"The paper's falls from {before} to {theirs}. Of ours, a naive one without the label falls from {blind[False, False]} "
        f"to {blind[True, False]}: it is {left(blind[True, False])}; an adaptive one has {blind[True, True]} and is "
        f"{left(blind[True, True])}. Those that are told the true class are {left(best[True, False])}, naive "
        f"({best[True, False]}) or adaptive ({best[True, True]}): whether an answer is right, which MemGuard does not change, "
        f"alone reaches {right}.\n"
    )


def table2(result: dict) -> str:
    """Our own models: how well they learnt, then every attack, then the paper's."""
    models = {
        **_named(),
        "training": lambda row: _one(row["train_accuracy"]),
        "test": lambda row: _one(row["test_accuracy"]),
        "epochs": lambda row: ", ".join(map(str, dict.fromkeys(sorted(row["epochs"])))),
    }
    cells = {
        (row["dataset"], row["training"], row["attacker"], row["attack"]): (row["accuracy"], row["spread"])
        for row in result["attacked"]
    }
    places = list(dict.fromkeys(place[:3] for place in cells))
    attacks = {
        "dataset": lambda place: place[0],
        "model": lambda place: place[1],
        "attacker": lambda place: "–" if place[1] == NO_DEFENCE else place[2],
    } | {f"`{name}`": lambda place, name=name: spread(*cells[*place, name]) for name in ATTACKS}
    paper = {
        "model": lambda row: row[0],
        "training": lambda row: row[1][0][0],
        "test": lambda row: row[1][0][1],
        "network": lambda row: "–" if row[1][1][0] is None else row[1][1][0],
    } | {
        name.removeprefix("class_"): lambda row, at=at: row[1][1][at] for at, name in enumerate(METRIC_ATTACKS, start=1)
    }
    mean = {place: accuracy for place, (accuracy, _) in cells.items()}
    said = [line for dataset in dict.fromkeys(row["dataset"] for row in result["fitted"])
            for line in _said_of_defences(dataset, mean, result["fitted"])]  # fmt: skip
    return "\n".join([
        prose.TABLE_2, table(result["fitted"], models), prose.TABLE_2_ATTACKS, table(places, attacks),
        "\n".join(said) + "\n", prose.TABLE_2_PAPER, table([*BY_ADV_REG.items(), *BY_MEMGUARD.items()], paper),
    ])  # fmt: skip


def _said_of_defences(dataset: str, mean: dict, fitted: list[dict]) -> list[str]:
    """What the paper says of its tables, whether it is so here."""
    here = {place[1:]: accuracy for place, accuracy in mean.items() if place[0] == dataset}
    test = {row["training"]: row["test_accuracy"] for row in fitted if row["dataset"] == dataset}

    def best(training: str, attacker: str = ADAPTIVE, among: tuple[str, ...] = ATTACKS) -> float:
        return max(here[training, attacker, name] for name in among)

    plain, defended, early = (best(training) for training in (NO_DEFENCE, ADV_REG, EARLY))
    no_better = defended > early - 0.5
    theirs = "; ".join(
        f"{name} {', '.join(str(_best(BY_ADV_REG[f'{name}, {training}'])) for training in (NO_DEFENCE, ADV_REG, EARLY))}"
        for name in ("Purchase100", "Texas100")
    )
    lines = [
        f"* **{dataset}: AdvReg is {'no better' if no_better else 'better'} than stopping early"
        f"{', as in the paper' if no_better else '; in the paper it is not'}.** The best attack reaches {plain:.1f} without a "
        f"defence, {defended:.1f} with AdvReg and {early:.1f} where plain training stops at the nearest test accuracy "
        f"({test[ADV_REG]:.1f} and {test[EARLY]:.1f}). The paper's own attacks there: {theirs}.",
        f"* {_benchmark(dataset, ADV_REG, best, BY_ADV_REG)}",
    ]
    if MEMGUARD in test:
        lines.append(f"* {_benchmark(dataset, MEMGUARD, best, BY_MEMGUARD)}")
    for training in (name for name in test if name != NO_DEFENCE):
        knows = [here[training, ADAPTIVE, name] - here[training, NAIVE, name] for name in ATTACKS]
        lines.append(
            f"* {dataset}, {training}: knowing of the defence is worth {fmean(knows):+.1f} points on average over the attacks, "
            f"{min(knows):+.1f} to {max(knows):+.1f}."
        )
    kinds = list(dict.fromkeys(place[:2] for place in here))
    ahead = sum(here[*kind, "class_mentr"] >= here[*kind, "class_entropy"] for kind in kinds)
    lines.append(
        f"* {dataset}: modified entropy finds at least as much as entropy in {ahead} of {len(kinds)} rows (paper: in all)."
    )
    return lines


def _benchmark(dataset: str, training: str, best: Callable, paper: dict) -> str:
    """Table 1: what an evaluation with networks that do not know of the defence would have reported."""
    theirs = ", ".join(
        f"{name.partition(',')[0]} {_best(figures) - figures[1][0]:+.1f}"
        for name, figures in paper.items()
        if name.endswith(training)
    )
    reported, found = best(training, NAIVE, NETWORKS), best(training, ADAPTIVE, METRIC_ATTACKS)
    larger = found > reported + 0.5
    flatter = "make it look better than it is" if larger else "do not make it look better than it is"
    return (
        f"**{dataset}, {training}: networks that do not know of it {flatter}.** "
        f"They reach {reported:.1f}; the best of the paper's own attacks, which knows, {found:.1f}: {found - reported:+.1f} "
        f"(Table 1: {theirs})."
    )


def table3(result: dict) -> str:
    """Thresholds by way to train, beside Texas100."""
    rows = [gain | {"training": row["training"]} for row in result["trained"] for gain in row["gains"]]
    columns = {
        "model": lambda row: row["training"],
        "metric": lambda row: row["metric"],
        **_gains(),
        "Texas100 (paper): one, per class, gain": _texas,
    }
    return "\n".join([prose.TABLE_3, table(rows, columns)])


def difficulty(result: dict) -> str:
    """What the gain of thresholds per class comes with, by modified entropy."""
    levels = {row["records"]: row for row in result["levels"]}
    rows = [row | gain for row in result["changed"] for gain in row["gains"] if gain["metric"] == "mentr"]

    def level(field: str, digits: int) -> Callable[[dict], str]:
        return lambda row: f"{levels[row['records']][field]:.{digits}f}"

    columns = {
        "records": lambda row: row["records"],
        "members of a class": level("members", 0),
        "training": level("train_accuracy", 1),
        "test": level("test_accuracy", 1),
        "test by class, spread": level("spread", 1),
        "references": lambda row: row["references"],
        **_gains(),
    }
    return "\n".join([prose.DIFFICULTY, table(rows, columns), _said_of_gains(rows, result["repeats"]["count"])])


def _said_of_gains(rows: list[dict], targets: int) -> str:
    found = {(row["records"], row["references"]): (row["gain"], row["gain_spread"]) for row in rows}
    one, most = (pick(references for _, references in found) for pick in (min, max))
    uneven, few = found[UNEVEN, most], found[FEW_RECORDS, most]
    shown = all(_beyond(uneven, found[name, most], targets) for name in (AS_THEY_ARE, EVEN))
    verdict = (
        "The gain comes with classes of unequal difficulty, and not with noise as such"
        if shown
        else "That the gain comes with classes of unequal difficulty is not shown"
    )
    also = "Fewer records gain, too" if _beyond(few, (0.0, 0.0), targets) else "That fewer records gain is not shown"
    return (
        f"With {most} references, thresholds per class gain {uneven[0]:+.1f} points with {UNEVEN}, {found[EVEN, most][0]:+.1f} "
        f"with {EVEN}, and {found[AS_THEY_ARE, most][0]:+.1f} with records as they are. {verdict}. {also} ({few[0]:+.1f}). "
        f"With {one} reference to learn thresholds from, the gain with {UNEVEN} is {found[UNEVEN, one][0]:+.1f}, and "
        f"{found[AS_THEY_ARE, one][0]:+.1f} with records as they are.\n"
    )


def _beyond(one: tuple, other: tuple, targets: int) -> bool:
    """Whether a (mean, standard deviation) over targets is larger by two standard errors; never with a single target."""
    (high, spread_of_high), (low, spread_of_low) = one, other
    if spread_of_high is None or spread_of_low is None:
        return False
    return high - low > 2 * math.hypot(spread_of_high, spread_of_low) / math.sqrt(targets)


def _gains() -> dict[str, Callable]:
    return {
        "one threshold": lambda row: spread(row["single"], row["single_spread"]),
        "per class": lambda row: spread(row["per_class"], row["per_class_spread"]),
        "gain": lambda row: spread(row["gain"], row["gain_spread"], "+"),
    }


def rises(result: dict) -> str:
    """Whose score a defence raises."""
    rows = result["rises"]
    columns = {
        "model": lambda row: row["training"],
        "mean change": lambda row: f"{row['mean']:+.2f}",
        f"rises by more than {MUCH}, % of members": lambda row: spread(row["rises"], row["rises_spread"]),
        "falls by more": lambda row: spread(row["falls"], row["falls_spread"]),
        f"score of {SURE} or more, % of members": lambda row: _one(row["sure"]),
        "of these newly": lambda row: _one(row["newly"]),
        "precision there": lambda row: "–" if row["precision"] is None else _one(row["precision"]),
    }
    by = {row["training"]: row for row in rows}
    defended, anew = by[ADV_REG], by[ANEW]
    moved, by_chance = ((row["rises"], row["rises_spread"]) for row in (defended, anew))
    shown = _beyond(moved, by_chance, result["repeats"]["count"])
    sure = (
        "nobody has so large a score"
        if defended["precision"] is None
        else f"{_one(defended['sure'])} % of the members have such a score, and {_one(defended['precision'])} % of all who have "
        "it are members"
    )
    precision, recall = CONFIDENT["Purchase100, adversarial regularisation"][CONFIDENT_AT.index(SURE)]
    return "\n".join([
        prose.RISES, table(rows, columns),
        f"With AdvReg scores move by {defended['mean']:+.2f} on average, and yet that of {_one(defended['rises'])} % of the "
        f"members rises by more than {MUCH}. Where models are only trained anew, that of {_one(anew['rises'])} % does: "
        f"{'the defence raises more than chance does' if shown else 'that the defence does more than chance is not shown'}. "
        f"At {SURE}, {sure} (paper, Purchase100: {recall} % and {precision} %, and nobody without a defence).\n",
    ])  # fmt: skip


def _best(figures: tuple) -> float:
    """Of the paper's own attacks on one of its models."""
    return max(figures[1][1:])


def _texas(row: dict) -> str:
    single, per_class = TEXAS_THRESHOLDS[row["training"]][row["metric"]]
    return f"{single}, {per_class}, {per_class - single:+.1f}"


def _named() -> dict[str, Callable]:
    return {"dataset": lambda row: row["dataset"], "model": lambda row: row["training"]}


def spread(mean: float, deviation: float | None, sign: str = "") -> str:
    return f"{mean:{sign}.1f}" + ("" if deviation is None else f" ± {deviation:.1f}")


def _one(value: float) -> str:
    return f"{value:.1f}"


SECTIONS = {"table4": table4, "table2": table2, "table3": table3, "difficulty": difficulty}
