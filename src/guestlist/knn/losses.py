"""Distributions of a K-NN model's loss over random training sets, and attacks based on them."""

import math

import numba
import numpy as np

from guestlist._util import validation
from guestlist.knn.distances import Buffers, Progress, label_runs, map_in_order, split_blocks
from guestlist.knn.kernel import nearest
from guestlist.knn.model import Knn, check_jobs, check_keep_probability, check_losses, check_rows, require_average_ties
from guestlist.knn.pool import Pool, banzhaf_radius, make_pool, self_distances


@numba.njit(nogil=True, cache=True)
def fill_loss_distributions(distances, low, high, self_rows, radius, k, p, inside, outside):
    """Fill (tests, k + 1) probabilities of 0, …, k matches, for models trained with and without the record.

    Args:
        distances: (tests, n) distances from each record to all, exactly 0 to itself and to equal records.
        low, high: positions of the records of its class.
        self_rows: (tests,) position of the record itself.
        radius: number of neighbours to visit; the probability beyond is omitted unless all are visited.
    """
    for t in range(len(distances)):
        index, near = nearest(distances[t], radius + 1)
        others = index != self_rows[t]
        near = near[others]
        match = ((index >= low) & (index < high))[others]
        complete = len(near) == distances.shape[1] - 1
        inside[t] = 0.0
        outside[t] = 0.0
        _distribution_without(near, match, complete, k, p, outside[t])
        _distribution_with(near, match, complete, k, p, inside[t])


@numba.njit(nogil=True, cache=True)
def _distribution_without(near, match, complete, k, p, distribution):
    _walk(near, match, 0, k, _nothing_kept(k), _nothing_kept(k), p, complete, distribution)


@numba.njit(nogil=True, cache=True)
def _distribution_with(near, match, complete, k, p, distribution):
    """Fill the distribution with the record: it votes unless k records equal to it are ranked before it."""
    equals = 0
    while equals < len(near) and near[equals] == 0:
        equals += 1
    matching = match[:equals].sum()
    placed, displaced = _places_of_one(equals, k, p)
    split = _nothing_kept(k)
    for drawn in range(min(k, equals) + 1):
        if drawn == k - 1:
            for hits in range(k):
                distribution[hits + 1] += placed * split[hits]
        if drawn == k:
            for hits in range(k + 1):
                distribution[hits] += displaced * split[hits]
        elif drawn < equals:
            _draw(split, matching, equals, drawn)
    if k > 1:  # fewer than k - 1 equal records are kept: all of them vote, and so do farther records
        right = _nothing_kept(k)
        wrong = _nothing_kept(k)
        _pass(right, matching, p)
        _pass(wrong, equals - matching, p)
        _walk(near, match, equals, k - 1, right, wrong, p, complete, distribution[1:])


@numba.njit(nogil=True, cache=True)
def _walk(near, match, first, n_places, right, wrong, p, complete, distribution):
    """Add the probabilities of matches among the ``n_places`` nearest kept records, the last at ``first`` or later."""
    start = first
    while start < len(near):
        stop = start + 1
        while stop < len(near) and near[stop] == near[start]:
            stop += 1
        matching = match[start:stop].sum()
        members = stop - start
        if 0 < matching < members:
            _fill_from_tie(matching, members, n_places, right, wrong, p, distribution)
            _pass(right, matching, p)
            _pass(wrong, members - matching, p)
        else:  # all match or none does, so their order does not matter
            for _ in range(members):
                hit = int(matching > 0)
                for a in range(n_places):
                    distribution[a + hit] += p * right[a] * wrong[n_places - 1 - a]
                _pass(right if hit else wrong, 1, p)
        start = stop
    if complete:  # fewer kept records than places
        for a in range(n_places):
            for b in range(n_places - a):
                distribution[a] += right[a] * wrong[b]


@numba.njit(nogil=True, cache=True)
def _fill_from_tie(matching, members, n_places, right, wrong, p, distribution):
    """Add the probabilities that the last 1, 2, … places are filled from a tie."""
    at_least, _ = _at_least(members, n_places, p)
    split = _nothing_kept(n_places)
    for drawn in range(min(n_places, members)):
        _draw(split, matching, members, drawn)
        n_before = n_places - drawn - 1  # places filled before the tie
        for a in range(n_before + 1):
            before = right[a] * wrong[n_before - a] * at_least[drawn + 1]
            for hits in range(drawn + 2):
                distribution[a + hits] += before * split[hits]


