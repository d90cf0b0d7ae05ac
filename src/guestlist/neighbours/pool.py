"""Records made ready for the kernels, and one pass of any weights over all test records.

The training records stand class by class, and within a class in an order that depends on their contents
alone: no result depends on the order of the rows that came in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from guestlist.neighbours.blocks import Buffers, Progress, label_runs, map_in_order, split_blocks
from guestlist.neighbours.checks import check_labels, check_records
from guestlist.neighbours.distances import Distances, canonical_order, squared_distances, zero_self_distances
from guestlist.neighbours.kernel import add_all_values, write_self_values
from guestlist.neighbours.knn import Knn
from guestlist.neighbours.nearest import add_near_values, write_self_near_values
from guestlist.neighbours.weights import Weights

# Ranking only the nearest pays as long as they are clearly fewer than all.
LARGEST_SHARE_NEAR = 0.1


@dataclass(frozen=True)
class Pool:
    """Training records class by class.

    Args:
        x: (n, features) float64.
        codes: (n,) class of each, rising.
        starts: (classes + 1,) where each class begins.
        order: (n,) the row each came from.
        classes: the labels, by code.
        distances: to all of them.
    """

    x: np.ndarray
    codes: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    classes: np.ndarray
    distances: Distances

    @property
    def n(self) -> int:
        return len(self.codes)

    def slice_of(self, code: int) -> tuple[int, int]:
        """Return the range of a class; empty for a label that no training record has (code -1)."""
        if code < 0:
            return 0, 0
        return int(self.starts[code]), int(self.starts[code + 1])

    def label_codes(self, y: np.ndarray) -> np.ndarray:
        """The code of each label, -1 where no training record has it."""
        return label_codes(y, self.classes)

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of the records that came in as ``rows``."""
        return np.argsort(self.order)[rows]

    def in_rows(self, values: np.ndarray) -> np.ndarray:
        """Values in the order of the rows that came in; records are the last axis."""
        out = np.empty_like(values)
        out[..., self.order] = values
        return out


def label_codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label in the sorted ``classes``, -1 for an unknown label."""
    position = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    return np.where(classes[position] == y, position, -1)


def make_pool(x, y, knn: Knn) -> Pool:
    """The training records checked and put in order."""
    x = check_records(x, "x", metric=knn.metric, precision=knn.precision)
    y = check_labels(y, len(x), "y")
    classes, codes = np.unique(y, return_inverse=True)
    by_content = canonical_order(x)
    order = by_content[np.argsort(codes[by_content], kind="stable")]
    starts = np.searchsorted(codes[order], np.arange(len(classes) + 1))
    distances = squared_distances(x[order], precision=knn.precision)
    return Pool(x=x[order], codes=codes[order], starts=starts, order=order, classes=classes, distances=distances)


def block_values(
    pool: Pool,
    x_test: np.ndarray,
    codes: np.ndarray,
    weights: Weights,
    *,
    per_test: bool,
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of test records, with the values of all records in row order: (n,) summed, or (tests, n)."""
    buffers = Buffers()

    def work(block: slice) -> tuple[slice, np.ndarray]:
        by_label = np.argsort(codes[block], kind="stable")
        distances = buffers.matrix(len(by_label), pool.n, pool.distances.dtype)
        pool.distances.fill(x_test[block][by_label], distances)
        out = np.zeros((len(by_label) if per_test else 1, pool.n))
        for code, run in label_runs(codes[block][by_label]):
            _add(distances[run], pool.slice_of(code), weights, out[run] if per_test else out)
        if per_test:
            out[by_label] = pool.in_rows(out)
            return block, out
        return block, pool.in_rows(out[0])

    return map_in_order(work, split_blocks(len(x_test), pool.n), n_jobs, progress)


def self_values(pool: Pool, weights: Weights, *, n_jobs: int, progress: Progress | None) -> np.ndarray:
    """(n,) the value of each record with itself as the only test record, in row order."""
    buffers = Buffers()

    def work(block: slice) -> np.ndarray:
        rows = np.arange(block.start, block.stop)
        distances = self_distances(pool, rows, buffers)
        out = np.empty(len(rows))
        for code, run in label_runs(pool.codes[block]):
            _write_self(distances[run], pool.slice_of(code), rows[run], weights, out[run])
        return out

    blocks = split_blocks(pool.n, pool.n)
    return pool.in_rows(np.concatenate(list(map_in_order(work, blocks, n_jobs, progress))))


def self_distances(pool: Pool, rows: np.ndarray, buffers: Buffers) -> np.ndarray:
    """Distances from the records ``own`` to all, exactly 0 to themselves and their equals."""
    out = buffers.matrix(len(rows), pool.n, pool.distances.dtype)
    pool.distances.fill(pool.x[rows], out)
    if pool.distances.distinct is not None:
        zero_self_distances(out, rows, pool.distances.distinct)
    return out


def _add(distances: np.ndarray, matching: tuple[int, int], weights: Weights, out: np.ndarray) -> None:
    low, high = matching
    if needs_only_nearest(weights):
        add_near_values(distances, low, high, weights.radius, weights.mass, weights.moment, weights.end, out)
    else:
        ordered = np.sort(distances[:, low:high], axis=1)
        add_all_values(distances, ordered, low, high, weights.mass, weights.moment, weights.end, out)


def _write_self(distances, matching: tuple[int, int], rows: np.ndarray, weights: Weights, out: np.ndarray) -> None:
    low, high = matching
    if needs_only_nearest(weights):
        write_self_near_values(distances, low, high, weights.radius, weights.mass, weights.moment, weights.end, out)
    else:
        ordered = np.sort(distances[:, low:high], axis=1)
        write_self_values(distances, ordered, low, high, rows, weights.mass, weights.moment, weights.end, out)


def needs_only_nearest(weights: Weights) -> bool:
    """Return True if so few records count that the others need no rank."""
    return weights.radius <= LARGEST_SHARE_NEAR * weights.n


WeightsOf = Callable[[int, int], Weights]
