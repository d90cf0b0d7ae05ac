"""Weight tables of the values, and records prepared for the kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, gammaln

from guestlist.knn.distances import (
    Buffers,
    Distances,
    Progress,
    canonical_order,
    label_runs,
    map_in_order,
    split_blocks,
    squared_distances,
    zero_self_distances,
)
from guestlist.knn.kernel import add_all_values, add_near_values, write_self_near_values, write_self_values
from guestlist.knn.model import Knn, check_labels, check_records

# Farther ranks are omitted if together they add at most this to a value: half an ulp of 1.
NEGLIGIBLE = 2.0**-53


@dataclass(frozen=True)
class Weights:
    """Weights of one value for ``n`` training records, as sums over the ranks that follow.

    Args:
        k: number of neighbours that vote.
        mass: (n + 1,) minus the sum of w_j over j > r, at index r.
        moment: (n + 1,) minus the sum of j w_j over j > r, at index r; ties need it.
        end: the weight of an empty place among the K nearest.
        radius: ranks beyond it change no value by more than ``NEGLIGIBLE``; n if all are needed.
    """

    k: int
    mass: np.ndarray
    moment: np.ndarray
    end: float
    radius: int

    @property
    def n(self) -> int:
        return len(self.mass) - 1


def shapley_weights(n: int, k: int) -> Weights:
    """Weights of the Shapley value: w_j = 1 / (j (j - 1)) beyond rank K, and 1 / max(n, K) at the end."""
    ranks = np.arange(k + 1, n + 1, dtype=np.float64)
    return _weights(n, k, 1 / (ranks * (ranks - 1)), 1 / max(n, k), radius=n)


def banzhaf_weights(n: int, k: int, p: float = 0.5) -> Weights:
    """Weights of the Banzhaf value where each other record is kept with probability ``p``.

    w_j is the probability that rank j is kept and is the K-th nearest kept record among the n - 1 others, divided by K.
    """
    w = _kth_kept(n, k, p) / k
    end = _at_most(k - 1, n - 1, p) / k
    return _weights(n, k, w, end, radius=banzhaf_radius(n, k, p))


def loo_weights(n: int, k: int) -> Weights:
    """Weights of leave-one-out: only the (K+1)-th nearest record can replace a removed one."""
    w = np.zeros(max(n - k, 0))
    w[:1] = 1 / k
    return _weights(n, k, w, 0.0 if n > k else 1 / k, radius=min(n, k + 1))


def banzhaf_radius(n: int, k: int, p: float = 0.5, negligible: float = NEGLIGIBLE) -> int:
    """Return the number of nearest records that determine a Banzhaf value up to ``negligible``; n if all are needed.

    A record beyond rank R counts only if fewer than K of R - 1 records were kept, and then at most 1/K.

    >>> banzhaf_radius(10_000, 5)
    72
    """
    low = min(k, n)
    high = n
    while low < high:
        middle = (low + high) // 2
        if _at_most(k - 1, middle - 1, p) <= negligible * k:
            high = middle
        else:
            low = middle + 1
    return low


def _weights(n: int, k: int, w: np.ndarray, end: float, radius: int) -> Weights:
    """Fill the tables from ``w``, the weights of ranks K+1, …, n; ranks up to K have none."""
    full = np.zeros(n)
    full[k:] = w
    ranks = np.arange(1, n + 1)
    return Weights(
        k=k,
        mass=_minus_suffix_sums(full),
        moment=_minus_suffix_sums(full * ranks),
        end=float(end),
        radius=int(radius),
    )


def _minus_suffix_sums(values: np.ndarray) -> np.ndarray:
    return np.append(-np.cumsum(values[::-1])[::-1], 0.0)


def _kth_kept(n: int, k: int, p: float) -> np.ndarray:
    """Return (n - k,) the probability that the K-th kept record of a sequence is number j - 1, for j = K+1, …, n."""
    steps = np.arange(k + 1, n, dtype=np.float64)
    ratios = (1 - p) * (steps - 1) / (steps - k)
    if k * np.log(p) > -700:
        return np.cumprod(np.append(p**k, ratios))[: max(n - k, 0)]
    # p^K underflows, but the weights in the middle do not; logarithms cost digits, so only here.
    n_kept = np.arange(k, n, dtype=np.float64)
    choose = gammaln(n_kept) - gammaln(k) - gammaln(n_kept - k + 1)
    return np.exp(choose + k * np.log(p) + (n_kept - k) * np.log1p(-p))


def _at_most(successes: int, trials: int, p: float) -> float:
    """Return the probability of at most this number of successes."""
    return 1.0 if successes >= trials else float(bdtr(successes, trials, p))


# Ranking only the nearest records is faster while they are clearly fewer than all.
LARGEST_SHARE_NEAR = 0.1


@dataclass(frozen=True)
class Pool:
    """Training records, sorted by class.

    Args:
        x: (n, features) float64.
        codes: (n,) class of each, rising.
        starts: (classes + 1,) position at which each class begins.
        order: (n,) original row of each record.
        classes: the labels, by code.
        distances: distances to all of them.
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
        """Return the code of each label, -1 for a label that no training record has."""
        return label_codes(y, self.classes)

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of the records with these original ``rows``."""
        return np.argsort(self.order)[rows]

    def in_rows(self, values: np.ndarray) -> np.ndarray:
        """Return values in the original order of rows; records are the last axis."""
        out = np.empty_like(values)
        out[..., self.order] = values
        return out


def label_codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label in the sorted ``classes``, -1 for an unknown label."""
    position = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    return np.where(classes[position] == y, position, -1)


def make_pool(x, y, knn: Knn) -> Pool:
    """Validate the training records and sort them by class."""
    x = check_records(x, "x", metric=knn.metric, precision=knn.precision)
    y = check_labels(y, len(x), "y")
    classes, codes = np.unique(y, return_inverse=True)
    by_content = canonical_order(x)
    order = by_content[np.argsort(codes[by_content], kind="stable")]
    starts = np.searchsorted(codes[order], np.arange(len(classes) + 1))
    x = x[order]
    distances = squared_distances(x, precision=knn.precision)
    return Pool(x=x, codes=codes[order], starts=starts, order=order, classes=classes, distances=distances)


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
    """Yield blocks of test records with the values of all records in row order: (n,) sums, or (tests, n)."""
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
    """Return (n,) the value of each record with itself as the only test record, in row order."""
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
    """Return distances from the records ``rows`` to all, exactly 0 to themselves and to equal records."""
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
    """Return True if so few records matter that the others need no rank."""
    return weights.radius <= LARGEST_SHARE_NEAR * weights.n


WeightsOf = Callable[[int, int], Weights]
