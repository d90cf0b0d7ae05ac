"""The sections of the page about risk scores: tables, and sentences that are computed from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, stdev

import numpy as np
from scipy.stats import spearmanr

from papers.markdown import table
from papers.systematic_evaluation import defence_page
from papers.systematic_evaluation import risk_prose as prose
from papers.systematic_evaluation.confident import THRESHOLDS
from papers.systematic_evaluation.distributions import ABOVE
from papers.systematic_evaluation.models import Setting
from papers.systematic_evaluation.pairs import ADV_REG, EARLY, LOCATION, NO_DEFENCE
from papers.systematic_evaluation.published import (
    ABOVE_SIX_TENTHS,
    CONFIDENT,
    DISTANCES,
    GAP_CORRELATION,
    IMAGES,
    IMAGES_ACCURACY,
    RMSE,
    RMSE_ARCHITECTURES,
)
from papers.systematic_evaluation.risk_scores import NETWORK, RISK
from papers.systematic_evaluation.subjects import AUTHORS_MEMGUARD

LIMIT = 0.10  # the RMSE that our own models are to stay within
THIRDS = ("low", "middle", "high")


def _figure3(result: dict) -> str:
    rows = result["calibrated"]
    columns = _named() | {
        "training": lambda row: _one(row["train_accuracy"]),
        "test": lambda row: _one(row["test_accuracy"]),
        "estimate": lambda row: row["estimate"],
        "RMSE": lambda row: _mean(_values(row["rmse"])),
        "first target": lambda row: _estimate(row["rmse"][0]),
        "every tenth alike": lambda row: _mean(row["over_bins"]),
    }
    own = [row for row in rows if (row["dataset"], row["training"]) == (LOCATION, NO_DEFENCE)]
    targets = {"target": lambda at: at + 1} | {
        row["estimate"]: lambda at, row=row: _estimate(row["rmse"][at]) for row in own
    }
    paper = {
        "model": lambda name: name,
        "risk score": lambda name: _two(RMSE[name][0]),
        "attack network": lambda name: _two(RMSE[name][1]),
    }
    return "\n".join([
        prose.INTRODUCTION, prose.FIGURE_3, table(rows, columns), _said_of_calibration(rows, own), prose.FIGURE_3_TARGETS,
        table(list(range(len(own[0]["rmse"]))), targets), prose.FIGURE_3_PAPER, table(list(RMSE), paper),
        prose.figure("figure3", "distribution of estimates, and shares of members against them"),
    ])  # fmt: skip


def _said_of_calibration(rows: list[dict], own: list[dict]) -> str:
    """Who stays within the limit, our own Location30 targets without a defence first; and the network beside the score."""
    errors = {row["estimate"]: _values(row["rmse"]) for row in own}
    alike = {row["estimate"]: row["over_bins"] for row in own}
    risk, network = errors[RISK], errors[NETWORK]
    worse = sum(b > a for a, b in zip(risk, network, strict=True))
    low, high = (pick(theirs[1] for theirs in RMSE.values()) for pick in (min, max))
    far = "as far off as the paper's" if fmean(network) >= low else "nearer to probabilities than the paper's"
    others = "; ".join(
        f"{row['dataset']}, {row['training']} {_within(_values(row['rmse']))}"
        for row in rows
        if row["estimate"] == RISK and row not in own
    )
    return (
        f"On Location30 without a defence the risk score's RMSE is at most {LIMIT:.2f} for {_within(risk)} targets, "
        f"{_mean(risk)} in all (paper 0.05 to 0.09, other data); with every tenth alike it is {_mean(alike[RISK])}. The attack "
        f"network's is larger for {worse} of {len(risk)}, {_mean(network)} in all (paper {low:.2f} to {high:.2f}): {far}. "
        f"Other models whose score is within {LIMIT:.2f}: {others}.\n"
    )


def _within(errors: list[float]) -> str:
    return f"{sum(value <= LIMIT for value in errors)} of {len(errors)}"


def _attack_networks(result: dict) -> str:
    rows = result["networks"]
    columns = {
        "epochs": lambda row: row["epochs"],
        "attack accuracy": lambda row: _one(row["accuracy"]),
        "outputs beyond 0.01 and 0.99": lambda row: f"{row['certain']:.0%}",
        "RMSE": lambda row: _mean(_values(row["rmse"])),
        "first target": lambda row: _estimate(row["rmse"][0]),
    }
    first, last = (fmean(_values(row["rmse"])) for row in (rows[0], rows[-1]))
    grows = "grows" if last > first else "does not grow"
    said = (
        f"The error {grows} with training, from {first:.2f} after {rows[0]['epochs']} epochs to {last:.2f} after "
        f"{rows[-1]['epochs']}.\n"
    )
    return "\n".join([prose.ATTACK_NETWORKS, table(rows, columns), said])


def _references(result: dict) -> str:
    columns = {
        "references": lambda row: row["references"],
        "estimate": lambda row: row["estimate"],
        "RMSE": lambda row: _mean(_values(row["rmse"])),
        "first target": lambda row: _estimate(row["rmse"][0]),
    }
    return "\n".join([prose.REFERENCES, table(result["learnt"], columns)])


def _figure4(result: dict) -> str:
    rows, fits = result["calibrated"], {row["training"]: row for row in result["aligned"]}
    columns = {
        "architecture": lambda row: row["training"],
        "training": lambda row: _one(row["train_accuracy"]),
        "test": lambda row: _one(row["test_accuracy"]),
        "RMSE": lambda row: _mean(_values(row["rmse"])),
        "first target": lambda row: _estimate(row["rmse"][0]),
        "every tenth alike": lambda row: _mean(row["over_bins"]),
        "target": lambda row: _one(fits[row["training"]]["target"]),
        "shadow": lambda row: _one(fits[row["training"]]["shadow"]),
        "RMSE, aligned": lambda row: _two(fits[row["training"]]["rmse"]),
    }
    means = {row["training"]: fmean(_values(row["rmse"])) for row in rows}
    within = [name for name, value in means.items() if value < RMSE_ARCHITECTURES]
    others = [f"{name} ({means[name]:.2f}; aligned {fits[name]['rmse']:.2f})" for name in means if name not in within]
    said = (
        f"The paper's are all below {RMSE_ARCHITECTURES:.2f}; ours are for {len(within)} of {len(means)}"
        + (f", not for {'; '.join(others)}" if others else "")
        + ".\n"
    )
    picture = prose.figure("figure4", "shares of members against risk scores, by architecture")
    return "\n".join([prose.FIGURE_4, table(rows, columns), said, picture])


def _figure2(result: dict) -> str:
    every = result["epochs"]
    rows = [row for row in every if row["training"] == NO_DEFENCE]
    columns = {
        "model": lambda row: row["training"],
        "epochs": lambda row: row["epochs"],
        "training accuracy": lambda row: _one(row["train_accuracy"]),
        "test accuracy": lambda row: _one(row["test_accuracy"]),
        "mean risk score of members": lambda row: _two(row["risk"]),
        "RMSE of the score": lambda row: _mean(row["rmse"]),
        "target and shadow apart, in training accuracy": lambda row: _one(fmean(row["apart"])),
    }
    best = max(rows, key=lambda row: row["test_accuracy"])
    errors = [fmean(row["rmse"]) for row in rows]
    usual = "".join(f", after the {row['epochs']} of Table 5 {fmean(row['rmse']):.2f}" for row in rows if _usual(row))
    depends = f" Whether it stays within {LIMIT:.2f} depends on how long models are trained."
    together = spearmanr(*([value for row in rows for value in row[field]] for field in ("rmse", "apart"))).statistic
    said = (
        f"Without a defence the test accuracy is largest after {best['epochs']} epochs. The score is furthest from a "
        f"probability after {rows[int(np.argmax(errors))]['epochs']} ({max(errors):.2f}); after {rows[-1]['epochs']} it is "
        f"{errors[-1]:.2f} off{usual}.{depends if min(errors) <= LIMIT < max(errors) else ''} Over all epochs and targets, "
        f"Spearman's correlation of the error with the distance between target and shadow in training accuracy is "
        f"{together:+.2f}; both change with training, which alone shows no cause. {_said_of_course(every)}\n"
    )
    return "\n".join([prose.FIGURE_2, table(every, columns), said, prose.figure("figure2", "accuracy by epochs")])


def _said_of_course(every: list[dict]) -> str:
    """How steady training with AdvReg is."""
    late = [row["test_accuracy"] for row in every if row["training"] == ADV_REG][-3:]
    plain = [row["test_accuracy"] for row in every if row["training"] == NO_DEFENCE][-3:]
    wanders = max(late) - min(late) > 2 * (max(plain) - min(plain))
    return (
        f"With AdvReg the test accuracy {'wanders' if wanders else 'settles'}: {', '.join(map(_one, late))} at the last three "
        f"steps, against {', '.join(map(_one, plain))} without."
    )


def _usual(row: dict) -> bool:
    """Whether these are the epochs of the other tables' models."""
    return row["epochs"] == Setting().epochs


