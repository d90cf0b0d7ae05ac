"""Shared data of a pool, computed once per run: its neighbours, loss distributions, and the values of its records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from guestlist.knn import (
    Knn,
    NeighbourLists,
    knn_loo,
    knn_loss_distributions,
    knn_shapley,
    neighbour_lists,
    self_shapley,
    self_waka,
    waka,
)
from papers.waka.data import Pool
from papers.waka.games import Order, order_of

JOBS = 2
LARGEST_K = 5
# Lists must be long enough even if the removed records are close together.
SPARE = 128


@dataclass(frozen=True)
class Value:
    """One value of each record.

    Args:
        compute: function (pool, k) to (n,) values.
        drop: records that are removed first: those with the "highest" self-value, which are among records with other
            labels, or those with the "lowest" value on the validation set.
    """

    compute: Callable[[Pool, int], np.ndarray]
    drop: str


def _self_value(function: Callable) -> Value:
    return Value(lambda pool, k: function(pool.x, pool.y, Knn(k), n_jobs=JOBS), "highest")


def _on_validation(function: Callable) -> Value:
    def compute(pool: Pool, k: int) -> np.ndarray:
        return function(pool.x, pool.y, pool.x_valid, pool.y_valid, Knn(k), n_jobs=JOBS)

    return Value(compute, "lowest")


VALUES: dict[str, Value] = {
    "self-waka": _self_value(self_waka),
    "self-shapley": _self_value(self_shapley),
    "test-waka": _on_validation(waka),
    "test-shapley": _on_validation(knn_shapley),
    "leave-one-out": _on_validation(knn_loo),
}
# The paper uses leave-one-out only for minimisation.
EXPOSURES = ("self-waka", "self-shapley", "test-waka", "test-shapley")


@lru_cache(maxsize=64)
def value_of(pool: Pool, name: str, k: int) -> np.ndarray:
    """Return (n,) a value of the pool's records."""
    return VALUES[name].compute(pool, k)


@lru_cache(maxsize=8)
def best_success(pool: Pool, k: int) -> np.ndarray:
    """Return (n,) success rate of the best attack on each record: 0.5 plus half the distance of the two distributions."""
    inside, outside = knn_loss_distributions(pool.x, pool.y, Knn(k), n_jobs=JOBS)
    return 0.5 + np.abs(inside - outside).sum(axis=1) / 4


@lru_cache(maxsize=4)
def lists_and_order(pool: Pool, seed: int) -> tuple[NeighbourLists, Order]:
    """Return the nearest records of each record, and their order for models of all K up to 5."""
    lists = neighbour_lists(pool.x, pool.y, Knn(LARGEST_K), spare=SPARE, n_jobs=JOBS)
    return lists, order_of(lists, np.random.default_rng(seed))
