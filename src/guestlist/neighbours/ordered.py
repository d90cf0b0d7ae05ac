"""Values with ties broken by row order, as other libraries do: for comparison with them, not for audits.

A plain full sort per test record. Two equal records may get different values here, and the values move when
the rows are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guestlist.neighbours.blocks import Buffers, Progress, blocks_of, in_order
from guestlist.neighbours.distances import squared_distances
from guestlist.neighbours.weights import Weights


def ordered_values(
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    weights: Weights,
    *,
    precision: str,
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of test records with (tests, n) values; among equal distances the lower row is nearer."""
    distances, buffers = squared_distances(x, precision=precision), Buffers()

    def work(block: slice) -> tuple[slice, np.ndarray]:
        rows = buffers.matrix(block.stop - block.start, len(x), distances.dtype)
        distances.fill(x_test[block], rows)
        return block, values_by_rank(rows, y, y_test[block], weights)

    return in_order(work, blocks_of(len(x_test), 4 * len(x)), n_jobs, progress)


def values_by_rank(distances: np.ndarray, y: np.ndarray, y_test: np.ndarray, weights: Weights) -> np.ndarray:
    """(tests, n) values from (tests, n) distances, by the formula of ``weights`` as it stands."""
    order = np.argsort(distances, axis=1, kind="stable")
    match = y[order] == y_test[:, None]
    lost = np.where(match, np.diff(weights.mass), 0.0)  # w_j m_j, rank by rank
    beyond = np.cumsum(lost[:, ::-1], axis=1)[:, ::-1] - lost
    ranked = np.where(match, weights.end - weights.mass[1:], 0.0) - beyond
    values = np.empty_like(ranked)
    np.put_along_axis(values, order, ranked, axis=1)
    return values