def _figure5(result: dict) -> str:
    rows = result["spreads"]
    columns = _named() | {"mean": lambda row: _spread(row["mean"], row["deviation"])}
    columns |= {f"above {value}": lambda row, at=at: f"{row['above'][at]:.0%}" for at, value in enumerate(ABOVE)}
    said = []
    for row in rows:
        if row["training"] == AUTHORS_MEMGUARD:
            said.append(
                f"With MemGuard {row['above'][ABOVE.index(0.6)]:.0%} of the authors' Location30 members have a score above 0.6; "
                f"in the paper {ABOVE_SIX_TENTHS:.0%} of those of Texas100."
            )
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        means = {row["training"]: row["mean"] for row in rows if row["dataset"] == dataset}
        lower = "lower" if means[EARLY] < means[NO_DEFENCE] else "not lower"
        said.append(f"On {dataset}, members' scores are {lower} on average where training stops early.")
        apart = round(means[ADV_REG], 2) - round(means[EARLY], 2)
        beside = "as with" if not apart else "lower than with" if apart < 0 else "higher than with"
        said.append(f"With AdvReg they are {beside} early stopping ({means[ADV_REG]:.2f} and {means[EARLY]:.2f}).")
    picture = prose.figure("figure5", "share of members up to each risk score")
    return "\n".join([prose.FIGURE_5, table(rows, columns), " ".join(said) + "\n", picture])


