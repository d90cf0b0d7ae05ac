"""Run times of t-WaKA, the exact likelihood ratio and LiRA, for the evaluated records only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from guestlist.knn import Knn, knn_loss_distributions, neighbour_lists
from papers.waka.attack import KS, Game, games_of, loss_distributions
from papers.waka.data import Pool
from papers.waka.games import losses, order_of


@dataclass(frozen=True)
class Timing:
    """Seconds to attack for K = 1, …, 5 on one thread, and the number of scored (record, K) pairs.

    Compare CPU seconds on a shared machine. Only the models' outputs, or the loss distributions, are timed: the time of scores
    and look-ups is negligible.
    """

    dataset: str
    method: str
    scores: int
    seconds: float
    cpu_seconds: float


def timings(pool: Pool, *, repeats: int, seed: int = 0) -> list[Timing]:
    """Return the times of three implementations of LiRA, and of the exact distributions, over ``repeats`` games."""
    games = games_of(pool, repeats, seed)
    n_scored = len(games) * len(games[0].evaluated) * len(KS)
    knn_loss_distributions(pool.x[:50], pool.y[:50], Knn(2))  # compiled before the measurement
    order_of(neighbour_lists(pool.x[:50], pool.y[:50], Knn(2)), np.random.default_rng(seed))
    distributions, of_distributions = _timed(lambda: [loss_distributions(pool, games, k) for k in KS])
    _, of_fits = _timed(lambda: [_refitted(pool, games, k) for k in KS])
    _, of_one_fit = _timed(lambda: _refitted(pool, games, max(KS)))
    _, of_lists = _timed(lambda: _read_off(pool, games, seed))
    return [
        Timing(pool.name, "LiRA, shadow models fitted for each K", n_scored, *of_fits),
        Timing(pool.name, "LiRA, one fit for all K", n_scored, *of_one_fit),
        Timing(pool.name, "LiRA, read off lists of neighbours", n_scored, *of_lists),
        Timing(
            pool.name,
            "exact distributions, for t-WaKA and likelihood ratio",
            len(distributions[0].rows) * len(KS),
            *of_distributions,
        ),
    ]


def refitted_losses(pool: Pool, member: np.ndarray, queried: np.ndarray, k: int) -> np.ndarray:
    """Compute ``games.losses`` by fitting each model: the slow reference method, which the paper timed."""
    votes = np.empty((k, len(member), len(queried)))
    for m, rows in enumerate(member):
        near = NearestNeighbors(n_neighbors=k).fit(pool.x[rows]).kneighbors(pool.x[queried], return_distance=False)
        votes[:, m] = np.cumsum(pool.y[rows][near] != pool.y[queried][:, None], axis=1).T
    return votes / np.arange(1, k + 1)[:, None, None]


def _refitted(pool: Pool, games: list[Game], k: int) -> list[np.ndarray]:
    return [refitted_losses(pool, each.shadow, each.evaluated, k) for each in games]


def _read_off(pool: Pool, games: list[Game], seed: int) -> None:
    """Compute the outputs of all shadow models from one order of the pool."""
    order = order_of(neighbour_lists(pool.x, pool.y, Knn(max(KS))), np.random.default_rng(seed))
    for each in games:
        losses(order, each.shadow, max(KS), each.evaluated)


def _timed(work: Callable):
    """Return the result of ``work``, and its (elapsed, CPU) seconds."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (round(time.perf_counter() - clock, 2), round(time.process_time() - cpu, 2))
