"""Figure 1 for values on a validation set: attack success rate by value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.waka.correlation import KS
from papers.waka.data import Pool
from papers.waka.games import PAIRS, success_rates
from papers.waka.measures import bins
from papers.waka.values import lists_and_order, value_of

VALUES = ("test-waka", "test-shapley")


@dataclass(frozen=True)
class Shape:
    """Mean attack success rate in each tenth of the records, from the lowest value to the highest."""

    dataset: str
    k: int
    value: str
    games: int
    deciles: list[float]


def shapes(pool: Pool, *, repeats: int, seed: int = 0) -> list[Shape]:
    """Return one row per K and value, from ``repeats`` batches of 18 games."""
    rates = success_rates(lists_and_order(pool, seed)[1], KS, repeats, seed)
    return [_shape(pool, k, name, rates[k].mean(axis=0), 2 * PAIRS * repeats) for k in KS for name in VALUES]


def ends_above_middle(deciles: list[float]) -> tuple[float, float]:
    """Return the rates of the lowest and highest tenth minus the mean of the two middle ones; a U shape has both above 0."""
    middle = float(np.mean(deciles[4:6]))
    return deciles[0] - middle, deciles[-1] - middle


def _shape(pool: Pool, k: int, name: str, rate: np.ndarray, games: int) -> Shape:
    return Shape(pool.name, k, name, games, [float(rate[rows].mean()) for rows in bins(value_of(pool, name, k), 10)])