def _figure10(result: dict) -> str:
    rows = result["priors"]
    cells = {(row["dataset"], row["prior"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    columns: dict[str, Callable] = {"prior": lambda prior: prior, "paper": lambda prior: _two(DISTANCES[prior])}
    for name in datasets:
        columns[name] = lambda prior, name=name: _spread(
            cells[name, prior]["distance"], cells[name, prior]["deviation"]
        )
        columns[f"{name}: members above the prior"] = lambda prior, name=name: f"{cells[name, prior]['larger']:.0%}"
    largest = {name: max(DISTANCES, key=lambda prior, name=name: cells[name, prior]["distance"]) for name in datasets}
    said = "; ".join(f"on {name} at {prior}" for name, prior in largest.items())
    theirs = max(DISTANCES, key=DISTANCES.__getitem__)
    return "\n".join([
        prose.FIGURE_10, table(list(DISTANCES), columns),
        f"The paper's distance is largest at a prior of {theirs}; ours {said}.\n",
    ])  # fmt: skip


def _table6(result: dict) -> str:
    cells = {(row["dataset"], row["training"], row["threshold"]): row for row in result["calls"]}
    places = list(dict.fromkeys(place[:2] for place in cells))

    def cell(threshold: float) -> Callable[[tuple], str]:
        def of(place: tuple) -> str:
            row = cells[*place, threshold]
            if row["precision"] is None:
                return f"–, {_one(row['recall'])}"
            low, high = row["interval"]
            within = "" if low is None else f" [{low:.0f}, {high:.0f}]"
            return f"{_one(row['precision'])}{within}, {_one(row['recall'])}"

        return of

    def theirs(at: int) -> Callable[[str], str]:
        return lambda name: "{}, {}".format(*("–" if part is None else part for part in CONFIDENT[name][at]))

    ours = {"dataset": lambda place: place[0], "model": lambda place: place[1]}
    ours |= {f"{threshold:g}": cell(threshold) for threshold in THRESHOLDS}
    paper = {"model": lambda name: name} | {f"{value:g}": theirs(at) for at, value in enumerate(THRESHOLDS)}
    said = [
        _said_of_precision(", ".join(place), [cells[*place, value]["precision"] for value in THRESHOLDS])
        for place in places
    ]
    said_of_theirs = [_said_of_precision(name, [precision for precision, _ in row]) for name, row in CONFIDENT.items()]
    return "\n".join([
        prose.TABLE_6, table(places, ours), "\n".join(said) + "\n", prose.TABLE_6_PAPER, table(list(CONFIDENT), paper),
        "\n".join(said_of_theirs) + "\n",
    ])  # fmt: skip


def _said_of_precision(name: str, precisions: list[float | None]) -> str:
    """Whether a larger score is a safer call, and where the score promises more than it keeps."""
    known = [(value, found) for value, found in zip(THRESHOLDS, precisions, strict=True) if found is not None]
    below = [f"{value:g} ({_one(found)})" for value, found in known if found < 100 * value]
    falls = any(larger < smaller for (_, larger), (_, smaller) in pairwise(known))
    return f"* {name}: the precision {'falls somewhere' if falls else 'never falls'} where the threshold rises" + (
        f"; it is below the threshold at {', '.join(below)}." if below else ", and is at least the threshold."
    )


def _figure7(result: dict) -> str:
    rows = sorted(result["removed"], key=lambda row: row["risk"])
    parts = dict(zip(THIRDS, np.array_split(np.arange(len(rows)), 3), strict=True))

    def quartiles(of: Callable[[dict], float]) -> Callable[[str], str]:
        return lambda third: ", ".join(
            f"{value:+.1f}" for value in np.quantile([of(rows[at]) for at in parts[third]], (0.25, 0.5, 0.75))
        )

    columns = {
        "risk score": lambda third: "{:.2f} to {:.2f}".format(*(rows[parts[third][end]]["risk"] for end in (0, -1))),
        "members": lambda third: len(parts[third]),
        "sensitivity (quartiles)": quartiles(lambda row: row["sensitivity"]),
        "trained anew": quartiles(lambda row: row["chance"]),
        "difference": quartiles(lambda row: row["sensitivity"] - row["chance"]),
    }
    ranked = {row["of"]: row for row in result["ranked"]}
    said = ", ".join(f"{name} {row['spearman']:+.2f} (p = {row['p_value']:.2g})" for name, row in ranked.items())
    own, difference = ranked["sensitivity"], ranked["difference"]
    told = 1.96 / (own["members"] - 1) ** 0.5  # of ranks without any relation, 95 % of the correlations are nearer to 0
    return "\n".join([
        prose.FIGURE_7, table(list(THIRDS), columns),
        f"Spearman's correlation with the risk score over {own['members']} members: {said}. In the paper the sensitivity rises "
        f"with the score; here this is {_shown(own)}, and for what removal does, the difference, it is {_shown(difference)}. "
        f"Among so few members a correlation has to be some {told:.1f} to be told from none.\n",
        prose.figure("figure7", "log ratios of modified entropies against risk scores"),
    ])  # fmt: skip


def _shown(row: dict) -> str:
    return "shown" if row["spearman"] > 0 and row["p_value"] < 0.05 else "not shown"


def _figure8(result: dict) -> str:
    rows = result["gaps"]
    columns = _named() | {
        "classes": lambda row: row["classes"],
        "correlation": lambda row: _mean(_values(row["correlation"])),
        "first target": lambda row: _estimate(row["correlation"][0]),
        "of means over targets": lambda row: "–" if row["averaged"][0] is None else _estimate(row["averaged"]),
        "score from the target itself": lambda row: _mean(_values(row["own"])),
    }
    said = []
    for row in (row for row in rows if row["training"] == NO_DEFENCE):
        averaged = "" if row["averaged"][0] is None else f", {row['averaged'][0]:.2f} of means over targets"
        said.append(
            f"{row['dataset']} r = {fmean(_values(row['correlation'])):.2f}{averaged}, {fmean(_values(row['own'])):.2f} with "
            "the score from the target itself"
        )
    return "\n".join([
        prose.FIGURE_8, table(rows, columns),
        f"Without a defence: {'; '.join(said)}. The paper has {GAP_CORRELATION} (Texas100).\n",
        prose.figure("figure8", "generalisation error and mean risk score of classes"),
    ])  # fmt: skip


def _figure9(result: dict) -> str:
    columns = {
        "class": lambda row: row["label"],
        "risk": lambda row: row["end"],
        "mean risk score": lambda row: _two(row["risk"]),
        "members": lambda row: len(row["members_at"]),
        "members near their own": lambda row: f"{row['near_members']:.0%}",
        "non-members near their own": lambda row: f"{row['near_nonmembers']:.0%}",
    }
    ends = {row["end"]: row["near_nonmembers"] for row in result["ends"]}
    wider = sum(low > high for low, high in zip(ends["low"], ends["high"], strict=True))
    said = (
        f"Over {len(ends['low'])} targets, {100 * fmean(ends['low']):.0f} % of the non-members of classes at low risk are near "
        f"members of their own class, and {100 * fmean(ends['high']):.0f} % of those at high risk; the former share is the "
        f"larger one for {wider} targets.\n"
    )
    picture = prose.figure("figure9", "t-SNE map of the last hidden layer")
    return "\n".join([prose.FIGURE_9, table(result["shown"], columns), said, picture])


def _table7(result: dict) -> str:
    columns = {
        "attack": lambda row: row["attack"] if row["attack"] == NETWORK else f"`{row['attack']}`",
        "CIFAR100 features, ours": lambda row: _spread(row["accuracy"], row["spread"], 1),
    }
    for name, theirs in IMAGES.items():
        columns[f"{name} (paper)"] = lambda row, theirs=theirs: theirs[row["attack"]]
    fitted = result["fitted"][0]
    accuracies = {row["attack"]: row["accuracy"] for row in result["attacked"]}
    best = max((name for name in accuracies if name != NETWORK), key=accuracies.__getitem__)
    theirs = ", ".join(f"{name} {inside} and {outside} %" for name, (inside, outside) in IMAGES_ACCURACY.items())
    said = (
        f"Our targets are right on {_one(fitted['train_accuracy'])} % of their members and {_one(fitted['test_accuracy'])} % "
        f"of their non-members (paper: {theirs}). The best of the paper's own attacks, `{best}`, is "
        f"{accuracies[best] - accuracies[NETWORK]:+.1f} points from the network (paper: "
        f"{', '.join(f'{_ahead(figures):+.1f}' for figures in IMAGES.values())}).\n"
    )
    return "\n".join([prose.TABLE_7, table(result["attacked"], columns), said])


def _ahead(figures: dict[str, float]) -> float:
    return max(value for name, value in figures.items() if name != NETWORK) - figures[NETWORK]


def _named() -> dict[str, Callable]:
    return {"dataset": lambda row: row["dataset"], "model": lambda row: row["training"]}


def _values(estimates: list[list[float]]) -> list[float]:
    return [value for value, _, _ in estimates]


def _mean(values: list[float]) -> str:
    return _spread(fmean(values), stdev(values) if len(values) > 1 else None)


def _spread(mean: float, spread: float | None, digits: int = 2) -> str:
    return f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def _estimate(value: list[float]) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*value)


def _two(value: float) -> str:
    return f"{value:.2f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


SECTIONS = {
    "figure3": _figure3,
    "attack_networks": _attack_networks,
    "references": _references,
    "figure4": _figure4,
    "figure2": _figure2,
    "figure5": _figure5,
    "figure10": _figure10,
    "table6": _table6,
    "rises": defence_page.rises,
    "figure7": _figure7,
    "figure8": _figure8,
    "figure9": _figure9,
    "table7": _table7,
}
