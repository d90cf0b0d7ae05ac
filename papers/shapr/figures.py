"""The page's figures, made from the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2, log10

import numpy as np

from papers import svg
from papers.shapr.data import SOURCES
from papers.shapr.measures import THRESHOLDS
from papers.shapr.noise import CLEAN, KNOWN, NOISY, TRAINED
from papers.shapr.removal import HIGHEST, RANDOM

PLACE = "images/shapr_distributions.svg"
HEIGHT = (0.0, 1.6)  # shares, with room for a legend above


def distributions(found: Mapping[str, dict]) -> str:
    """A row per dataset: SHAPr, and the privacy risk score."""
    return svg.grid([
        [_panel(SOURCES[name].paper, row) for row in result["distributions"]] for name, result in found.items()
    ])  # fmt: skip


def _panel(name: str, row: dict) -> str:
    edges = np.linspace(row["low"], row["high"], len(row["called"]) + 1)
    top = 1.05 * max(*row["called"], *row["not_called"])
    threshold = THRESHOLDS[row["risk"]]
    curves = {
        "called": _steps(edges, row["called"]),
        "not called": _steps(edges, row["not_called"]),
        "threshold": ([threshold, threshold], [0.0, top]),
    }
    axes = svg.Axes((row["low"], row["high"]), (0.0, top), row["risk"], "share of members")
    return svg.lines(name, curves, axes, upper_left=True)


def _steps(edges: np.ndarray, shares: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(edges, 2)[1:-1], np.repeat(shares, 2)


def place(name: str) -> str:
    """Of the figure of a sweep."""
    return f"images/shapr_{name}.svg"


def regularisation(rows: Sequence[dict]) -> str:
    """A panel per dataset: figures against the weight, which is above 0."""

    def panel(name: str, some: Sequence[dict]) -> str:
        some = [row | {"power": log10(row["weight"])} for row in some if row["weight"] > 0]
        curves = {
            said: _line(some, "power", lambda row, key=key: row["figures"][key])
            for said, key in {
                "SHAPr, all members": "shapr", "SHAPr, those at risk": "at_risk", "attack accuracy": "attack",
                "test accuracy": "test",
            }.items()
        }  # fmt: skip
        return _drawn(name, curves, "weight, power of 10")

    return _panels(rows, panel)


def removal(rows: Sequence[dict]) -> str:
    """A panel per dataset: the members who remain, against how many were removed."""

    def panel(name: str, some: Sequence[dict]) -> str:
        curves = {
            f"{said}, {by}": _line(some, "share", lambda row, key=key: row["after"][key], by=by)
            for said, key in {"SHAPr": "shapr", "attack": "attack"}.items()
            for by in (HIGHEST, RANDOM)
        }
        return _drawn(name, curves, "share removed")

    return _panels(rows, panel)


def noise(rows: Sequence[dict]) -> str:
    """A panel per dataset: the noisy half and the clean one, against the size of the noise, which is above 0."""

    def panel(name: str, some: Sequence[dict]) -> str:
        some = [row | {"power": log2(row["size"])} for row in some if row["size"] > 0]
        curves = {
            said: _line(some, "power", lambda row, key=key: row["figures"][key], half=half, asked=asked)
            for said, (key, half, asked) in {
                "SHAPr, noisy": ("shapr", NOISY, TRAINED),
                "SHAPr, clean": ("shapr", CLEAN, TRAINED),
                "attack, noisy as trained on": ("attack", NOISY, TRAINED),
                "attack, noisy as known": ("attack", NOISY, KNOWN),
                "attack, clean": ("attack", CLEAN, TRAINED),
            }.items()
        }
        return _drawn(name, curves, "noise × 255, power of 2")

    return _panels(rows, panel)


SWEEPS: dict[str, Callable[[Sequence[dict]], str]] = {
    "regularisation": regularisation, "removal": removal, "noise": noise
}  # fmt: skip


def _line(rows: Sequence[dict], x: str, figure: Callable[[dict], dict], **which: str) -> tuple[list, list]:
    """Means of those rows that have what ``which`` says."""
    some = [row for row in rows if all(row[key] == value for key, value in which.items())]
    return [row[x] for row in some], [figure(row)["mean"] for row in some]


def _drawn(name: str, curves: Mapping[str, tuple[list, list]], said: str) -> str:
    x = next(iter(curves.values()))[0]
    return svg.lines(name, curves, svg.Axes((x[0], x[-1]), HEIGHT, said), upper_left=True)


def _panels(rows: Sequence[dict], panel: Callable[[str, Sequence[dict]], str]) -> str:
    """Two in a row."""
    names = dict.fromkeys(row["dataset"] for row in rows)
    panels = [panel(SOURCES[name].paper, [row for row in rows if row["dataset"] == name]) for name in names]
    return svg.grid([panels[i : i + 2] for i in range(0, len(panels), 2)])
