"""Exact values of training records: Shapley, Banzhaf, WaKA, leave-one-out."""

from collections.abc import Iterable, Iterator

import numba
import numpy as np

from guestlist.knn.distances import Buffers, Progress, map_in_order, split_blocks, squared_distances
from guestlist.knn.kernel import INTERVALS_PER_EDGE, PAD, distinct_edges, fill_slots, nearest
from guestlist.knn.model import (
    Knn,
    check_comparable,
    check_jobs,
    check_keep_probability,
    check_labels,
    check_records,
    require_average_ties,
    require_knn,
)
from guestlist.knn.pool import (
    Weights,
    WeightsOf,
    banzhaf_weights,
    block_values,
    label_codes,
    loo_weights,
    make_pool,
    needs_only_nearest,
    self_values,
    shapley_weights,
)


def row_order_values(
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    weights: Weights,
    *,
    precision: str,
    per_test: bool,
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of test records, with the values of all records: (n,) summed, or (tests, n)."""
    classes, codes = np.unique(y, return_inverse=True)
    test_codes = label_codes(y_test, classes)
    sizes = np.bincount(codes)
    rows_of = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    distances = squared_distances(x, precision=precision)
    for_distances = Buffers()
    for_matching = Buffers()

    def work(block: slice) -> tuple[slice, np.ndarray]:
        here = test_codes[block]
        rows = for_distances.matrix(len(here), len(x), distances.dtype)
        distances.fill(x_test[block], rows)
        out = np.zeros((len(here) if per_test else 1, len(x)))
        if needs_only_nearest(weights):
            _add_near_row_order_values(rows, codes, here, weights.radius, weights.mass, weights.end, out)
        else:
            matching = for_matching.matrix(len(here), sizes.max(), distances.dtype)
            for code in np.unique(here[here >= 0]):
                tests = np.flatnonzero(here == code)
                matching[tests, : sizes[code]] = np.sort(rows[np.ix_(tests, rows_of[code])], axis=1)
            _add_row_order_values(rows, matching, sizes, codes, here, weights.mass, weights.end, out)
        return block, out if per_test else out[0]

    return map_in_order(work, split_blocks(len(x_test), 4 * len(x)), n_jobs, progress)


@numba.njit(nogil=True, cache=True)
def _add_row_order_values(distances, matching, sizes, codes, test_codes, mass, end, out):
    """Add every record's value for each test record to ``out``: (1, n) for sums over tests, or (tests, n).

    Args:
        distances: (tests, n) squared distances, in the order of rows.
        matching: (tests, any) distances of the records with the test label, sorted.
        sizes: (classes,) number of records of each label.
        codes, test_codes: (n,) and (tests,) labels; -1 for one that no record has.
        mass, end: tables of the weights.
    """
    n = distances.shape[1]
    largest = matching.shape[1]
    slots = np.empty(n, np.uint32)
    edges = np.empty(largest + PAD, distances.dtype)
    ties = np.empty(largest, np.int32)
    starts = np.empty(INTERVALS_PER_EDGE * largest + 2, np.uint32)
    before = np.empty(2 * largest + 1, np.uint32)
    counts = np.empty(2 * largest + 1, np.int32)
    values = np.empty(2 * largest + 1)
    for t in range(len(distances)):
        into = out[min(t, len(out) - 1)]
        code = test_codes[t]
        size = sizes[code] if code >= 0 else 0
        n_edges = distinct_edges(matching[t, :size], edges, ties)
        fill_slots(distances[t], edges, n_edges, starts, slots)
        _matches_before(slots, codes, code, n_edges, ties, before)
        counts[: 2 * size + 1] = 0
        for i in range(n):
            counts[slots[i]] += 1
        _values_of_positions(n, size, counts, mass, end, values)
        for i in range(n):
            into[i] += values[slots[i]]


@numba.njit(nogil=True, cache=True)
def _add_near_row_order_values(distances, codes, test_codes, radius, mass, end, out):
    """Add the values of the nearest records, farthest first; arguments as for ``_add_row_order_values``."""
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius)
        into = out[min(t, len(out) - 1)]
        later = 0.0
        after = len(near)
        while after > 0:
            before = after - 1
            while before > 0 and near[before - 1] == near[after - 1]:
                before -= 1
            tied = np.sort(index[before:after])  # lower rows are nearer
            for at in range(len(tied) - 1, -1, -1):
                rank = before + at + 1
                if codes[tied[at]] == test_codes[t]:
                    into[tied[at]] += end - mass[rank] - later
                    later += mass[rank] - mass[rank - 1]
                else:
                    into[tied[at]] -= later
            after = before


@numba.njit(nogil=True, cache=True)
def _matches_before(slots, codes, code, n_edges, ties, before):
    """Convert the slot of each record to twice the number of matching records before it, plus 1 if it matches itself."""
    first = np.uint32(0)
    for edge in range(n_edges):
        before[2 * edge] = first
        before[2 * edge + 1] = first
        first += np.uint32(ties[edge])
    before[2 * n_edges] = first
    for i in range(len(slots)):
        slot = slots[i]
        match = np.uint32(codes[i] == code)
        position = before[slot]
        before[slot] = position + match  # a matching record is on an edge, and comes before those of later rows
        slots[i] = position + position + match


@numba.njit(nogil=True, cache=True)
def _values_of_positions(n, size, counts, mass, end, values):
    """Fill the value of a record at each position, farthest first, directly from the table of weights."""
    after = n - counts[2 * size]
    beyond = 0.0
    values[2 * size] = 0.0
    for position in range(size - 1, -1, -1):
        weight = mass[after] - mass[after - 1]
        beyond += weight
        values[2 * position + 1] = end - mass[after] - (beyond - weight)
        values[2 * position] = 0.0 - beyond
        after -= 1 + counts[2 * position]


Block = tuple[slice, np.ndarray]


def knn_shapley(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """Compute exact K-NN Shapley values, averaged over the test records (Jia et al. 2019; SHAPr, Duddu et al. 2022).

    The values of all records add up to the value of the whole training set. With a target's output probabilities as ``x``, this
    is SHAPr's risk score, at risk if above 0.

    Args:
        x, y: (n, features) and (n,) training records and their labels.
        x_test, y_test: (tests, features) and (tests,) test records and their labels.
        knn: Classifier whose neighbours vote.
        n_jobs: Number of threads; -1 for all cores. Results do not depend on it.
        progress: Function that wraps the list of blocks of test records, such as ``tqdm``; None shows nothing.

    Returns:
        (n,) values.

    Examples:
        >>> gl.knn.knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], gl.knn.Knn(k=1)).round(4).tolist()
        [0.8333, -0.1667, 0.3333]
    """
    return _mean_values(shapley_weights, x, y, x_test, y_test, knn, n_jobs, progress)


def knn_shapley_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """Compute the values of ``knn_shapley`` for each test record, block by block, to save memory.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``; they are checked at the call.

    Returns:
        An iterator of (slice of the test records, (tests, n) values), in order; ``stack_blocks`` joins the values.

    Examples:
        >>> blocks = gl.knn.knn_shapley_blocks([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], gl.knn.Knn(k=1))
        >>> gl.knn.stack_blocks(blocks).shape
        (1, 3)
    """
    return _blocks(shapley_weights, x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def knn_banzhaf(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """Compute exact K-NN Banzhaf values: the value a record adds if each other one is kept with probability ``p``.

    Records beyond a radius of some dozens of neighbours (72 at k=5, p=0.5) would add less than 2^-53 and get 0.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``.
        p: Probability with which other records are kept; 0.5 is the Banzhaf value, 1 leave-one-out.

    Returns:
        (n,) values.

    Examples:
        >>> gl.knn.knn_banzhaf([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], gl.knn.Knn(k=1)).tolist()
        [0.75, -0.25, 0.25]
    """
    return _mean_values(_banzhaf(p), x, y, x_test, y_test, knn, n_jobs, progress)


def knn_banzhaf_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """Compute the values of ``knn_banzhaf`` for each test record, block by block.

    Their absolute values are the distances that define WaKA.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``.
        p: As for ``knn_banzhaf``.

    Returns:
        An iterator of blocks, as that of ``knn_shapley_blocks``.
    """
    return _blocks(_banzhaf(p), x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def waka(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """Compute signed test-WaKA: the shift of the loss distribution by a record, positive if its label is the test record's.

    WaKA is the Wasserstein distance between the distributions of the loss of K-NN models trained on random subsets
    with and without the record. One distribution always lies below the other, so the distance is the difference of
    the means, and the signed value *is* the Banzhaf value (docs/methods_neighbours.md). The distances are the absolute
    values per test record, of ``knn_banzhaf_blocks``.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``.
        p: As for ``knn_banzhaf``.

    Returns:
        (n,) values, equal to those of ``knn_banzhaf``.

    Examples:
        >>> gl.knn.waka([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], gl.knn.Knn(k=1)).tolist()
        [0.75, -0.25, 0.25]
    """
    return knn_banzhaf(x, y, x_test, y_test, knn, p=p, n_jobs=n_jobs, progress=progress)


def knn_loo(x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None) -> np.ndarray:
    """Compute exact leave-one-out values: the value that the whole training set loses without one record.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``.

    Returns:
        (n,) values.

    Examples:
        >>> gl.knn.knn_loo([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], gl.knn.Knn(k=1)).tolist()
        [1.0, 0.0, 0.0]
    """
    return _mean_values(loo_weights, x, y, x_test, y_test, knn, n_jobs, progress)


def knn_loo_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """Compute the values of ``knn_loo`` for each test record, block by block.

    Args:
        x, y, x_test, y_test, knn, n_jobs, progress: As for ``knn_shapley``.

    Returns:
        An iterator of blocks, as that of ``knn_shapley_blocks``.
    """
    return _blocks(loo_weights, x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def self_shapley(x, y, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None) -> np.ndarray:
    """Compute the Shapley value of each record with itself as the test record.

    It is 1/k if all others have other labels, and smaller the more records of its own class are near. Ties are averaged.

    Args:
        x, y, knn, n_jobs, progress: As for ``knn_shapley``.

    Returns:
        (n,) values.

    Examples:
        >>> gl.knn.self_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], gl.knn.Knn(k=1)).round(4).tolist()
        [0.8333, 1.0, 0.8333]
    """
    return _self_values(shapley_weights, x, y, knn, n_jobs, progress)


def self_waka(
    x, y, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """Compute self-WaKA: the shift of the loss distribution of K-NN models at a record by the record itself.

    It is high if the neighbours have other labels; the attack success rate on K-NN models follows it. Ties are averaged, and
    equal records share one.

    Args:
        x, y, knn, n_jobs, progress: As for ``knn_shapley``.
        p: Probability with which other records are kept.

    Returns:
        (n,) values.

    Examples:
        >>> gl.knn.self_waka([[0.0], [1.0], [2.0]], [1, 0, 1], gl.knn.Knn(k=1)).tolist()
        [0.75, 1.0, 0.75]
    """
    return _self_values(_banzhaf(p), x, y, knn, n_jobs, progress)


def stack_blocks(blocks: Iterable[Block]) -> np.ndarray:
    """Stack blocks of values into one matrix.

    Args:
        blocks: Blocks from ``knn_shapley_blocks``, ``knn_banzhaf_blocks`` or ``knn_loo_blocks``.

    Returns:
        (tests, n) values.

    Examples:
        >>> blocks = gl.knn.knn_loo_blocks([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1], [0.9]], [1, 0], gl.knn.Knn(k=1))
        >>> gl.knn.stack_blocks(blocks).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return np.concatenate([values for _, values in blocks])


