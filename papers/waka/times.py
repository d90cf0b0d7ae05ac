"""How long t-WaKA, the exact likelihood ratio and LiRA take, for the records that are asked about and no others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from guestlist.knn import Knn, knn_loss_distributions, neighbour_lists
from papers.waka.attack import KS, Game, games_of, laws_of
from papers.waka.data import Pool
from papers.waka.games import losses, order_of


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


def timings(pool: Pool, *, repeats: int, seed: int = 0) -> list[Timing]:
    """The times of LiRA in three ways, and of the exact laws, over ``repeats`` games."""
    games = games_of(pool, repeats, seed)
    asked = len(games) * len(games[0].asked) * len(KS)
    knn_loss_distributions(pool.x[:50], pool.y[:50], Knn(2))  # compiled before the clock runs
    order_of(neighbour_lists(pool.x[:50], pool.y[:50], Knn(2)), np.random.default_rng(seed))
    laws, of_laws = _timed(lambda: [laws_of(pool, games, k) for k in KS])
    _, of_fits = _timed(lambda: [_refitted(pool, games, k) for k in KS])
    _, of_one_fit = _timed(lambda: _refitted(pool, games, max(KS)))
    _, of_lists = _timed(lambda: _read_off(pool, games, seed))
    return [
        Timing(pool.name, "LiRA, shadow models fitted for each K", asked, *of_fits),
        Timing(pool.name, "LiRA, one fit for all K", asked, *of_one_fit),
        Timing(pool.name, "LiRA, read off lists of neighbours", asked, *of_lists),
        Timing(pool.name, "exact laws, for t-WaKA and likelihood ratio", len(laws[0].rows) * len(KS), *of_laws),
    ]


def refitted_losses(pool: Pool, member: np.ndarray, asked: np.ndarray, k: int) -> np.ndarray:
    """As ``games.losses``, by fitting each model: the slow and obvious way, and the one the paper timed."""
    votes = np.empty((k, len(member), len(asked)))
    for m, rows in enumerate(member):
        near = NearestNeighbors(n_neighbors=k).fit(pool.x[rows]).kneighbors(pool.x[asked], return_distance=False)
        votes[:, m] = np.cumsum(pool.y[rows][near] != pool.y[asked][:, None], axis=1).T
    return votes / np.arange(1, k + 1)[:, None, None]


def _refitted(pool: Pool, games: list[Game], k: int) -> list[np.ndarray]:
    return [refitted_losses(pool, each.shadow, each.asked, k) for each in games]


def _read_off(pool: Pool, games: list[Game], seed: int) -> None:
    """The answers of all shadow models read off one order of the pool."""
    order = order_of(neighbour_lists(pool.x, pool.y, Knn(max(KS))), np.random.default_rng(seed))
    for each in games:
        losses(order, each.shadow, max(KS), each.asked)


def _timed(work: Callable):
    """What ``work`` gives, and (clock, CPU) seconds it took."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (round(time.perf_counter() - clock, 2), round(time.process_time() - cpu, 2))
