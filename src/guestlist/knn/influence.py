"""Influence of removals on the exposure of others, minimisation curves and the onion effect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numba
import numpy as np

from guestlist._util import reason, validation
from guestlist.knn.distances import Buffers, Progress, map_in_order, split_blocks
from guestlist.knn.kernel import nearest, tie_values
from guestlist.knn.model import (
    Knn,
    check_comparable,
    check_jobs,
    check_keep_probability,
    check_labels,
    check_records,
    check_rows,
    require_average_ties,
)
from guestlist.knn.pool import banzhaf_radius, banzhaf_weights, make_pool, self_distances


@dataclass(frozen=True)
class NeighbourLists:
    """Nearest other records of each record, nearest first, including all ties with the last.

    The neighbours of record i are at ``starts[i]:starts[i + 1]`` of the flat arrays.

    Args:
        k, p: parameters of the self-WaKA for which the lists are long enough.
        starts: (n + 1,).
        index: row of each neighbour.
        distance: squared distance to it.
        agree: true where it has the same label.
    """

    k: int
    p: float
    starts: np.ndarray
    index: np.ndarray
    distance: np.ndarray
    agree: np.ndarray

    @property
    def n(self) -> int:
        return len(self.starts) - 1


def neighbour_lists(
    x,
    y,
    knn: Knn = Knn(),
    *,
    p: float = 0.5,
    spare: int = 64,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> NeighbourLists:
    """List the neighbours of each record, enough for its self-WaKA after ``spare`` of them have been removed.

    Args:
        x, y, knn, n_jobs, progress: As for ``knn_shapley``.
        p: Probability with which other records are kept.
        spare: Number of neighbours that may be removed.

    Returns:
        The lists, for ``waka_influence``.
    """
    knn = require_average_ties(knn)
    p = check_keep_probability(p)
    n_jobs = check_jobs(n_jobs)
    spare = validation.integer("spare", spare)
    pool = make_pool(x, y, knn)
    buffers = Buffers()
    radius = min(banzhaf_radius(pool.n, knn.k, p) + spare, pool.n)

    def work(block: slice):
        rows = np.arange(block.start, block.stop)
        return _nearest_others(self_distances(pool, rows, buffers), rows, radius)

    parts = list(map_in_order(work, split_blocks(pool.n, pool.n), n_jobs, progress))
    lengths, index, distance = (np.concatenate(part) for part in zip(*parts, strict=True))
    owner = np.repeat(np.arange(pool.n), lengths)
    agree = pool.codes[index] == pool.codes[owner]
    by_row = np.argsort(pool.order[owner], kind="stable")
    starts = np.append(0, np.cumsum(pool.in_rows(lengths)))
    return NeighbourLists(
        k=knn.k,
        p=p,
        starts=starts,
        index=pool.order[index][by_row],
        distance=distance[by_row],
        agree=agree[by_row],
    )


def waka_influence(lists: NeighbourLists, removed) -> np.ndarray:
    """Compute the exact change of each record's self-WaKA when all of ``removed`` are removed.

    Args:
        lists: from ``neighbour_lists``.
        removed: rows to remove, or a mask (n,) of them.

    Returns:
        (n,) self-WaKA after, minus before; NaN for the removed records themselves.

    >>> lists = neighbour_lists([[0.0], [1.0], [2.0]], [1, 0, 1], Knn(k=1))
    >>> waka_influence(lists, [1])
    array([-0.25,   nan, -0.25])

    Raises:
        ValueError: If all records are removed, or more than the lists can spare.
    """
    gone = np.zeros(lists.n, dtype=bool)
    gone[check_rows(removed, lists.n, "removed")] = True
    if gone.all():
        raise ValueError("All records are removed. Keep at least one.")
    _check_enough_left(lists, gone)
    before = _self_waka(lists, np.zeros(lists.n, dtype=bool))
    return np.where(gone, np.nan, _self_waka(lists, gone) - before)


def waka_influence_of_each(lists: NeighbourLists) -> np.ndarray:
    """Compute the exact change of each record's self-WaKA when one neighbour is removed, for each neighbour.

    Args:
        lists: Lists from ``neighbour_lists``.

    Returns:
        A flat array like ``lists.index``: the influence of neighbour ``lists.index[e]`` on the record whose
        list contains entry ``e``. Neighbours beyond the list change it by less than 2^-53.
    """
    if lists.n < 2:
        return np.empty(0)
    before = _self_waka(lists, np.zeros(lists.n, dtype=bool))
    weights = banzhaf_weights(lists.n - 1, lists.k, lists.p)
    after = np.empty(len(lists.index))
    _fill_without_each(lists.starts, lists.distance, lists.agree, weights.mass, weights.moment, weights.end, after)
    return after - np.repeat(before, np.diff(lists.starts))


def _check_enough_left(lists: NeighbourLists, gone: np.ndarray) -> None:
    """Raise if the removal made a list too short: its values would depend on records beyond the end."""
    lengths = np.diff(lists.starts)
    lost = np.add.reduceat(np.append(gone[lists.index], False), lists.starts[:-1]) * (lengths > 0)
    needed = banzhaf_radius(lists.n - int(gone.sum()), lists.k, lists.p) - 1
    short = (needed - (lengths - lost)) * (lengths < lists.n - 1) * ~gone
    if short.max() > 0:
        raise ValueError(
            f"The neighbour lists are too short: after the removal, {int((short > 0).sum())} records lack up to "
            f"{int(short.max())} neighbours. Compute neighbour_lists with a larger spare=."
        )


def _nearest_others(distances: np.ndarray, rows: np.ndarray, radius: int) -> tuple:
    """Return the lengths of the lists of a block, and their records and distances, concatenated."""
    index = []
    distance = []
    for row, record in zip(distances, rows, strict=True):
        neighbours, near = nearest(row, min(radius + 1, len(row)))
        others = neighbours != record
        index.append(neighbours[others])
        distance.append(near[others])
    return np.array([len(neighbours) for neighbours in index]), np.concatenate(index), np.concatenate(distance)


def _self_waka(lists: NeighbourLists, gone: np.ndarray) -> np.ndarray:
    weights = banzhaf_weights(lists.n - int(gone.sum()), lists.k, lists.p)
    out = np.empty(lists.n)
    flat = lists.starts, lists.distance, lists.agree, gone[lists.index]
    _fill_without_removed(*flat, weights.mass, weights.moment, weights.end, out)
    return out


@numba.njit(nogil=True, cache=True)
def _fill_without_removed(starts, distance, agree, gone, mass, moment, end, out):
    for i in range(len(out)):
        row = slice(starts[i], starts[i + 1])
        out[i] = _self_value(distance[row], agree[row], gone[row], mass, moment, end)


@numba.njit(nogil=True, cache=True)
def _fill_without_each(starts, distance, agree, mass, moment, end, out):
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        near = distance[row]
        match = agree[row]
        gone = np.zeros(starts[i + 1] - starts[i], np.bool_)
        last = np.array([np.nan, np.nan])  # distance at which a mismatch and a match were last removed
        known = np.empty(2)
        for e in range(len(near)):
            kind = int(match[e])
            if last[kind] != near[e]:  # records in a tie have the same influence
                gone[e] = True
                last[kind] = near[e]
                known[kind] = _self_value(near, match, gone, mass, moment, end)
                gone[e] = False
            out[starts[i] + e] = known[kind]


@numba.njit(nogil=True, cache=True)
def _self_value(near, match, gone, mass, moment, end):
    """Return the value of the record itself, ranked before its neighbours and tied with those at distance 0."""
    after = 1 + len(near) - gone.sum()
    later = 0.0
    e = len(near) - 1
    while e >= 0 and near[e] > 0:
        at = near[e]
        members = 0
        matching = 0
        while e >= 0 and near[e] == at:
            members += not gone[e]
            matching += match[e] and not gone[e]
            e -= 1
        if members > 0:
            _, _, later = tie_values(after - members, after, matching, mass, moment, end, later)
            after -= members
    equal = 1
    for tied in range(e + 1):
        equal += match[tied] and not gone[tied]
    value, _, _ = tie_values(0, after, equal, mass, moment, end, later)
    return value


SHARES = tuple(np.arange(10) / 10)


@dataclass(frozen=True)
class MinimisationCurve:
    """Test accuracy after removing a share of the training records, by value and at random.

    Args:
        shares: (steps,) of the training records removed.
        accuracy: (steps,) with records removed in the order of their values.
        random: (repeats, steps) with records removed in random orders.
    """

    shares: np.ndarray
    accuracy: np.ndarray
    random: np.ndarray

    @property
    def gain(self) -> np.ndarray:
        """(steps,) accuracy by value minus the mean at random."""
        return self.accuracy - self.random.mean(axis=0)


def minimisation_curve(
    x,
    y,
    x_test,
    y_test,
    values: np.ndarray,
    model=Knn(),
    *,
    rng: np.random.Generator,
    first: str = "lowest",
    shares: Sequence[float] = SHARES,
    repeats: int = 10,
    progress: Progress | None = None,
) -> MinimisationCurve:
    """Compute the accuracy of a classifier as training records are removed by value, and in random orders.

    The remaining records keep the order of their rows, because many classifiers break ties by it. With nothing removed,
    all orders therefore give the same accuracy.

    Args:
        x, y, x_test, y_test: training and test records and their labels.
        values: (n,) values from any function of this package, or other scores.
        model: a ``Knn``, for scikit-learn's classifier with this k and metric, which breaks ties differently;
            or another classifier with scikit-learn's ``fit`` and ``score``. A clone is trained at each step.
        rng: random generator of the random orders and of the order among equal values.
        first: remove the "lowest" values first (keep the useful), or the "highest" (drop the exposed).
        shares: shares of the records removed at each step, each in [0, 1).
        repeats: number of random orders.
        progress: function that wraps the list of orders, such as ``tqdm``.

    Returns:
        Accuracy by share removed, by value and at random.

    Raises:
        ValueError: If an argument is out of range, or arrays do not fit together.
    """
    x = check_records(x, "x")
    x_test = check_records(x_test, "x_test")
    y = check_labels(y, len(x), "y")
    y_test = check_labels(y_test, len(x_test), "y_test")
    check_comparable(x, y, x_test, y_test)
    values = _values(values, len(x))
    steps = _shares(shares)
    validation.choice("first", first, ("lowest", "highest"))
    repeats = validation.integer("repeats", repeats)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng={validation.short_repr(rng)} is not a generator. Pass np.random.default_rng(0).")
    if not isinstance(model, Knn) and not (hasattr(model, "get_params") and hasattr(model, "fit")):
        raise ValueError(
            f"Expected model={validation.short_repr(model)} to be a Knn, or a scikit-learn-style classifier."
        )
    ranked = values if first == "lowest" else -values
    orders = [np.lexsort((rng.random(len(x)), ranked)), *(rng.permutation(len(x)) for _ in range(repeats))]
    curves = []
    for order in progress(orders) if progress else orders:
        remaining = [np.sort(order[round(share * len(x)) :]) for share in steps]
        curves.append([_accuracy(x[rows], y[rows], x_test, y_test, model) for rows in remaining])
    return MinimisationCurve(steps, np.array(curves[0]), np.array(curves[1:]).reshape(repeats, len(steps)))


@dataclass(frozen=True)
class OnionEffect:
    """Value of each record, before and after the records with the highest values were removed.

    Args:
        removed: (n,) true for the removed records.
        before: (n,) values among all records.
        after: (n,) values among those that stayed; NaN for the removed.
    """

    removed: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def change(self) -> np.ndarray:
        """(n,) after minus before; NaN for the removed."""
        return self.after - self.before

    @property
    def risen(self) -> float:
        """Share of the records that stayed whose value rose, beyond rounding."""
        return float((self.change[~self.removed] > 1e-12).mean())


def onion_effect(x, y, value: Callable, *, share: float = 0.1) -> OnionEffect:
    """Compute a value of each record before and after removing the records with the highest values.

    Once the outer layer of exposed records is gone, others may take its place (Carlini et al. 2022, "The
    privacy onion effect").

    Args:
        x, y: (n, features) and (n,) training records and their labels.
        value: function (x, y) to (n,), such as ``self_waka``; a closure can hold test records.
        share: share of the records to remove, in (0, 1); at least one is removed, and of equal values lower rows first.

    >>> from guestlist.knn import self_waka
    >>> onion_effect([[0.0], [1.0], [2.0]], [1, 0, 1], lambda x, y: self_waka(x, y, Knn(k=1))).change
    array([-0.25,   nan, -0.25])

    Returns:
        The values before and after.

    Raises:
        ValueError: If ``value`` is not a function, or the share is out of range.
    """
    x = check_records(x, "x")
    y = check_labels(y, len(x), "y")
    share = validation.number("share", share, 0, 1)
    if not callable(value):
        raise ValueError(
            f"Expected value={validation.short_repr(value)} to be a function (x, y) to (n,), such as self_waka."
        )
    before = _values(value(x, y), len(x))
    count = max(round(share * len(x)), 1)
    removed = np.zeros(len(x), dtype=bool)
    # Rounded, so that the last bits of equal values do not decide which records are removed.
    removed[np.argsort(-np.round(before, 13), kind="stable")[:count]] = True
    after = np.full(len(x), np.nan)
    after[~removed] = value(x[~removed], y[~removed])
    return OnionEffect(removed, before, after)


def _accuracy(x, y, x_test, y_test, model) -> float:
    from sklearn.base import clone
    from sklearn.neighbors import KNeighborsClassifier

    if isinstance(model, Knn):
        model = KNeighborsClassifier(min(model.k, len(x)), metric=model.metric)
    else:
        model = clone(model)
    try:
        return float(model.fit(x, y).score(x_test, y_test))
    except Exception as error:
        raise ValueError(f"Cannot fit or query the model ({reason(error)}). Check that it accepts x and y.") from error


def _values(values, n: int) -> np.ndarray:
    values = validation.numbers("values", values)
    if values.shape != (n,) or np.isnan(values).any():
        raise ValueError(
            f"Expected values shaped ({n},), one per record and no NaN, found shape {values.shape} "
            f"with {int(np.isnan(values).sum())} NaN."
        )
    return values


def _shares(shares) -> np.ndarray:
    shares = validation.numbers("shares", shares)
    if shares.ndim != 1 or not ((shares >= 0) & (shares < 1)).all():
        raise ValueError(f"Expected shares={shares.tolist()} to be numbers in [0, 1).")
    return shares
