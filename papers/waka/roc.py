"""Figure 3: ROC curves of LiRA on logarithmic axes, before and after a tenth of the records is removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.metrics import roc
from papers.waka.data import Pool
from papers.waka.games import without
from papers.waka.measures import SHARE, highest
from papers.waka.onion import Games, games
from papers.waka.values import lists_and_order, value_of

K = 1  # number of neighbours with the largest exposure
LOG_RATES = tuple(np.linspace(-4, 0, 25).tolist())  # stored as logarithms, because results have four digits
RATES = tuple(10.0**rate for rate in LOG_RATES)


@dataclass(frozen=True)
class Curve:
    """Mean true-positive rate over games at each of some false-positive rates.

    Args:
        removed_by: the value whose highest tenth was removed, "random", or "nothing".
    """

    dataset: str
    k: int
    removed_by: str
    games: int
    log10_fpr: tuple[float, ...]
    tpr: tuple[float, ...]


def curves(pool: Pool, *, repeats: int, seed: int = 0) -> list[Curve]:
    """Return three curves, from ``repeats`` batches of 18 games each."""
    order = lists_and_order(pool, seed)[1]
    n = len(pool.x)
    removals = {
        "nothing": np.zeros(n, dtype=bool),
        "random": highest(np.random.default_rng([seed, 10**6]).random(n), SHARE),
        "self-waka": highest(value_of(pool, "self-waka", K), SHARE),
    }
    rows = []
    for name, removed in removals.items():
        played = games(without(order, removed) if removed.any() else order, K, repeats, seed + removed.any())
        rows.append(Curve(pool.name, K, name, len(played.scores), LOG_RATES, mean_curve(played)))
    return rows


def mean_curve(played: Games) -> tuple[float, ...]:
    """Return the mean over games of the interpolated ROC curve at ``RATES``."""
    every = [roc(*pair) for pair in zip(played.scores, played.member, strict=True)]
    return tuple(np.mean([np.interp(RATES, each.fpr, each.tpr) for each in every], axis=0).tolist())
