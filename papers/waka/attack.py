"""Tables V and VI, Figure 8: t-WaKA and the exact likelihood ratio against LiRA, game by game."""

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
ASKED = 100  # records per game, as in the paper

Both = tuple[np.ndarray, np.ndarray]  # laws with a record and without it


@dataclass(frozen=True)
class Game:
    """A target on half of the pool, 16 shadow models on random halves, and the records asked about."""

    target: np.ndarray
    shadow: np.ndarray
    asked: np.ndarray

    @property
    def member(self) -> np.ndarray:
        return self.target[self.asked]


@dataclass(frozen=True)
class Outcome:
    """One attack at one K: means over games and their standard deviations, as the paper gives them."""

    dataset: str
    k: int
    attack: str
    games: int
    auc: float
    auc_spread: float
    tpr: float
    tpr_spread: float
    spearman_with_lira: float
    spearman_spread: float


@dataclass(frozen=True)
class Laws:
    """Laws of the loss of the records that some game asks about, and of no others: rows of the pool, rising.

    Args:
        rows: (asked,).
        inside, outside: (asked, k + 1) chances with the record and without it.
    """

    rows: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    def of(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Laws of some of the rows, in their order."""
        at = np.searchsorted(self.rows, asked)
        return self.inside[at], self.outside[at]


def outcomes(pool: Pool, *, repeats: int, seed: int = 0) -> list[Outcome]:
    """A row per K and attack over ``repeats`` games."""
    games = games_of(pool, repeats, seed)
    _, order = lists_and_order(pool, seed)
    return [row for k in KS for row in _outcomes(pool.name, order, games, k, laws_of(pool, games, k))]


def games_of(pool: Pool, repeats: int, seed: int) -> list[Game]:
    return [game(len(pool.x), np.random.default_rng([seed, g])) for g in range(repeats)]


def laws_of(pool: Pool, games: list[Game], k: int) -> Laws:
    """The exact laws that t-WaKA and the likelihood ratio need in these games."""
    rows = np.unique(np.concatenate([each.asked for each in games]))
    return Laws(rows, *knn_loss_distributions(pool.x, pool.y, Knn(k), evaluated=rows))


def game(n: int, rng: np.random.Generator) -> Game:
    """A random game; the shadow models are both halves of eight partitions."""
    target = partitions(n, 1, rng)[0]
    shadow = partitions(n, SHADOWS // 2, rng)
    return Game(target, shadow, rng.choice(n, min(ASKED, n), replace=False))


def likelihood_ratio(laws: Both, loss: np.ndarray) -> np.ndarray:
    """Scores of ``knn_likelihood_ratio`` for records whose laws are known: many games need the laws only once."""
    with np.errstate(divide="ignore"):
        inside, outside = (np.log(law[np.arange(len(loss)), _steps(laws, loss)]) for law in laws)
    return inside - outside


def target_waka(laws: Both, loss: np.ndarray) -> np.ndarray:
    """Scores of ``t_waka`` for records whose laws are known."""
    gaps = np.abs(np.cumsum(laws[0] - laws[1], axis=1)[:, :-1])
    k = gaps.shape[1]
    return np.where(np.arange(k) >= _steps(laws, loss)[:, None], gaps, -gaps).sum(axis=1) / k


def _steps(laws: Both, loss: np.ndarray) -> np.ndarray:
    return np.round(loss * (laws[0].shape[1] - 1)).astype(int)


def _scores(order: Order, each: Game, k: int, laws: Laws) -> Iterator[tuple[str, np.ndarray]]:
    """Every attack's scores of the records asked about in one game."""
    target = losses(order, each.target[None], k, each.asked)[-1, 0]
    shadow = losses(order, each.shadow, k, each.asked)[-1]
    own = laws.of(each.asked)
    yield "LiRA", lira(-target, -shadow, each.shadow[:, each.asked])
    yield "t-WaKA", target_waka(own, target)
    yield "exact likelihood ratio", likelihood_ratio(own, target)
    yield "self-WaKA", target_waka(own, np.zeros_like(target))  # knows the record, not the target


def _outcomes(dataset: str, order: Order, games: list[Game], k: int, laws: Laws) -> list[Outcome]:
    scores = [dict(_scores(order, each, k, laws)) for each in games]
    rows = []
    for name in scores[0]:
        rates = [auc_and_tpr(by[name], each.member) for by, each in zip(scores, games, strict=True)]
        ranks = [spearman(by[name], by["LiRA"]) for by in scores]
        (auc, tpr), (auc_spread, tpr_spread) = np.mean(rates, axis=0), np.std(rates, axis=0)
        figures = map(float, (auc, auc_spread, tpr, tpr_spread, np.nanmean(ranks), np.nanstd(ranks)))
        rows.append(Outcome(dataset, k, name, len(games), *figures))
    return rows
