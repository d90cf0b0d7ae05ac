"""Attacks on a K-NN target from the exact laws of its loss, without training a single model.

A target that trained on a random subset says of each record how many of its K nearest members disagree
with its label. The laws of that loss, over all subsets with and without the record, are known exactly
(``laws``), and with them the best attack there is.
"""

from __future__ import annotations

import numpy as np

from guestlist.neighbours import checks
from guestlist.neighbours.blocks import Buffers, Progress, blocks_of, in_order, runs
from guestlist.neighbours.game import Pool, own_distances, pool_of
from guestlist.neighbours.laws import own_laws
from guestlist.neighbours.weights import banzhaf_radius

# Mass of the laws that may be left out beyond the walked neighbours, and the chance below which that could
# show in twelve digits: such records are walked again, to the end.
LEFT_OUT = 1e-32
SURE = 1e-20


def knn_loss_laws(
    x,
    y,
    *,
    k: int = 5,
    p: float = 0.5,
    precision: str = "exact",
    metric: str = "euclidean",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of each record's own loss, over K-NN models that trained on it and over those that did not.

    A model trains on a subset that holds each other record with probability ``p``. Its loss at a record
    is the share of the k nearest members with another label; a missing neighbour counts as one.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        k, p, precision, metric, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        Two arrays (n, k + 1): the chances of the losses 0, 1/k, …, 1 with the record, and without it.

    >>> inside, outside = knn_loss_laws([[0.0], [1.0], [2.0]], [1, 0, 1], k=1)
    >>> inside[0], outside[0]
    (array([1., 0.]), array([0.25, 0.75]))
    """
    pool, k, p, n_jobs = _ready(x, y, k, p, precision, metric, n_jobs)
    radius = banzhaf_radius(pool.n, k, p, negligible=LEFT_OUT / k)
    inside, outside = _laws(pool, np.arange(pool.n), k, p, radius, n_jobs, progress)
    return pool.in_rows(inside.T).T, pool.in_rows(outside.T).T


def knn_likelihood_ratio(
    x,
    y,
    target_loss,
    *,
    k: int = 5,
    p: float = 0.5,
    precision: str = "exact",
    metric: str = "euclidean",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """Exact LiRA scores of a K-NN target: log chance of its loss with the record, minus the same without it.

    What LiRA (Carlini et al. 2022) estimates from shadow models, here without error, hence by Neyman and
    Pearson the most powerful attack on what the target says of a record, if it trained on each with
    probability ``p``.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        target_loss: (n,) the target's loss at each record: the share of its k nearest members with
            another label. NaN where it was not asked.
        k: neighbours of the target.
        p, precision, metric, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        (n,) scores; inf or -inf where only one world can give the loss. NaN where the target was not
        asked, or its loss has no chance (less than 1e-300) in either world.

    >>> knn_likelihood_ratio([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], k=1).round(4)
    array([1.3863,   -inf, 1.3863])
    """
    pool, k, p, n_jobs = _ready(x, y, k, p, precision, metric, n_jobs)
    loss = checks.losses(target_loss, pool.n)[pool.order]
    place = _places(loss, k)
    if (np.abs(np.nan_to_num(loss) * k - place) > 1e-3).any():
        raise ValueError(f"Expected target_loss in steps of 1/k = 1/{k}. Is the target's k another one?")
    inside, outside = _chances(pool, place, k, p, n_jobs, progress)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.log(inside) - np.log(outside)
    return pool.in_rows(np.where(np.isnan(loss), np.nan, score))


def t_waka(
    x,
    y,
    target_loss,
    *,
    k: int = 5,
    p: float = 0.5,
    precision: str = "exact",
    metric: str = "euclidean",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """Target-WaKA scores: self-WaKA split at the target's loss, what lies above it minus what lies below.

    With F and G the distribution functions of the loss with and without the record, the area between them
    above the target's loss speaks for membership and that below against it. A loss of 0 gives self-WaKA,
    1 its negative.

    Args:
        x, y, k, p, precision, metric, n_jobs, progress: as for ``knn_likelihood_ratio``.
        target_loss: (n,) losses of any target in [0, 1], rounded to steps of 1/k; NaN where it was not asked.

    Returns:
        (n,) scores; NaN where the target was not asked.

    >>> t_waka([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], k=1)
    array([ 0.75, -1.  ,  0.75])
    """
    pool, k, p, n_jobs = _ready(x, y, k, p, precision, metric, n_jobs)
    loss = checks.losses(target_loss, pool.n)[pool.order]
    radius = banzhaf_radius(pool.n, k, p)
    inside, outside = _laws(pool, np.arange(pool.n), k, p, radius, n_jobs, progress)
    gaps = np.abs(np.cumsum(inside - outside, axis=1)[:, :-1])
    above = np.arange(k) >= _places(loss, k)[:, None]
    score = np.where(above, gaps, -gaps).sum(axis=1) / k
    return pool.in_rows(np.where(np.isnan(loss), np.nan, score))


def _ready(x, y, k, p, precision, metric, n_jobs) -> tuple[Pool, int, float, int]:
    k, p, n_jobs = checks.neighbours(k), checks.keep_probability(p), checks.jobs(n_jobs)
    return pool_of(x, y, metric=metric, precision=precision), k, p, n_jobs


def _places(loss: np.ndarray, k: int) -> np.ndarray:
    """Each loss as a number of 1/k steps. Rounded: (1 - 0.8) * 5 is less than 1 in floating point."""
    return np.round(np.nan_to_num(loss) * k).astype(int)


def _chances(pool: Pool, place: np.ndarray, k: int, p: float, n_jobs: int, progress) -> tuple:
    """(n,) chances of the losses place/k with and without each record, to twelve digits each."""
    rows = np.arange(pool.n)
    radius = banzhaf_radius(pool.n, k, p, negligible=LEFT_OUT / k)
    inside, outside = (law[rows, place] for law in _laws(pool, rows, k, p, radius, n_jobs, progress))
    needs_in, needs_out = _possible(pool, k - place)
    again = rows[((inside < SURE) & needs_in) | ((outside < SURE) & needs_out)]
    if radius < pool.n and again.size:
        laws = _laws(pool, again, k, p, pool.n, n_jobs, None)
        inside[again], outside[again] = (law[np.arange(again.size), place[again]] for law in laws)
    return inside, outside


def _possible(pool: Pool, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where neighbours beyond the walked ones could give so many matches, with and without the record.

    Its class must have so many others, or one less with the record itself. With it there is always a match,
    unless records equal to it take all places, and those are never beyond.
    """
    others = np.diff(pool.starts)[pool.codes] - 1
    return (matches > 0) & (matches <= others + 1), matches <= others


def _laws(pool: Pool, rows: np.ndarray, k: int, p: float, radius: int, n_jobs: int, progress) -> tuple:
    """(rows, k + 1) laws of the loss with and without each of the records ``rows``, which rise."""
    buffers = Buffers()

    def work(block: slice) -> tuple[np.ndarray, np.ndarray]:
        own = rows[block]
        distances = own_distances(pool, own, buffers)
        inside, outside = np.empty((len(own), k + 1)), np.empty((len(own), k + 1))
        for code, run in runs(pool.codes[own]):
            matching = pool.slice_of(code)
            own_laws(distances[run], *matching, own[run], radius, k, p, inside[run], outside[run])
        return inside[:, ::-1], outside[:, ::-1]  # k matches are no loss

    parts = list(in_order(work, blocks_of(len(rows), pool.n), n_jobs, progress))
    return tuple(np.concatenate(side) for side in zip(*parts, strict=True))