def _banzhaf(p: float) -> WeightsOf:
    p = check_keep_probability(p)

    def weights_of(n: int, k: int) -> Weights:
        return banzhaf_weights(n, k, p)

    return weights_of


def _mean_values(weights_of: WeightsOf, x, y, x_test, y_test, knn: Knn, n_jobs: int, progress) -> np.ndarray:
    blocks = _blocks(weights_of, x, y, x_test, y_test, knn, n_jobs, progress, per_test=False)
    return np.asarray(sum(sums for _, sums in blocks)) / len(x_test)


def _blocks(
    weights_of: WeightsOf, x, y, x_test, y_test, knn: Knn, n_jobs: int, progress, *, per_test: bool
) -> Iterator[Block]:
    """Blocks of test records with the values of all records: (n,) summed, or (tests, n)."""
    knn = require_knn(knn)
    n_jobs = check_jobs(n_jobs)
    x_test = check_records(x_test, "x_test", metric=knn.metric, precision=knn.precision)
    y_test = check_labels(y_test, len(x_test), "y_test")
    if knn.ties == "index":
        x = check_records(x, "x", metric=knn.metric, precision=knn.precision)
        y = check_labels(y, len(x), "y")
        check_comparable(x, y, x_test, y_test)
        return row_order_values(
            x,
            y,
            x_test,
            y_test,
            weights_of(len(x), knn.k),
            precision=knn.precision,
            per_test=per_test,
            n_jobs=n_jobs,
            progress=progress,
        )
    pool = make_pool(x, y, knn)
    check_comparable(pool.x, pool.classes, x_test, y_test)
    codes = pool.label_codes(y_test)
    weights = weights_of(pool.n, knn.k)
    return block_values(pool, x_test, codes, weights, per_test=per_test, n_jobs=n_jobs, progress=progress)


def _self_values(weights_of: WeightsOf, x, y, knn: Knn, n_jobs: int, progress) -> np.ndarray:
    knn = require_average_ties(knn)
    n_jobs = check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    return self_values(pool, weights_of(pool.n, knn.k), n_jobs=n_jobs, progress=progress)
