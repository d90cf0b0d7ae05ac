"""Do the choices that the paper leaves open explain where Tables V and VI differ from ours?

LiRA's variance may be one for all records or each record's own, and the spread over games hangs on how many records a
game asks about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from papers.waka.attack import KS, Game, Laws, games_of, laws_of, target_waka
from papers.waka.data import Pool
from papers.waka.games import Order, lira, losses
from papers.waka.measures import auc_and_tpr, spearman
from papers.waka.values import lists_and_order

FEW = 10  # records per game, beside the paper's 100


@dataclass(frozen=True)
class Variant:
    """LiRA with one choice: mean and standard deviation over games.

    Args:
        variance: "pooled" over records, or each "record" its own.
        asked: records per game.
        spearman, spearman_spread: of its scores with t-WaKA's.
        tpr, tpr_spread: at 5 % FPR.
        waka_tpr, waka_tpr_spread: t-WaKA's on the same records.
    """

    dataset: str
    k: int
    variance: str
    asked: int
    games: int
    spearman: float
    spearman_spread: float
    tpr: float
    tpr_spread: float
    waka_tpr: float
    waka_tpr_spread: float


def variants(pool: Pool, *, repeats: int, seed: int = 0) -> list[Variant]:
    """A row per K, kind of variance and number of records asked about."""
    games = games_of(pool, repeats, seed)
    _, order = lists_and_order(pool, seed)
    rows = []
    for k in KS:
        figures = partial(_figures, order, k, laws_of(pool, games, k))
        for variance, asked in (("pooled", 100), ("record", 100), ("pooled", FEW)):
            found = np.array([figures(each, variance, asked) for each in games])
            mean, spread = np.nanmean(found, axis=0).tolist(), np.nanstd(found, axis=0).tolist()
            pairs = [figure for pair in zip(mean, spread, strict=True) for figure in pair]
            rows.append(Variant(pool.name, k, variance, min(asked, len(games[0].asked)), len(games), *pairs))
    return rows


def _figures(
    order: Order, k: int, laws: Laws, each: Game, variance: Literal["pooled", "record"], asked: int
) -> tuple[float, float, float]:
    """Spearman, and the TPR of LiRA and of t-WaKA, on the first so many records of one game."""
    rows = each.asked[:asked]
    target, shadow = losses(order, each.target[None], k, rows)[-1, 0], losses(order, each.shadow, k, rows)[-1]
    scores = lira(-target, -shadow, each.shadow[:, rows], variance=variance)
    own, member = target_waka(laws.of(rows), target), each.target[rows]
    if member.all() or not member.any():
        return np.nan, np.nan, np.nan
    return spearman(own, scores), auc_and_tpr(scores, member)[1], auc_and_tpr(own, member)[1]
