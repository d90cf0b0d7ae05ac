"""Attacks on a K-NN target from the exact distributions of its loss, without training a model.

A target that trained on a random subset reveals for each record how many of its K nearest members disagree
with its label. The distributions of that loss, over all subsets with and without the record, are known
exactly, and with them the most powerful attack.
"""

from __future__ import annotations

import numpy as np

from guestlist import arguments
from guestlist.neighbours.blocks import Buffers, Progress, label_runs, map_in_order, split_blocks
from guestlist.neighbours.checks import check_jobs, check_keep_probability, check_losses, check_rows
from guestlist.neighbours.knn import Knn, require_average_ties
from guestlist.neighbours.laws import fill_loss_distributions
from guestlist.neighbours.pool import Pool, make_pool, self_distances
from guestlist.neighbours.weights import banzhaf_radius

# Mass of the distributions that may be left out beyond the walked neighbours, and the chance below which that could
# show in twelve digits: such records are walked again, to the end.
LEFT_OUT = 1e-32
SURE = 1e-20

Distributions = tuple[np.ndarray, np.ndarray]


def knn_loss_distributions(
    x, y, knn: Knn = Knn(), *, p: float = 0.5, evaluated=None, n_jobs: int = 1, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact distributions of each record's loss, over K-NN models that trained on it and those that did not.

    A model trains on a subset that holds each other record with probability ``p``. Its loss at a record
    is the share of the k nearest members with another label; a missing neighbour counts as one.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        knn: the classifier. Ties are averaged.
        evaluated: rows, or a mask (n,), of the records whose distributions are wanted: the time is linear in their number.
            All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        Two arrays (evaluated, k + 1): the chances of the losses 0, 1/k, …, 1 with the record, and without it.

    >>> inside, outside = knn_loss_distributions([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1))
    >>> inside[0], outside[0]
    (array([1., 0.]), array([0.25, 0.75]))
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    radius = banzhaf_radius(pool.n, knn.k, p, negligible=LEFT_OUT / knn.k)
    return _distributions(pool, _positions(pool, evaluated), knn.k, p, radius, n_jobs, progress)


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
        target_loss: (evaluated,) the target's loss at each evaluated record: the share of its k nearest members with
            another label. NaN where it is not known.
        knn: the target. Ties are averaged.
        evaluated: rows, or a mask (n,), of the records to score: the time is linear in their number. All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        (evaluated,) scores; inf or -inf where only one world can give the loss. NaN where the loss is, or
        where it has no chance (less than 1e-300) in either world.

    >>> knn_likelihood_ratio([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], Knn(k=1)).round(4)
    array([1.3863,   -inf, 1.3863])
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    positions, steps, known = _known_losses(pool, evaluated, target_loss, knn.k)
    if (np.abs(arguments.numbers("target_loss", target_loss)[known] * knn.k - steps) > 1e-3).any():
        raise ValueError(f"Expected target_loss in steps of 1/k = 1/{knn.k}. Is the target's k another one?")
    inside, outside = _loss_probabilities(pool, positions, steps, knn.k, p, n_jobs, progress)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _fill_known(known, np.log(inside) - np.log(outside))


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
        target_loss: (evaluated,) losses of any target in [0, 1], rounded to steps of 1/k; NaN where not known.
        x, y, knn, p, evaluated, n_jobs, progress: as for ``knn_likelihood_ratio``.

    Returns:
        (evaluated,) scores; NaN where the loss is.

    >>> t_waka([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], Knn(k=1))
    array([ 0.75, -1.  ,  0.75])
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    positions, steps, known = _known_losses(pool, evaluated, target_loss, knn.k)
    inside, outside = _distributions(pool, positions, knn.k, p, banzhaf_radius(pool.n, knn.k, p), n_jobs, progress)
    gaps = np.abs(np.cumsum(inside - outside, axis=1)[:, :-1])
    above = np.arange(knn.k) >= steps[:, None]
    return _fill_known(known, np.where(above, gaps, -gaps).sum(axis=1) / knn.k)


def _positions(pool: Pool, evaluated) -> np.ndarray:
    """(evaluated,) where the evaluated records stand in the pool; all of them for None."""
    return pool.places_of(np.arange(pool.n) if evaluated is None else check_rows(evaluated, pool.n, "evaluated"))


def _known_losses(pool: Pool, evaluated, target_loss, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions and losses (in steps of 1/k) of records with a known loss, and (evaluated,) which they are."""
    positions = _positions(pool, evaluated)
    loss = check_losses(target_loss, len(positions))
    known = ~np.isnan(loss)
    # Rounded: (1 - 0.8) * 5 is less than 1 in floating point.
    return positions[known], np.round(loss[known] * k).astype(int), known


def _fill_known(known: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(evaluated,) the scores of those known, NaN for the others."""
    out = np.full(len(known), np.nan)
    out[known] = scores
    return out


def _loss_probabilities(
    pool: Pool, positions: np.ndarray, steps: np.ndarray, k: int, p: float, n_jobs: int, progress
) -> Distributions:
    """(places,) chances of the losses steps/k with and without each record, to twelve digits each."""
    radius = banzhaf_radius(pool.n, k, p, negligible=LEFT_OUT / k)
    inside, outside = _at_loss(_distributions(pool, positions, k, p, radius, n_jobs, progress), steps)
    needs_in, needs_out = _possible(pool, positions, k - steps)
    again = np.flatnonzero(((inside < SURE) & needs_in) | ((outside < SURE) & needs_out))
    if radius < pool.n and again.size:
        distributions = _distributions(pool, positions[again], k, p, pool.n, n_jobs, None)
        inside[again], outside[again] = _at_loss(distributions, steps[again])
    return inside, outside


def _at_loss(distributions: Distributions, steps: np.ndarray) -> Distributions:
    """The chance of each record's own loss."""
    inside, outside = distributions
    return inside[np.arange(len(steps)), steps], outside[np.arange(len(steps)), steps]


def _possible(pool: Pool, positions: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where neighbours beyond the visited ones could give this number of matches, with and without the record.

    Its class must have so many others, or one less with the record itself. With it there is always a match,
    unless records equal to it take all places, and those are never beyond.
    """
    others = np.diff(pool.starts)[pool.codes[positions]] - 1
    return (matches > 0) & (matches <= others + 1), matches <= others


def _distributions(
    pool: Pool, positions: np.ndarray, k: int, p: float, radius: int, n_jobs: int, progress
) -> Distributions:
    """(places, k + 1) distributions of the loss with and without each of the records that stand there."""
    buffers = Buffers()
    by_class = np.argsort(positions, kind="stable")  # class by class

    def work(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = positions[by_class[block]]
        distances = self_distances(pool, rows, buffers)
        inside = np.empty((len(rows), k + 1))
        outside = np.empty((len(rows), k + 1))
        for code, run in label_runs(pool.codes[rows]):
            matching = pool.slice_of(code)
            fill_loss_distributions(distances[run], *matching, rows[run], radius, k, p, inside[run], outside[run])
        return by_class[block], inside[:, ::-1], outside[:, ::-1]  # k matches are not a loss

    inside = np.empty((len(positions), k + 1))
    outside = np.empty((len(positions), k + 1))
    for which, *distributions in map_in_order(work, split_blocks(len(positions), pool.n), n_jobs, progress):
        inside[which], outside[which] = distributions
    return inside, outside
