"""Figures as they stand in the page's tables."""

from __future__ import annotations

from papers.shapr.data import SOURCES
from papers.shapr.spread import BETTER, WORSE, verdict


def paper_name(name: str) -> str:
    return SOURCES[name].paper


def spread(figure: dict, digits: int = 2) -> str:
    if figure["mean"] is None:
        return "–"
    beside = "" if figure["spread"] is None else f" ± {figure['spread']:.{digits}f}"
    return f"{figure['mean']:.{digits}f}{beside}"


def percent(figure: dict) -> str:
    beside = "" if figure["spread"] is None else f" ± {100 * figure['spread']:.1f}"
    return f"{100 * figure['mean']:.1f}{beside}"


def signed(shown: str, figure: dict) -> str:
    """With a sign where it differs from what it is compared with."""
    return shown + {BETTER: " +", WORSE: " −"}.get(verdict(figure["difference"], figure["p"]), "")


def pair(figure: tuple[float, float]) -> str:
    return f"{figure[0]:.2f} ± {figure[1]:.2f}"
