"""Which games each figure of the paper plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import guestlist as gl
from papers.data_dependencies.data import LABEL, Table
from papers.data_dependencies.published import SHARES

# Figures 4 and 5 are ten games, and shadows are five models more each: with 10,000 members they would take days.
FEW = 1000
SHADOWS = 2
HOSPITALS = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")


@dataclass(frozen=True)
class Played:
    """One game of a figure.

    Args:
        called: what is different about it in its figure.
        shadows: models that teach a third attack; 0: it is left out.
    """

    table: str
    called: str
    game: object
    shadows: int = 0


def _biased(table: str, value: str, shares: Sequence[float], shadows: int = 0) -> tuple[Played, ...]:
    """A game for each share of members with the attribute."""
    return tuple(
        Played(table, f"p = {share:g}", gl.games.Bias("source", value, share, FEW, FEW), shadows) for share in shares
    )


FIGURES: dict[str, tuple[Played, ...]] = {
    "figure2": (Played("adult", "clusters", gl.games.Clusters(10_000, 10_000)),),
    "figure2_shadow": (Played("adult", "clusters", gl.games.Clusters(FEW, FEW), SHADOWS),),
    "figure3": (Played("compas", "clusters", gl.games.Clusters(2000, 2000)),),
    "figure4": _biased("adult gender", "Male", SHARES),
    "figure4_shadow": _biased("adult gender", "Male", SHARES, SHADOWS),
    "figure5": _biased("adult education", "low", SHARES),
    # The paper shows the optimal threshold alone; shadows where members differ most from non-members.
    "figure5_shadow": _biased("adult education", "low", (1.0,), SHADOWS),
    "figure6": tuple(Played("heart", name, gl.games.Sources("source", name)) for name in HOSPITALS),
    "figure7": (Played("students", "Gabriel Pereira", gl.games.Sources("source", "GP")),),
    "figure9": (Played("census", "census", gl.games.Sources("source", "census", members=10_000, nonmembers=10_000)),),
    "figure9_shadow": (
        Played("census", "census", gl.games.Sources("source", "census", members=FEW, nonmembers=FEW), SHADOWS),
    ),
}


@dataclass(frozen=True)
class Row:
    """Means at one epsilon: [mean, low, high] of the game and of its counterpart, and of their difference.

    Args:
        epsilon: None: plain training.
        accuracies: of the model of the game, by whose they are.
    """

    game: str
    attack: str
    epsilon: float | None
    apart: list[float]
    mixed: list[float]
    difference: list[float]
    accuracies: dict[str, float]
    accuracies_mixed: dict[str, float]


def rows(
    played: Played, table: Table, setting: gl.ExperimentSetting, place: Path, jobs: int, smaller: int = 1
) -> list[Row]:
    """One game and its counterpart, at every epsilon.

    Args:
        place: runs that are there are not run again.
        smaller: by how much fewer members and non-members there are, for a quick try.
    """
    game = _smaller(played.game, smaller)
    folder = place / f"{played.table}-{played.called}".replace(" ", "-")
    engine = gl.Here() if jobs == 1 else gl.Local(jobs)
    found = gl.experiment(game, table.frame, setting, label=LABEL, folder=folder, engine=engine)
    shown = []
    for gap in found.gaps:
        apart, mixed = (found.mean(gap.attack, gap.epsilon, arm) for arm in ("apart", "iid"))
        right = {arm: _accuracies(found, gap.epsilon, arm) for arm in ("apart", "iid")}
        epsilon = None if gap.epsilon == float("inf") else gap.epsilon
        row = Row(
            played.called,
            gap.attack,
            epsilon,
            list(apart),
            list(mixed),
            list(gap.difference),
            right["apart"],
            right["iid"],
        )
        shown.append(row)
    return shown


def _smaller(game, by: int):
    if by == 1 or game.members is None:
        return game
    return replace(game, members=game.members // by, nonmembers=game.nonmembers // by)


def _accuracies(found: gl.Experiment, epsilon: float, arm: str) -> dict[str, float]:
    measured = {
        point.metric: point.mean.value for point in found.points if (point.epsilon, point.arm) == (epsilon, arm)
    }
    return {name: measured[name] for name in ("members", "nonmembers", "validation") if name in measured}