@numba.njit(nogil=True, cache=True)
def _draw(split, matching, members, drawn):
    """Update the distribution of matches for one additional member, drawn without replacement."""
    remaining = members - drawn
    for hits in range(min(drawn + 1, len(split) - 1), -1, -1):
        stay = split[hits] * max(remaining - (matching - hits), 0) / remaining
        rise = split[hits - 1] * max(matching - hits + 1, 0) / remaining if hits > 0 else 0.0
        split[hits] = stay + rise


@numba.njit(nogil=True, cache=True)
def _pass(binomial, steps, p):
    """Extend a truncated binomial distribution by ``steps`` records."""
    for _ in range(steps):
        for a in range(len(binomial) - 1, 0, -1):
            binomial[a] = binomial[a] * (1 - p) + binomial[a - 1] * p
        binomial[0] *= 1 - p


@numba.njit(nogil=True, cache=True)
def _at_least(members, largest, p):
    """Return P(at least t of ``members`` are kept) for t up to ``largest``; for the last, also the sum over fewer members."""
    binomial = _nothing_kept(largest)
    at_least = _nothing_kept(largest)
    over_fewer = 0.0
    for _ in range(members):
        over_fewer += at_least[largest]
        for t in range(1, largest + 1):
            at_least[t] += p * binomial[t - 1]
        _pass(binomial, 1, p)
    return at_least, over_fewer


@numba.njit(nogil=True, cache=True)
def _places_of_one(equals, k, p):
    """Return the probabilities that a tie fills k places with, and without, one member that is always kept.

    The number of others ranked before it is uniform on 0, …, ``equals``; it has no place if k of those are kept.
    """
    at_least, over_fewer = _at_least(equals + 1, k, p)
    return k * at_least[k] / ((equals + 1) * p), over_fewer / (equals + 1)


@numba.njit(nogil=True, cache=True)
def _nothing_kept(largest):
    distribution = np.zeros(largest + 1)
    distribution[0] = 1.0
    return distribution


# Probability that may be omitted beyond the visited neighbours, and the probability below which this could change
# twelve digits: for such records more neighbours are visited, until the rest has a probability below 1e-330.
LEFT_OUT = 1e-32
SURE = 1e-20
SMALLEST = 1e-300

Distributions = tuple[np.ndarray, np.ndarray]


