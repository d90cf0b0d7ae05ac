"""Exact values of training records for a K-NN classifier: Shapley, Banzhaf, WaKA and leave-one-out.

The worth of a set of records, for a test record, is the share of its K nearest members that carry the
test label; a missing neighbour counts as a wrong one, so that the empty set is worth 0. All values below
are exact averages of what a record adds to that worth, over sets or orders of the others; they differ in
``weights`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guestlist.neighbours import checks
from guestlist.neighbours.blocks import Progress
from guestlist.neighbours.game import WeightsOf, block_values, own_values, pool_of
from guestlist.neighbours.ordered import ordered_values
from guestlist.neighbours.weights import banzhaf_weights, loo_weights, shapley_weights

Blocks = Iterator[tuple[slice, np.ndarray]]


def knn_shapley(
    x,
    y,
    x_test,
    y_test,
    *,
    k: int = 5,
    ties: str = "average",
    precision: str = "exact",
    metric: str = "euclidean",
    per_test: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray | Blocks:
    """Exact K-NN Shapley values, averaged over the test records (Jia et al. 2019; SHAPr, Duddu et al. 2022).

    They share out what the whole training set is worth, and add up to it. With a target's output
    probabilities as ``x``, this is SHAPr's risk score, at risk when above 0.

    Args:
        x, y: (n, features) and (n,) training records and their labels.
        x_test, y_test: (tests, features) and (tests,).
        k: neighbours that vote. A training set smaller than k is valued correctly, too.
        ties: "average" over all orders of equally distant records, so that equal records get equal values and
            the order of rows is of no account; or "index", lower rows first, as other libraries have it.
        precision: "exact" compares distances in float64; "fast" in float32, for many features.
        metric: "euclidean" or "cosine".
        per_test: keep the test records apart.
        n_jobs: threads; -1 for all cores. Results do not depend on it.
        progress: wrapped around the list of blocks of test records, such as ``tqdm``.

    Returns:
        (n,) values. With ``per_test``, an iterator of (slice of the test records, (tests, n) values) in
        order, for matrices that may not fit in memory; ``stack_blocks`` makes one array of it.

    >>> knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1).round(4)
    array([ 0.8333, -0.1667,  0.3333])
    """
    return _values(shapley_weights, x, y, x_test, y_test, k, ties, precision, metric, per_test, n_jobs, progress)


def knn_banzhaf(
    x,
    y,
    x_test,
    y_test,
    *,
    k: int = 5,
    p: float = 0.5,
    ties: str = "average",
    precision: str = "exact",
    metric: str = "euclidean",
    per_test: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray | Blocks:
    """Exact K-NN Banzhaf values: what a record adds when each other is kept with probability ``p``.

    ``p=0.5`` is the Banzhaf value, and ``p=1`` leave-one-out. Records beyond a radius of some dozens of
    neighbours (72 at k=5, p=0.5) would add less than 2^-53 and get 0. For the arguments and result see
    ``knn_shapley``.

    >>> knn_banzhaf([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1)
    array([ 0.75, -0.25,  0.25])
    """
    p = checks.keep_probability(p)

    def weights_of(n, k):
        return banzhaf_weights(n, k, p)

    return _values(weights_of, x, y, x_test, y_test, k, ties, precision, metric, per_test, n_jobs, progress)


def waka(
    x,
    y,
    x_test,
    y_test,
    *,
    k: int = 5,
    p: float = 0.5,
    ties: str = "average",
    precision: str = "exact",
    metric: str = "euclidean",
    per_test: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray | Blocks:
    """Signed test-WaKA: how far a record moves the law of the loss, + where its label is the test's, else -.

    WaKA is the Wasserstein distance between the laws of the loss of K-NN models trained on random subsets
    with and without the record. One law always lies below the other, so the distance is the difference of
    the means, and the signed value *is* the Banzhaf value (docs/neighbours.md). The name stands for those
    who look for it; its absolute values per test record (``per_test``) are the distances.
    """
    return knn_banzhaf(
        x,
        y,
        x_test,
        y_test,
        k=k,
        p=p,
        ties=ties,
        precision=precision,
        metric=metric,
        per_test=per_test,
        n_jobs=n_jobs,
        progress=progress,
    )


def knn_loo(
    x,
    y,
    x_test,
    y_test,
    *,
    k: int = 5,
    ties: str = "average",
    precision: str = "exact",
    metric: str = "euclidean",
    per_test: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray | Blocks:
    """Exact leave-one-out values: what the whole training set loses when one record is removed.

    For the arguments and result see ``knn_shapley``.

    >>> knn_loo([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1)
    array([1., 0., 0.])
    """
    return _values(loo_weights, x, y, x_test, y_test, k, ties, precision, metric, per_test, n_jobs, progress)


def self_shapley(
    x,
    y,
    *,
    k: int = 5,
    precision: str = "exact",
    metric: str = "euclidean",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """(n,) Shapley value of each record with itself as the test record: how much that one needs it.

    1/k where all others carry other labels, and the smaller the more of its own class stand around it.

    >>> self_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], k=1).round(4)
    array([0.8333, 1.    , 0.8333])
    """
    return _own(shapley_weights, x, y, k, precision, metric, n_jobs, progress)


def self_waka(
    x,
    y,
    *,
    k: int = 5,
    p: float = 0.5,
    precision: str = "exact",
    metric: str = "euclidean",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """(n,) self-WaKA: how far a record moves the law of the loss of K-NN models at the record itself.

    High where those around it carry other labels; the attack success rate on K-NN models follows it. Each
    other record is kept with probability ``p``. Equal records share a tie.

    >>> self_waka([[0.0], [1.0], [2.0]], [1, 0, 1], k=1)
    array([0.75, 1.  , 0.75])
    """
    p = checks.keep_probability(p)

    def weights_of(n, k):
        return banzhaf_weights(n, k, p)

    return _own(weights_of, x, y, k, precision, metric, n_jobs, progress)


def stack_blocks(blocks: Blocks) -> np.ndarray:
    """(tests, n) one matrix of the blocks that ``per_test=True`` gives."""
    return np.concatenate([values for _, values in blocks])


def _values(
    weights_of: WeightsOf, x, y, x_test, y_test, k, ties, precision, metric, per_test, n_jobs, progress
) -> np.ndarray | Blocks:
    k, n_jobs = checks.neighbours(k), checks.jobs(n_jobs)
    checks.one_of("ties", ties, ("average", "index"))
    x_test = checks.records(x_test, "x_test", metric=metric, precision=precision)
    y_test = checks.labels(y_test, len(x_test), "y_test")
    if ties == "index":
        x = checks.records(x, "x", metric=metric, precision=precision)
        y = checks.labels(y, len(x), "y")
        checks.comparable(x, y, x_test, y_test)
        weights = weights_of(len(x), k)
        blocks = ordered_values(x, y, x_test, y_test, weights, precision=precision, n_jobs=n_jobs, progress=progress)
        sums = (values.sum(axis=0) for _, values in blocks)
    else:
        pool = pool_of(x, y, metric=metric, precision=precision)
        checks.comparable(pool.x, pool.classes, x_test, y_test)
        codes, weights = pool.codes_of(y_test), weights_of(pool.n, k)
        blocks = block_values(pool, x_test, codes, weights, per_test=per_test, n_jobs=n_jobs, progress=progress)
        sums = (values for _, values in blocks)
    return blocks if per_test else sum(sums) / len(x_test)


def _own(weights_of: WeightsOf, x, y, k, precision, metric, n_jobs, progress) -> np.ndarray:
    k, n_jobs = checks.neighbours(k), checks.jobs(n_jobs)
    pool = pool_of(x, y, metric=metric, precision=precision)
    return own_values(pool, weights_of(pool.n, k), n_jobs=n_jobs, progress=progress)
