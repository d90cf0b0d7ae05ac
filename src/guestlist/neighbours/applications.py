"""Applications of record values: data minimisation, and exposure after removing exposed records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from guestlist import arguments
from guestlist.lines import reason
from guestlist.neighbours.blocks import Progress
from guestlist.neighbours.checks import check_comparable, check_labels, check_records
from guestlist.neighbours.knn import Knn

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

    Those that stay keep the order of their rows, by which many a classifier breaks ties: with nothing removed,
    all orders give one accuracy.

    Args:
        x, y, x_test, y_test: training and test records and their labels.
        values: (n,) from any function of this package, or any other score.
        model: a ``Knn``, for scikit-learn's classifier with this k and metric, which has its own way with ties;
            or another classifier with scikit-learn's ``fit`` and ``score``. A clone is trained at each step.
        rng: draws the random orders; also orders records of equal value.
        first: remove the "lowest" values first (keep the useful), or the "highest" (drop the exposed).
        shares: of the records removed at each step, each in [0, 1).
        repeats: random orders.
        progress: wrapped around the list of orders, such as ``tqdm``.
    """
    x = check_records(x, "x")
    x_test = check_records(x_test, "x_test")
    y = check_labels(y, len(x), "y")
    y_test = check_labels(y_test, len(x_test), "y_test")
    check_comparable(x, y, x_test, y_test)
    values = _values(values, len(x))
    steps = _shares(shares)
    arguments.choice("first", first, ("lowest", "highest"))
    repeats = arguments.integer("repeats", repeats)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"Expected rng={arguments.short_repr(rng)} to be a generator: np.random.default_rng(0).")
    if not isinstance(model, Knn) and not (hasattr(model, "get_params") and hasattr(model, "fit")):
        raise ValueError(
            f"Expected model={arguments.short_repr(model)} to be a Knn, or a scikit-learn-style classifier."
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
        value: function (x, y) to (n,), such as ``self_waka``; close over test records where one needs them.
        share: of the records removed, in (0, 1); at least one is. Equal values: lower rows first.

    >>> from guestlist.neighbours import self_waka
    >>> onion_effect([[0.0], [1.0], [2.0]], [1, 0, 1], lambda x, y: self_waka(x, y, Knn(k=1))).change
    array([-0.25,   nan, -0.25])
    """
    x = check_records(x, "x")
    y = check_labels(y, len(x), "y")
    share = arguments.number("share", share, 0, 1)
    if not callable(value):
        raise ValueError(
            f"Expected value={arguments.short_repr(value)} to be a function (x, y) to (n,), such as self_waka."
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
        raise ValueError(f"The model cannot be fitted or asked here ({reason(error)}).") from error


def _values(values, n: int) -> np.ndarray:
    values = arguments.numbers("values", values)
    if values.shape != (n,) or np.isnan(values).any():
        raise ValueError(
            f"Expected values shaped ({n},), one per record and no NaN, found shape {values.shape} "
            f"with {int(np.isnan(values).sum())} NaN."
        )
    return values


def _shares(shares) -> np.ndarray:
    shares = arguments.numbers("shares", shares)
    if shares.ndim != 1 or not ((shares >= 0) & (shares < 1)).all():
        raise ValueError(f"Expected shares={shares.tolist()} to be numbers in [0, 1).")
    return shares
