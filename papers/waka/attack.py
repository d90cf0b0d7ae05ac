"""Tables V and VI, Figure 8: t-WaKA and the exact likelihood ratio compared with LiRA, game by game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from guestlist.knn import Knn, knn_loss_distributions
from papers.waka.data import Pool
from papers.waka.games import SHADOWS, Order, lira, losses, partitions
from papers.waka.measures import auc_and_tpr, spearman
from papers.waka.values import lists_and_order

KS = (1, 2, 3, 4, 5)
RECORDS_PER_GAME = 100  # records per game, as in the paper

Both = tuple[np.ndarray, np.ndarray]  # loss distributions with a record and without it


@dataclass(frozen=True)
class Game:
    """A target on half of the pool, 16 shadow models on random halves, and the evaluated records."""

    target: np.ndarray
    shadow: np.ndarray
    evaluated: np.ndarray

    @property
    def member(self) -> np.ndarray:
        return self.target[self.evaluated]


@dataclass(frozen=True)
class Outcome:
    """One attack at one K: means and standard deviations over games, as in the paper."""

    dataset: str
    k: int
    attack: str
    games: int
    auc: float
    auc_deviation: float
    tpr: float
    tpr_deviation: float
    spearman_with_lira: float
    spearman_deviation: float


@dataclass(frozen=True)
class LossDistributions:
    """Loss distributions of the records that some game evaluates.

    Args:
        rows: (evaluated,) rows of the pool, in increasing order.
        inside, outside: (evaluated, k + 1) probabilities with the record and without it.
    """

    rows: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distributions of some of the rows, in their order."""
        at = np.searchsorted(self.rows, rows)
        return self.inside[at], self.outside[at]


def outcomes(pool: Pool, *, repeats: int, seed: int = 0) -> list[Outcome]:
    """Return one row per K and attack, over ``repeats`` games."""
    games = games_of(pool, repeats, seed)
    _, order = lists_and_order(pool, seed)
    return [row for k in KS for row in _outcomes(pool.name, order, games, k, loss_distributions(pool, games, k))]


def games_of(pool: Pool, repeats: int, seed: int) -> list[Game]:
    return [game(len(pool.x), np.random.default_rng([seed, g])) for g in range(repeats)]


def loss_distributions(pool: Pool, games: list[Game], k: int) -> LossDistributions:
    """Return the exact loss distributions that t-WaKA and the likelihood ratio need in these games."""
    rows = np.unique(np.concatenate([each.evaluated for each in games]))
    return LossDistributions(rows, *knn_loss_distributions(pool.x, pool.y, Knn(k), evaluated=rows))


def game(n: int, rng: np.random.Generator) -> Game:
    """Return a random game; the shadow models are both halves of eight partitions."""
    target = partitions(n, 1, rng)[0]
    shadow = partitions(n, SHADOWS // 2, rng)
    return Game(target, shadow, rng.choice(n, min(RECORDS_PER_GAME, n), replace=False))


def likelihood_ratio(distributions: Both, loss: np.ndarray) -> np.ndarray:
    """Return the scores of ``knn_likelihood_ratio`` from known loss distributions, which many games share."""
    with np.errstate(divide="ignore"):
        inside, outside = (
            np.log(distribution[np.arange(len(loss)), _steps(distributions, loss)]) for distribution in distributions
        )
    return inside - outside


def target_waka(distributions: Both, loss: np.ndarray) -> np.ndarray:
    """Return the scores of ``t_waka`` from known loss distributions."""
    gaps = np.abs(np.cumsum(distributions[0] - distributions[1], axis=1)[:, :-1])
    k = gaps.shape[1]
    return np.where(np.arange(k) >= _steps(distributions, loss)[:, None], gaps, -gaps).sum(axis=1) / k


def _steps(distributions: Both, loss: np.ndarray) -> np.ndarray:
    return np.round(loss * (distributions[0].shape[1] - 1)).astype(int)


def _scores(order: Order, each: Game, k: int, all_distributions: LossDistributions) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every attack's scores of the evaluated records of one game."""
    target = losses(order, each.target[None], k, each.evaluated)[-1, 0]
    shadow = losses(order, each.shadow, k, each.evaluated)[-1]
    distributions = all_distributions.take(each.evaluated)
    yield "LiRA", lira(-target, -shadow, each.shadow[:, each.evaluated])
    yield "t-WaKA", target_waka(distributions, target)
    yield "exact likelihood ratio", likelihood_ratio(distributions, target)
    yield "self-WaKA", target_waka(distributions, np.zeros_like(target))  # reads the record, not the target


def _outcomes(dataset: str, order: Order, games: list[Game], k: int, distributions: LossDistributions) -> list[Outcome]:
    scores = [dict(_scores(order, each, k, distributions)) for each in games]
    rows = []
    for name in scores[0]:
        rates = [auc_and_tpr(by[name], each.member) for by, each in zip(scores, games, strict=True)]
        ranks = [spearman(by[name], by["LiRA"]) for by in scores]
        (auc, tpr), (auc_deviation, tpr_deviation) = np.mean(rates, axis=0), np.std(rates, axis=0)
        metrics = map(float, (auc, auc_deviation, tpr, tpr_deviation, np.nanmean(ranks), np.nanstd(ranks)))
        rows.append(Outcome(dataset, k, name, len(games), *metrics))
    return rows
