"""Tables V and VI, Figure 8: t-WaKA and the exact likelihood ratio against LiRA, game by game, and their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from guestlist.neighbours import Knn, knn_loss_laws, neighbour_lists
from papers.waka.data import Pool
from papers.waka.games import SHADOWS, Order, lira, losses, order_of, partitions
from papers.waka.measures import auc_and_tpr, spearman

KS = (1, 2, 3, 4, 5)
ASKED = 100  # records per game, as in the paper

Laws = tuple[np.ndarray, np.ndarray]


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
class Timing:
    """Seconds to attack for K = 1, …, 5 on one thread, and how many (record, K) pairs that scores.

    CPU seconds are what to compare where others share the machine. Only the models' answers, or the laws, are
    timed: scores and look-ups are negligible beside them.
    """

    dataset: str
    how: str
    scores: int
    seconds: float
    cpu_seconds: float


def outcomes(pool: Pool, *, repeats: int, seed: int = 0) -> tuple[list[Outcome], list[Timing]]:
    """A row per K and attack over ``repeats`` games, and the times of LiRA and of the exact laws."""
    games = [game(len(pool.x), np.random.default_rng([seed, g])) for g in range(repeats)]
    asked = len(games) * len(games[0].asked) * len(KS)
    knn_loss_laws(pool.x[:50], pool.y[:50], Knn(2))  # compiled before the clock runs
    laws, of_laws = _timed(lambda: {k: knn_loss_laws(pool.x, pool.y, Knn(k)) for k in KS})
    _, of_fits = _timed(lambda: [_refitted(pool, games, k) for k in KS])
    _, of_one_fit = _timed(lambda: _refitted(pool, games, max(KS)))
    order, of_lists = _timed(lambda: _read_off(pool, games, seed))
    rows = [row for k in KS for row in _outcomes(pool.name, order, games, k, laws[k])]
    times = [
        Timing(pool.name, "LiRA, shadow models fitted for each K", asked, *of_fits),
        Timing(pool.name, "LiRA, one fit for all K", asked, *of_one_fit),
        Timing(pool.name, "LiRA, read off lists of neighbours", asked, *of_lists),
        Timing(pool.name, "exact laws, for t-WaKA and likelihood ratio", len(pool.x) * len(KS), *of_laws),
    ]
    return rows, times


def game(n: int, rng: np.random.Generator) -> Game:
    """A random game; the shadow models are both halves of eight partitions."""
    target = partitions(n, 1, rng)[0]
    shadow = partitions(n, SHADOWS // 2, rng)
    return Game(target, shadow, rng.choice(n, min(ASKED, n), replace=False))


def _read_off(pool: Pool, games: list[Game], seed: int) -> Order:
    """The order of the pool, after the answers of all shadow models were read off it once, for the clock."""
    order = order_of(neighbour_lists(pool.x, pool.y, Knn(max(KS))), np.random.default_rng(seed))
    for each in games:
        losses(order, each.shadow, max(KS), each.asked)
    return order


def _refitted(pool: Pool, games: list[Game], k: int) -> list[np.ndarray]:
    return [refitted_losses(pool, each.shadow, each.asked, k) for each in games]


def refitted_losses(pool: Pool, member: np.ndarray, asked: np.ndarray, k: int) -> np.ndarray:
    """As ``games.losses``, by fitting each model: the slow and obvious way, and the one the paper timed."""
    votes = np.empty((k, len(member), len(asked)))
    for m, rows in enumerate(member):
        near = NearestNeighbors(n_neighbors=k).fit(pool.x[rows]).kneighbors(pool.x[asked], return_distance=False)
        votes[:, m] = np.cumsum(pool.y[rows][near] != pool.y[asked][:, None], axis=1).T
    return votes / np.arange(1, k + 1)[:, None, None]


def likelihood_ratio(laws: Laws, loss: np.ndarray) -> np.ndarray:
    """Scores of ``knn_likelihood_ratio`` for records whose laws are known: many games need the laws only once."""
    with np.errstate(divide="ignore"):
        inside, outside = (np.log(law[np.arange(len(loss)), _steps(laws, loss)]) for law in laws)
    return inside - outside


def target_waka(laws: Laws, loss: np.ndarray) -> np.ndarray:
    """Scores of ``t_waka`` for records whose laws are known."""
    gaps = np.abs(np.cumsum(laws[0] - laws[1], axis=1)[:, :-1])
    k = gaps.shape[1]
    return np.where(np.arange(k) >= _steps(laws, loss)[:, None], gaps, -gaps).sum(axis=1) / k


def _steps(laws: Laws, loss: np.ndarray) -> np.ndarray:
    return np.round(loss * (laws[0].shape[1] - 1)).astype(int)


def _scores(order: Order, each: Game, k: int, laws: Laws) -> Iterator[tuple[str, np.ndarray]]:
    """Every attack's scores of the records asked about in one game."""
    target = losses(order, each.target[None], k, each.asked)[-1, 0]
    shadow = losses(order, each.shadow, k, each.asked)[-1]
    own = tuple(law[each.asked] for law in laws)
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


def _timed(work: Callable):
    """What ``work`` gives, and (clock, CPU) seconds it took."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (round(time.perf_counter() - clock, 2), round(time.process_time() - cpu, 2))
