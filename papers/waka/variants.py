"""Effect of unstated choices of the paper on the differences of Tables V and VI from our results.

LiRA's variance may be pooled or per record, and the standard deviation over games depends on the number of evaluated
records per game.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from papers.waka.attack import KS, Game, LossDistributions, games_of, loss_distributions, target_waka
from papers.waka.data import Pool
from papers.waka.games import Order, lira, losses
from papers.waka.measures import auc_and_tpr, spearman
from papers.waka.values import lists_and_order

FEW = 10  # records per game, compared with the paper's 100


@dataclass(frozen=True)
class Variant:
    """LiRA with one choice: mean and standard deviation over games.

    Args:
        variance: "pooled" over records, or separate for each "record".
        records: number of evaluated records per game.
        spearman, spearman_deviation: correlation of its scores with t-WaKA's.
        tpr, tpr_deviation: TPR at 5 % FPR.
        waka_tpr, waka_tpr_deviation: TPR of t-WaKA on the same records.
    """

    dataset: str
    k: int
    variance: str
    records: int
    games: int
    spearman: float
    spearman_deviation: float
    tpr: float
    tpr_deviation: float
    waka_tpr: float
    waka_tpr_deviation: float


def variants(pool: Pool, *, repeats: int, seed: int = 0) -> list[Variant]:
    """Return one row per K, type of variance and number of evaluated records."""
    games = games_of(pool, repeats, seed)
    _, order = lists_and_order(pool, seed)
    rows = []
    for k in KS:
        game_metrics = partial(_metrics, order, k, loss_distributions(pool, games, k))
        for variance, n_records in (("pooled", 100), ("record", 100), ("pooled", FEW)):
            metrics = np.array([game_metrics(each, variance, n_records) for each in games])
            mean, deviation = np.nanmean(metrics, axis=0).tolist(), np.nanstd(metrics, axis=0).tolist()
            pairs = [metric for pair in zip(mean, deviation, strict=True) for metric in pair]
            rows.append(Variant(pool.name, k, variance, min(n_records, len(games[0].evaluated)), len(games), *pairs))
    return rows


def _metrics(
    order: Order,
    k: int,
    distributions: LossDistributions,
    each: Game,
    variance: Literal["pooled", "record"],
    n_records: int,
) -> tuple[float, float, float]:
    """Return Spearman's correlation, and the TPR of LiRA and of t-WaKA, on the first ``n_records`` records of one game."""
    rows = each.evaluated[:n_records]
    target, shadow = losses(order, each.target[None], k, rows)[-1, 0], losses(order, each.shadow, k, rows)[-1]
    scores = lira(-target, -shadow, each.shadow[:, rows], variance=variance)
    waka_scores, member = target_waka(distributions.take(rows), target), each.target[rows]
    if member.all() or not member.any():
        return np.nan, np.nan, np.nan
    return spearman(waka_scores, scores), auc_and_tpr(scores, member)[1], auc_and_tpr(waka_scores, member)[1]
