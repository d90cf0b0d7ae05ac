"""Table II and Figure 2: the mean attack success rate on K-NN models, and on logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from papers.waka.correlation import KS
from papers.waka.data import Pool
from papers.waka.games import PAIRS, partitions, rotated_lira, success, success_rates
from papers.waka.measures import bins, spearman, standard_error
from papers.waka.values import best_success, lists_and_order, value_of

LOGISTIC = "logistic regression"


@dataclass(frozen=True)
class Rate:
    """Mean attack success rate over all records of a pool.

    Args:
        asr, error: the mean over batches of 18 games and its standard error; the records are fixed.
        best: exact mean success rate of the best possible attack; None if it is not known.
        spearman: correlation of the records' success rates with their self-WaKA at K = 1.
        deciles: mean success rate in each tenth of the records by self-WaKA at K = 1, lowest first.
    """

    dataset: str
    model: str
    games: int
    asr: float
    error: float
    best: float | None
    spearman: float
    deciles: list[float]


def rates(pool: Pool, *, repeats: int, seed: int = 0) -> list[Rate]:
    """Return one row per K and one for logistic regression, from ``repeats`` batches of 18 games each."""
    exposure = value_of(pool, "self-waka", 1)
    by_k = success_rates(lists_and_order(pool, seed)[1], KS, repeats, seed)
    rows = [_rate(pool, f"K={k}", by_k[k], exposure, float(best_success(pool, k).mean())) for k in KS]
    return [*rows, _rate(pool, LOGISTIC, logistic_success_rates(pool, repeats, seed), exposure, None)]


def logistic_success_rates(pool: Pool, repeats: int, seed: int) -> np.ndarray:
    """Return (repeats, n) attack success rates on logistic regressions, by LiRA on the margin."""
    rows = np.empty((repeats, len(pool.x)))
    for b in range(repeats):
        member = partitions(len(pool.x), PAIRS, np.random.default_rng([seed, b]))
        margin = np.stack([_margin(pool, half) for half in member])
        rows[b] = success(rotated_lira(margin, member), member).mean(axis=0)
    return rows


def _margin(pool: Pool, member: np.ndarray) -> np.ndarray:
    """Return (n,) margins of a model trained on the members; its classes are those of the pool, 0, 1, …"""
    model = LogisticRegression(max_iter=1000, tol=1e-3).fit(pool.x[member], pool.y[member])
    logits = model.decision_function(pool.x)
    if logits.ndim == 1:
        logits = np.stack([np.zeros_like(logits), logits], axis=1)
    return gl.models.signals_of_logits(logits, pool.y)["margin"]


def _rate(pool: Pool, model: str, by_batch: np.ndarray, exposure: np.ndarray, best: float | None) -> Rate:
    rate = by_batch.mean(axis=0)
    return Rate(
        dataset=pool.name,
        model=model,
        games=2 * PAIRS * len(by_batch),
        asr=float(rate.mean()),
        error=standard_error(by_batch.mean(axis=1)),
        best=best,
        spearman=spearman(exposure, rate),
        deciles=[float(rate[rows].mean()) for rows in bins(exposure, 10)],
    )
