"""Attacks on a K-NN target from the exact laws of its loss, without training a single model.

A target that trained on a random subset says of each record how many of its K nearest members disagree
with its label. The laws of that loss, over all subsets with and without the record, are known exactly
(``laws``), and with them the best attack there is.
"""

from __future__ import annotations

import numpy as np

from guestlist import arguments
from guestlist.neighbours import checks
from guestlist.neighbours.blocks import Buffers, Progress, label_runs, map_in_order, split_blocks
from guestlist.neighbours.knn import Knn, require_average_ties
from guestlist.neighbours.laws import fill_loss_distributions
from guestlist.neighbours.pool import Pool, make_pool, self_distances
from guestlist.neighbours.weights import banzhaf_radius

# Mass of the laws that may be left out beyond the walked neighbours, and the chance below which that could
# show in twelve digits: such records are walked again, to the end.
LEFT_OUT = 1e-32
SURE = 1e-20

Laws = tuple[np.ndarray, np.ndarray]


def knn_loss_distributions(
    x, y, knn: Knn = Knn(), *, p: float = 0.5, evaluated=None, n_jobs: int = 1, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of each record's own loss, over K-NN models that trained on it and over those that did not.

    A model trains on a subset that holds each other record with probability ``p``. Its loss at a record
    is the share of the k nearest members with another label; a missing neighbour counts as one.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        knn: the classifier. Ties are averaged.
        asked: rows, or a mask (n,), of the records whose laws are wanted: the time is linear in their number.
            All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        Two arrays (asked, k + 1): the chances of the losses 0, 1/k, …, 1 with the record, and without it.

    >>> inside, outside = knn_loss_distributions([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1))
    >>> inside[0], outside[0]
    (array([1., 0.]), array([0.25, 0.75]))
    """
    knn, p, n_jobs = require_average_ties(knn), checks.check_keep_probability(p), checks.check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    radius = banzhaf_radius(pool.n, knn.k, p, negligible=LEFT_OUT / knn.k)
    return _laws(pool, _places(pool, evaluated), knn.k, p, radius, n_jobs, progress)


def knn_likelihood_ratio(
    x,
    y,
    target_loss,
    knn: Knn = Knn(),
    *,
    p: float = 0.5,
    evaluated=None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """Exact LiRA scores of a K-NN target: log chance of its loss with the record, minus the same without it.

    What LiRA (Carlini et al. 2022) estimates from shadow models, here without error, hence by Neyman and
    Pearson the most powerful attack on what the target says of a record, if it trained on each with
    probability ``p``.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        target_loss: (asked,) the target's loss at each asked record: the share of its k nearest members with
            another label. NaN where it is not known.
        knn: the target. Ties are averaged.
        asked: rows, or a mask (n,), of the records to score: the time is linear in their number. All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        (asked,) scores; inf or -inf where only one world can give the loss. NaN where the loss is, or
        where it has no chance (less than 1e-300) in either world.

    >>> knn_likelihood_ratio([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], Knn(k=1)).round(4)
    array([1.3863,   -inf, 1.3863])
    """
    knn, p, n_jobs = require_average_ties(knn), checks.check_keep_probability(p), checks.check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    places, steps, known = _questions(pool, evaluated, target_loss, knn.k)
    if (np.abs(arguments.numbers("target_loss", target_loss)[known] * knn.k - steps) > 1e-3).any():
        raise ValueError(f"Expected target_loss in steps of 1/k = 1/{knn.k}. Is the target's k another one?")
    inside, outside = _chances(pool, places, steps, knn.k, p, n_jobs, progress)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _where(known, np.log(inside) - np.log(outside))


def t_waka(
    x,
    y,
    target_loss,
    knn: Knn = Knn(),
    *,
    p: float = 0.5,
    evaluated=None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """Target-WaKA scores: self-WaKA split at the target's loss, what lies above it minus what lies below.

    With F and G the distribution functions of the loss with and without the record, the area between them
    above the target's loss speaks for membership and that below against it. A loss of 0 gives self-WaKA,
    1 its negative.

    Args:
        target_loss: (asked,) losses of any target in [0, 1], rounded to steps of 1/k; NaN where not known.
        x, y, knn, p, asked, n_jobs, progress: as for ``knn_likelihood_ratio``.

    Returns:
        (asked,) scores; NaN where the loss is.

    >>> t_waka([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], Knn(k=1))
    array([ 0.75, -1.  ,  0.75])
    """
    knn, p, n_jobs = require_average_ties(knn), checks.check_keep_probability(p), checks.check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    places, steps, known = _questions(pool, evaluated, target_loss, knn.k)
    inside, outside = _laws(pool, places, knn.k, p, banzhaf_radius(pool.n, knn.k, p), n_jobs, progress)
    gaps = np.abs(np.cumsum(inside - outside, axis=1)[:, :-1])
    above = np.arange(knn.k) >= steps[:, None]
    return _where(known, np.where(above, gaps, -gaps).sum(axis=1) / knn.k)


def _places(pool: Pool, evaluated) -> np.ndarray:
    """(asked,) where the asked records stand in the pool; all of them for None."""
    return pool.places_of(np.arange(pool.n) if evaluated is None else checks.check_rows(evaluated, pool.n, "evaluated"))


def _questions(pool: Pool, evaluated, target_loss, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the asked records whose loss is known: places, and losses as numbers of 1/k steps; and (asked,) which they are."""
    places = _places(pool, evaluated)
    loss = checks.check_losses(target_loss, len(places))
    known = ~np.isnan(loss)
    # Rounded: (1 - 0.8) * 5 is less than 1 in floating point.
    return places[known], np.round(loss[known] * k).astype(int), known


def _where(known: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(asked,) the scores of those known, NaN for the others."""
    out = np.full(len(known), np.nan)
    out[known] = scores
    return out


def _chances(pool: Pool, places: np.ndarray, steps: np.ndarray, k: int, p: float, n_jobs: int, progress) -> Laws:
    """(places,) chances of the losses steps/k with and without each record, to twelve digits each."""
    radius = banzhaf_radius(pool.n, k, p, negligible=LEFT_OUT / k)
    inside, outside = _at(_laws(pool, places, k, p, radius, n_jobs, progress), steps)
    needs_in, needs_out = _possible(pool, places, k - steps)
    again = np.flatnonzero(((inside < SURE) & needs_in) | ((outside < SURE) & needs_out))
    if radius < pool.n and again.size:
        laws = _laws(pool, places[again], k, p, pool.n, n_jobs, None)
        inside[again], outside[again] = _at(laws, steps[again])
    return inside, outside


def _at(laws: Laws, steps: np.ndarray) -> Laws:
    """The chance of each record's own loss."""
    inside, outside = laws
    return inside[np.arange(len(steps)), steps], outside[np.arange(len(steps)), steps]


def _possible(pool: Pool, places: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where neighbours beyond the walked ones could give so many matches, with and without the record.

    Its class must have so many others, or one less with the record itself. With it there is always a match,
    unless records equal to it take all places, and those are never beyond.
    """
    others = np.diff(pool.starts)[pool.codes[places]] - 1
    return (matches > 0) & (matches <= others + 1), matches <= others


def _laws(pool: Pool, places: np.ndarray, k: int, p: float, radius: int, n_jobs: int, progress) -> Laws:
    """(places, k + 1) laws of the loss with and without each of the records that stand there."""
    buffers, rising = Buffers(), np.argsort(places, kind="stable")  # class by class

    def work(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = places[rising[block]]
        distances = self_distances(pool, own, buffers)
        inside, outside = np.empty((len(own), k + 1)), np.empty((len(own), k + 1))
        for code, run in label_runs(pool.codes[own]):
            matching = pool.slice_of(code)
            fill_loss_distributions(distances[run], *matching, own[run], radius, k, p, inside[run], outside[run])
        return rising[block], inside[:, ::-1], outside[:, ::-1]  # k matches are not a loss

    inside, outside = np.empty((len(places), k + 1)), np.empty((len(places), k + 1))
    for which, *laws in map_in_order(work, split_blocks(len(places), pool.n), n_jobs, progress):
        inside[which], outside[which] = laws
    return inside, outside
