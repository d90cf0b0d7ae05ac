"""The figures of risk scores, drawn from the results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.svg import Axes, clouds, grid, histogram, lines
from papers.systematic_evaluation.calibrations import NETWORKS
from papers.systematic_evaluation.distributions import GRID
from papers.systematic_evaluation.pairs import ADV_REG, EARLY, LOCATION, MEMGUARD, NO_DEFENCE
from papers.systematic_evaluation.risk_scores import NETWORK, RISK
from papers.systematic_evaluation.subjects import AUTHORS, AUTHORS_MEMGUARD

SHORT = {
    NO_DEFENCE: "no defence",
    ADV_REG: "AdvReg",
    EARLY: "early",
    MEMGUARD: "MemGuard",
    AUTHORS: "authors'",
    AUTHORS_MEMGUARD: "authors', MemGuard",
}
IDEAL = {"ideal": ((0.0, 1.0), (0.0, 1.0))}
PROBABILITY = Axes(x_label="estimate", y_label="share of members")


def drawn(read: Callable[[str], dict | None]) -> dict[str, str]:
    """Name of a file to its figure, for each result that is there."""
    found = {name: read(name) for name in FIGURES}
    return {f"systematic_evaluation_{name}.svg": FIGURES[name](result) for name, result in found.items() if result}


def _figure2(result: dict) -> str:
    rows = result["epochs"]
    steps = list(dict.fromkeys(row["epochs"] for row in rows))
    curves = {
        f"{name}, {SHORT[training]}": (steps, [row[field] / 100 for row in rows if row["training"] == training])
        for training in (NO_DEFENCE, ADV_REG)
        for name, field in (("training", "train_accuracy"), ("test", "test_accuracy"))
    }
    axes = Axes((0, max(steps)), (0, 1), "epochs", "accuracy")
    return grid([[lines(rows[0]["dataset"], curves, axes)]])


def _figure3(result: dict) -> str:
    rows = []
    for dataset in dict.fromkeys(row["dataset"] for row in result["calibrated"]):
        for kind in (RISK, NETWORK):
            own = [row for row in result["calibrated"] if (row["dataset"], row["estimate"]) == (dataset, kind)]
            panels = [_distribution(row) for row in own if row["training"] in (NO_DEFENCE, ADV_REG, EARLY)]
            curves = {
                SHORT[row["training"]]: _curve(row)
                for row in own
                if row["training"] in (NO_DEFENCE, ADV_REG, EARLY, MEMGUARD)
            }
            rows.append([*panels, lines(f"{dataset}: {kind}", curves | IDEAL, PROBABILITY)])
    return grid(rows)


def _distribution(row: dict) -> str:
    """A histogram in tenths, as they were counted."""
    values = np.repeat(np.arange(10) / 10 + 0.05, row["distribution"])
    axes = Axes((0, 1), (0, 1), row["estimate"], "share of members")
    return histogram(f"{row['dataset']}, {SHORT[row['training']]}", values, {}, axes, bins=10)


def _curve(row: dict) -> tuple[list[float], list[float]]:
    return [part[1] for part in row["bins"]], [part[2] for part in row["bins"]]


def _figure4(result: dict) -> str:
    own = {row["training"]: _curve(row) for row in result["calibrated"]}
    standard = NETWORKS[0]
    shapes = [network for network in NETWORKS if network.activation == standard.activation]
    others = [network for network in NETWORKS if network not in shapes]
    panels = [
        lines(title, {str(network): own[str(network)] for network in part if str(network) in own} | last, PROBABILITY)
        for title, part, last in (
            ("widths and depths", shapes, {}),
            ("activations", [standard, *others], IDEAL),
        )
    ]
    return grid([panels])


def _figure5(result: dict) -> str:
    panels = []
    for dataset in dict.fromkeys(row["dataset"] for row in result["spreads"]):
        curves = {
            SHORT[row["training"]]: (GRID, row["below"]) for row in result["spreads"] if row["dataset"] == dataset
        }
        panels.append(
            lines(dataset, curves, Axes(x_label="risk score", y_label="share of members up to it"), upper_left=True)
        )
    return grid([panels])


def _figure7(result: dict) -> str:
    rows = result["removed"]
    risks = [row["risk"] for row in rows]
    values = {"without it": [row["sensitivity"] for row in rows], "trained anew": [row["chance"] for row in rows]}
    ends = [float(end) for part in values.values() for end in (min(part), max(part))]
    axes = Axes((0, 1), (float(np.floor(min(ends))), float(np.ceil(max(ends)))), "risk score", "log ratio of entropies")
    return grid([[clouds(rows[0]["dataset"], {name: (risks, part) for name, part in values.items()}, axes)]])


def _figure8(result: dict) -> str:
    panels = []
    for row in (row for row in result["gaps"] if row["training"] == NO_DEFENCE):
        places = list(range(1, len(row["gaps"]) + 1))
        curves = {"error": (places, row["gaps"]), "risk score": (places, row["risks"])}
        axes = Axes((1, len(places)), (0, 1), "class, by generalisation error", "error; mean risk score")
        panels.append(lines(row["dataset"], curves, axes))
    return grid([panels])


def _figure9(result: dict) -> str:
    rows = result["shown"]
    every = np.array([point for row in rows for side in ("members_at", "nonmembers_at") for point in row[side]])
    (left, low), (right, high) = every.min(axis=0) - 3, every.max(axis=0) + 3
    axes = Axes((round(float(left)), round(float(right))), (round(float(low)), round(float(high))))
    panels = []
    for title, side in (("members", "members_at"), ("non-members", "nonmembers_at")):
        groups = {f"{end} risk": _points(rows, end, side) for end in ("low", "high")}
        names = [(*np.median(row["members_at"], axis=0), str(row["label"])) for row in rows]
        panels.append(clouds(f"{LOCATION}, {title}", groups, axes, names))
    return grid([panels])


def _points(rows: list[dict], end: str, side: str) -> tuple[list[float], list[float]]:
    points = [point for row in rows if row["end"] == end for point in row[side]]
    return [x for x, _ in points], [y for _, y in points]


FIGURES = {
    "figure2": _figure2,
    "figure3": _figure3,
    "figure4": _figure4,
    "figure5": _figure5,
    "figure7": _figure7,
    "figure8": _figure8,
    "figure9": _figure9,
}
