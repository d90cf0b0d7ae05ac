"""The page's figure, made from the results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from papers import svg
from papers.shapr.data import SOURCES
from papers.shapr.measures import THRESHOLDS

PLACE = "images/shapr_distributions.svg"


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
