"""Exact values of training records for a K-NN classifier: Shapley, Banzhaf, WaKA and leave-one-out.

The worth of a set of records, for a test record, is the share of its K nearest members that carry the
test label; a missing neighbour counts as a wrong one, so that the empty set is worth 0. All values below
are exact averages of what a record adds to that worth, over sets or orders of the others; they differ in
``weights`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from guestlist.neighbours.blocks import Progress
from guestlist.neighbours.checks import (
    check_comparable,
    check_jobs,
    check_keep_probability,
    check_labels,
    check_records,
)
from guestlist.neighbours.knn import Knn, require_average_ties, require_knn
from guestlist.neighbours.ordered import row_order_values
from guestlist.neighbours.pool import WeightsOf, block_values, make_pool, self_values
from guestlist.neighbours.weights import Weights, banzhaf_weights, loo_weights, shapley_weights

Block = tuple[slice, np.ndarray]


def knn_shapley(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """(n,) exact K-NN Shapley values, averaged over the test records (Jia et al. 2019; SHAPr, Duddu et al. 2022).

    They share out what the whole training set is worth, and add up to it. With a target's output
    probabilities as ``x``, this is SHAPr's risk score, at risk when above 0.

    Args:
        x, y: (n, features) and (n,) training records and their labels.
        x_test, y_test: (tests, features) and (tests,).
        knn: the classifier whose neighbours vote.
        n_jobs: threads; -1 for all cores. Results do not depend on it.
        progress: wrapped around the list of blocks of test records, such as ``tqdm``.

    >>> knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], Knn(k=1)).round(4)
    array([ 0.8333, -0.1667,  0.3333])
    """
    return _mean_values(shapley_weights, x, y, x_test, y_test, knn, n_jobs, progress)


def knn_shapley_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """The values of ``knn_shapley`` for each test record, block by block: the whole may not fit in memory.

    Returns:
        An iterator of (slice of the test records, (tests, n) values), in order; ``stack_blocks`` makes one
        array of it. Arguments are checked at the call.
    """
    return _blocks(shapley_weights, x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def knn_banzhaf(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """(n,) exact K-NN Banzhaf values: what a record adds when each other is kept with probability ``p``.

    ``p=0.5`` is the Banzhaf value, and ``p=1`` leave-one-out. Records beyond a radius of some dozens of
    neighbours (72 at k=5, p=0.5) would add less than 2^-53 and get 0. For the other arguments see
    ``knn_shapley``.

    >>> knn_banzhaf([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], Knn(k=1))
    array([ 0.75, -0.25,  0.25])
    """
    return _mean_values(_banzhaf(p), x, y, x_test, y_test, knn, n_jobs, progress)


def knn_banzhaf_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """The values of ``knn_banzhaf`` for each test record, as ``knn_shapley_blocks`` gives its own.

    Their absolute values are the distances that WaKA is defined by.
    """
    return _blocks(_banzhaf(p), x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def waka(
    x, y, x_test, y_test, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """(n,) signed test-WaKA: how far a record moves the law of the loss, + where its label is the test's, else -.

    WaKA is the Wasserstein distance between the laws of the loss of K-NN models trained on random subsets
    with and without the record. One law always lies below the other, so the distance is the difference of
    the means, and the signed value *is* the Banzhaf value (docs/neighbours.md). The name stands for those
    who look for it; the distances are the absolute values per test record, of ``knn_banzhaf_blocks``.
    """
    return knn_banzhaf(x, y, x_test, y_test, knn, p=p, n_jobs=n_jobs, progress=progress)


def knn_loo(x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None) -> np.ndarray:
    """(n,) exact leave-one-out values: what the whole training set loses when one record is removed.

    For the arguments see ``knn_shapley``.

    >>> knn_loo([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], Knn(k=1))
    array([1., 0., 0.])
    """
    return _mean_values(loo_weights, x, y, x_test, y_test, knn, n_jobs, progress)


def knn_loo_blocks(
    x, y, x_test, y_test, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None
) -> Iterator[Block]:
    """The values of ``knn_loo`` for each test record, as ``knn_shapley_blocks`` gives its own."""
    return _blocks(loo_weights, x, y, x_test, y_test, knn, n_jobs, progress, per_test=True)


def self_shapley(x, y, knn: Knn = Knn(), *, n_jobs: int = 1, progress: Progress | None = None) -> np.ndarray:
    """(n,) Shapley value of each record with itself as the test record: how much that one needs it.

    1/k where all others carry other labels, and the smaller the more of its own class stand around it.
    Ties are averaged.

    >>> self_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1)).round(4)
    array([0.8333, 1.    , 0.8333])
    """
    return _self_values(shapley_weights, x, y, knn, n_jobs, progress)


def self_waka(
    x, y, knn: Knn = Knn(), *, p: float = 0.5, n_jobs: int = 1, progress: Progress | None = None
) -> np.ndarray:
    """(n,) self-WaKA: how far a record moves the law of the loss of K-NN models at the record itself.

    High where those around it carry other labels; the attack success rate on K-NN models follows it. Each
    other record is kept with probability ``p``. Ties are averaged, and equal records share one.

    >>> self_waka([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1))
    array([0.75, 1.  , 0.75])
    """
    return _self_values(_banzhaf(p), x, y, knn, n_jobs, progress)


def stack_blocks(blocks: Iterable[Block]) -> np.ndarray:
    """(tests, n) one matrix of the blocks that ``knn_shapley_blocks`` and its like give."""
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
