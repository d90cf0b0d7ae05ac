"""Figure 6: accuracy as records are removed by a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.knn import Knn, minimisation_curve
from papers.waka.correlation import KS
from papers.waka.data import Pool
from papers.waka.values import VALUES, value_of

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Curve:
    """Test accuracy of a K-NN model after shares of its records were removed.

    Args:
        removed_by: value that ordered the removal, or "random" for the mean over random orders.
        first: records that are removed first.
        deviation: standard deviation over random orders; None for a value.
        zeros: share of the records whose value is 0, which are removed in random order; None for random orders.
        rarest: share of the rarest class among the remaining records; None for random orders.
    """

    dataset: str
    k: int
    removed_by: str
    first: str
    shares: list[float]
    accuracy: list[float]
    deviation: list[float] | None
    zeros: float | None
    rarest: list[float] | None


def curves(pool: Pool, *, repeats: int, seed: int = 0) -> list[Curve]:
    """Return one curve per K and value, and per K one of ``repeats`` random orders."""
    return [curve for k in KS for curve in _curves(pool, k, repeats, seed)]


def _curves(pool: Pool, k: int, repeats: int, seed: int) -> list[Curve]:
    rows: list[Curve] = []
    for name, value in VALUES.items():
        data = (pool.x, pool.y, pool.x_test, pool.y_test, value_of(pool, name, k))
        curve = minimisation_curve(
            *data,
            Knn(k),
            rng=np.random.default_rng(seed),
            first=value.drop,
            shares=SHARES,
            repeats=0 if rows else repeats,
        )
        if not rows:  # random orders are drawn once, because they are the same for every value
            mean, deviation = curve.random.mean(axis=0).tolist(), curve.random.std(axis=0).tolist()
            rows.append(Curve(pool.name, k, "random", "any", list(SHARES), mean, deviation, None, None))
        zeros = float((data[-1] == 0).mean())
        shares = rarest_shares(pool.y, data[-1], value.drop)
        accuracy = curve.accuracy.tolist()
        rows.append(Curve(pool.name, k, name, value.drop, list(SHARES), accuracy, None, zeros, shares))
    return rows


def rarest_shares(y: np.ndarray, value: np.ndarray, first: str) -> list[float]:
    """Return the share of the rarest class among the remaining records at each step; among ties, lower rows go first."""
    rarest = np.argmin(np.bincount(y))
    order = np.argsort(value if first == "lowest" else -value, kind="stable")
    return [float((y[order[round(share * len(y)) :]] == rarest).mean()) for share in SHARES]
