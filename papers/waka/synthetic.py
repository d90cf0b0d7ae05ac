"""Figure 7: distance of the records with the highest Shapley values to the decision boundary, on synthetic data.

The paper does not name the generator. Two Gaussian blobs have a known boundary, the line halfway between their centres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_blobs

from guestlist.knn import Knn, knn_shapley, self_shapley
from papers.waka.data import Pool
from papers.waka.measures import highest

K = 5  # the paper does not state it
CENTRES = np.array([[-1.5, 0.0], [1.5, 0.0]])  # the boundary is the vertical axis
RECORDS = 400  # of the training set and of the test set
ROUNDS = 3
SHARE = 0.2  # of the remaining records, removed in each round


@dataclass(frozen=True)
class Removal:
    """The records that one round removes, as means over synthetic datasets.

    Args:
        value: "self-shapley" or "test-shapley".
        removed_distance: median distance of the removed records to the boundary.
        kept_distance: median distance of the records that remain.
    """

    value: str
    round: int
    datasets: int
    removed_distance: float
    kept_distance: float


@dataclass(frozen=True)
class Drawn:
    """First dataset: position and class of each record, and the round that removes it (0: never)."""

    value: str
    x: list[float]
    y: list[float]
    label: list[int]
    round: list[int]


def removals(pools: list[Pool]) -> tuple[list[Removal], list[Drawn]]:
    """Return the distances for each value and round, and the records of the first dataset."""
    summaries, drawn = [], []
    for value in ("self-shapley", "test-shapley"):
        rounds = [removed_in(pool, value) for pool in pools]
        for number in range(1, ROUNDS + 1):
            removed, remaining = zip(
                *(distances(pool, by_round, number) for pool, by_round in zip(pools, rounds, strict=True)), strict=True
            )
            summaries.append(Removal(value, number, len(pools), float(np.mean(removed)), float(np.mean(remaining))))
        first = pools[0]
        drawn.append(
            Drawn(value, *(first.x[:, axis].tolist() for axis in (0, 1)), first.y.tolist(), rounds[0].tolist())
        )
    return summaries, drawn


def blobs(count: int, seed: int = 0) -> Iterator[Pool]:
    """Yield synthetic datasets; the validation set is the test set, as in the paper's test-Shapley."""
    for index in range(count):
        x, y = make_blobs(2 * RECORDS, centers=CENTRES, cluster_std=1.0, random_state=seed + index)
        test = x[RECORDS:], y[RECORDS:]
        yield Pool(f"blobs {index}", x[:RECORDS], y[:RECORDS], *test, *test)


def removed_in(pool: Pool, value: str) -> np.ndarray:
    """(n,) round in which a record is removed: each removes the highest values among the remaining records."""
    rounds = np.zeros(len(pool.x), dtype=int)
    for number in range(1, ROUNDS + 1):
        remaining = np.flatnonzero(rounds == 0)
        rounds[remaining[highest(_values(pool, remaining, value), SHARE)]] = number
    return rounds


def distances(pool: Pool, rounds: np.ndarray, number: int) -> tuple[float, float]:
    """Return the median distances to the boundary of records removed in a round and of those that remain after it."""
    distance = np.abs(pool.x[:, 0])
    remaining = (rounds == 0) | (rounds > number)
    return float(np.median(distance[rounds == number])), float(np.median(distance[remaining]))


def _values(pool: Pool, remaining: np.ndarray, value: str) -> np.ndarray:
    if value == "self-shapley":
        return self_shapley(pool.x[remaining], pool.y[remaining], Knn(K))
    return knn_shapley(pool.x[remaining], pool.y[remaining], pool.x_valid, pool.y_valid, Knn(K))
