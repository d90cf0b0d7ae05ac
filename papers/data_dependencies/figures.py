"""Games of each figure of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import guestlist as gl
from papers.data_dependencies.data import LABEL, Table
from papers.data_dependencies.published import SHARES

MANY = 10_000  # number of members in the paper
FEW = 1000  # number of members to show the effect of fewer, or if the paper's size would take days: with private shadow models
SHADOWS = 5
PRIVATE_SHADOWS = 2
SHADOW_SHARES = (0.0, 0.5, 1.0)  # shares p of Figure 4 with shadow models
HOSPITALS = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")


@dataclass(frozen=True)
class Played:
    """One game of a figure.

    Args:
        called: its name within the figure.
        shadows: number of shadow models of a third attack; 0 omits it.
        shadow_training: ``plain`` as in the paper, or ``private`` with the epsilon of the target.
    """

    table: str
    called: str
    game: object
    shadows: int = 0
    shadow_training: str = "plain"


def _biased(
    table: str,
    value: str,
    *,
    members: int = MANY,
    shares: Sequence[float] = SHARES,
    shadows: int = 0,
    shadow_training: str = "plain",
) -> tuple[Played, ...]:
    """Return a game for each share of members with the attribute."""
    return tuple(
        Played(
            table, f"p = {share:g}", gl.games.Bias("source", value, share, members, members), shadows, shadow_training
        )
        for share in shares
    )


def _clusters(members: int, shadows: int = 0, shadow_training: str = "plain") -> tuple[Played, ...]:
    return (Played("adult", "clusters", gl.games.Clusters(members, members), shadows, shadow_training),)


def _census(members: int, shadows: int = 0, shadow_training: str = "plain") -> tuple[Played, ...]:
    game = gl.games.Sources("source", "census", members=members, nonmembers=members)
    return (Played("census", "census", game, shadows, shadow_training),)


GAMES: dict[str, tuple[Played, ...]] = {
    "figure2": _clusters(MANY),
    "figure2_shadow": _clusters(MANY, SHADOWS),
    "figure2_shadow_small": _clusters(FEW, SHADOWS),
    "figure2_private": _clusters(FEW, PRIVATE_SHADOWS, "private"),
    "figure3": (Played("compas", "clusters", gl.games.Clusters(2000, 2000)),),
    "figure4": _biased("adult gender", "Male"),
    "figure4_shadow": _biased("adult gender", "Male", shares=SHADOW_SHARES, shadows=SHADOWS),
    "figure4_private": _biased("adult gender", "Male", members=FEW, shadows=PRIVATE_SHADOWS, shadow_training="private"),
    "figure4_small": _biased("adult gender", "Male", members=FEW),
    "figure5": _biased("adult education", "low"),
    # The paper shows only the optimal threshold; we add shadow models.
    "figure5_shadow": _biased("adult education", "low", members=FEW, shadows=SHADOWS),
    "figure5_private": _biased(
        "adult education", "low", members=FEW, shares=(1.0,), shadows=PRIVATE_SHADOWS, shadow_training="private"
    ),
    "figure5_small": _biased("adult education", "low", members=FEW),
    "figure6": tuple(Played("heart", name, gl.games.Sources("source", name)) for name in HOSPITALS),
    "figure7": (Played("students", "Gabriel Pereira", gl.games.Sources("source", "GP")),),
    "figure9": _census(MANY),
    "figure9_shadow": _census(MANY, SHADOWS),
    "figure9_shadow_small": _census(FEW, SHADOWS),
    "figure9_private": _census(FEW, PRIVATE_SHADOWS, "private"),
}


@dataclass(frozen=True)
class Row:
    """Means at one epsilon: [mean, low, high] of the game, of its i.i.d. control, and of their difference.

    Args:
        epsilon: None: plain training.
        accuracies: of the game's model on members, non-members and validation records.
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
    played: Played, table: Table, setting: gl.ExperimentSetting, root: Path, jobs: int, smaller: int = 1
) -> list[Row]:
    """Return one game and its i.i.d. control, at every epsilon.

    Args:
        root: folder of finished runs, which are not repeated.
        smaller: divisor of the numbers of members and non-members, for a quick test.
    """
    game = _smaller(played.game, smaller)
    folder = root / f"{played.table}-{played.called}".replace(" ", "-")
    engine = gl.Here() if jobs == 1 else gl.Local(jobs)
    experiment = gl.experiment(game, table.frame, setting, label=LABEL, folder=folder, engine=engine)
    table_rows = []
    for gap in experiment.gaps:
        apart, mixed = (experiment.mean(gap.attack, gap.epsilon, arm) for arm in ("apart", "iid"))
        right = {arm: _accuracies(experiment, gap.epsilon, arm) for arm in ("apart", "iid")}
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
        table_rows.append(row)
    return table_rows


def _smaller(game, by: int):
    if by == 1 or game.members is None:
        return game
    return replace(game, members=game.members // by, nonmembers=game.nonmembers // by)


def _accuracies(experiment: gl.Experiment, epsilon: float, arm: str) -> dict[str, float]:
    measured = {
        point.metric: point.mean.value for point in experiment.points if (point.epsilon, point.arm) == (epsilon, arm)
    }
    return {name: measured[name] for name in ("members", "nonmembers", "validation") if name in measured}