def knn_loss_distributions(
    x, y, knn: Knn = Knn(), *, p: float = 0.5, evaluated=None, n_jobs: int = 1, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute exact distributions of each record's loss over K-NN models trained with and without it.

    A model is trained on a subset that contains each other record with probability ``p``. Its loss at a record
    is the share of the k nearest members with another label; a missing neighbour counts as one.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        knn: the classifier. Ties are averaged.
        evaluated: rows, or a mask (n,), of the records to compute distributions for: the time is linear in their
            number. All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        Two arrays (evaluated, k + 1): the probabilities of the losses 0, 1/k, …, 1 with the record, and without it.

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
    """Compute exact LiRA scores of a K-NN target: log probability of its loss with the record, minus that without it.

    LiRA (Carlini et al. 2022) estimates this ratio from shadow models; here it is exact. By the Neyman-Pearson lemma it
    is the most powerful attack on the target's output for a record, if the target trained on each record with probability
    ``p``.

    Args:
        x, y: (n, features) and (n,) all records that may be members, and their labels.
        target_loss: (evaluated,) the target's loss at each evaluated record: the share of its k nearest members with
            another label. NaN where it is not known.
        knn: the target. Ties are averaged.
        evaluated: rows, or a mask (n,), of the records to score: the time is linear in their number. All by default.
        p, n_jobs, progress: as for ``knn_banzhaf``.

    Returns:
        (evaluated,) scores; inf or -inf where the loss is possible only with, or only without, the record. NaN where
        the loss is NaN, or has probability 0 (less than 1e-300) in both cases.

    >>> knn_likelihood_ratio([[0.0], [1.0], [2.0]], [1, 0, 1], [0, 1, 0], Knn(k=1)).round(4)
    array([1.3863,   -inf, 1.3863])

    Raises:
        ValueError: If an argument is out of range, or arrays do not fit together.
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    pool = make_pool(x, y, knn)
    positions, steps, known = _known_losses(pool, evaluated, target_loss, knn.k)
    if (np.abs(validation.numbers("target_loss", target_loss)[known] * knn.k - steps) > 1e-3).any():
        raise ValueError(f"target_loss must be multiples of 1/k = 1/{knn.k}. Check that knn.k is the target's k.")
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
    """Compute target-WaKA scores: self-WaKA split at the target's loss, the part above it minus the part below.

    With F and G the distribution functions of the loss with and without the record, the area between them
    above the target's loss is evidence of membership, and the area below it is evidence against. A loss of 0 gives
    self-WaKA, a loss of 1 its negative.

    Args:
        target_loss: (evaluated,) losses of any target in [0, 1], rounded to steps of 1/k; NaN where not known.
        x, y, knn, p, evaluated, n_jobs, progress: as for ``knn_likelihood_ratio``.

    Returns:
        (evaluated,) scores; NaN where the loss is NaN.

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
    """Return (evaluated,) positions of the evaluated records in the pool; all of them for None."""
    return pool.places_of(np.arange(pool.n) if evaluated is None else check_rows(evaluated, pool.n, "evaluated"))


def _known_losses(pool: Pool, evaluated, target_loss, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions and losses (in steps of 1/k) of records with a known loss, and (evaluated,) their mask."""
    positions = _positions(pool, evaluated)
    loss = check_losses(target_loss, len(positions))
    known = ~np.isnan(loss)
    # Rounded: (1 - 0.8) * 5 is less than 1 in floating point.
    return positions[known], np.round(loss[known] * k).astype(int), known


def _fill_known(known: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (evaluated,) the known scores, NaN for other records."""
    out = np.full(len(known), np.nan)
    out[known] = scores
    return out


def _loss_probabilities(
    pool: Pool, positions: np.ndarray, steps: np.ndarray, k: int, p: float, n_jobs: int, progress
) -> Distributions:
    """Return (positions,) probabilities of the losses steps/k with and without each record, to twelve digits."""
    radius = banzhaf_radius(pool.n, k, p, negligible=LEFT_OUT / k)
    inside, outside = _at_loss(_distributions(pool, positions, k, p, radius, n_jobs, progress), steps)
    needs_in, needs_out = _possible(pool, positions, k - steps)
    again = np.flatnonzero(((inside < SURE) & needs_in) | ((outside < SURE) & needs_out))
    if radius < pool.n and again.size:
        distributions = _distributions(pool, positions[again], k, p, _largest_radius(pool.n, k, p), n_jobs, None)
        inside[again], outside[again] = _at_loss(distributions, steps[again])
    return inside, outside


def _largest_radius(n: int, k: int, p: float) -> int:
    """Return the number of neighbours beyond which no probability is above 1e-330, so that it is 0 in floating point."""
    radius = banzhaf_radius(n, k, p, negligible=SMALLEST / k)
    if p == 1:
        return radius
    return min(n, radius + math.ceil(math.log(1e-30) / math.log1p(-p)))


def _at_loss(distributions: Distributions, steps: np.ndarray) -> Distributions:
    """Return the probability of each record's loss."""
    inside, outside = distributions
    return inside[np.arange(len(steps)), steps], outside[np.arange(len(steps)), steps]


def _possible(pool: Pool, positions: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of records that unvisited neighbours could give this number of matches, with and without the record.

    The record's class must have that number of other records, or one fewer with the record itself. With the record
    there is at least one match, unless records equal to it fill all places, and those are always visited.
    """
    others = np.diff(pool.starts)[pool.codes[positions]] - 1
    return (matches > 0) & (matches <= others + 1), matches <= others


def _distributions(
    pool: Pool, positions: np.ndarray, k: int, p: float, radius: int, n_jobs: int, progress
) -> Distributions:
    """Return (positions, k + 1) distributions of the loss with and without each of the records at these positions."""
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
        return by_class[block], inside[:, ::-1], outside[:, ::-1]  # k matches are a loss of 0

    inside = np.empty((len(positions), k + 1))
    outside = np.empty((len(positions), k + 1))
    for which, *distributions in map_in_order(work, split_blocks(len(positions), pool.n), n_jobs, progress):
        inside[which], outside[which] = distributions
    return inside, outside
