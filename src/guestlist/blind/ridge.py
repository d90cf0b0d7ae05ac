"""Ridge regression of many labellings of the same records at once.

What costs time depends on the records alone; another labelling is a product of matrices. That is what makes it cheap to run
the whole classifier again for every exchange of memberships.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Penalties that are tried, as shares of the largest squared singular value.
PENALTIES = 10.0 ** np.arange(1, -5, -1)
NEGLIGIBLE = 1e-10  # directions of which the records hold nothing, as a share of the largest


class Spectrum(NamedTuple):
    """The singular value decomposition of a centred matrix, x = left · diag(values) · right."""

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray


class Fold(NamedTuple):
    """What is predicted, from what: all of it depends on the records alone.

    Args:
        inside: (records,) true for those of the fold.
        others: of the other folds, centred at their mean.
        x: (records of the fold, columns) from that mean.
    """

    inside: np.ndarray
    others: Spectrum
    x: np.ndarray


def folds(x: np.ndarray, fold: np.ndarray) -> tuple[Fold, ...]:
    """The folds of records, ready for any labelling.

    Args:
        x: (records, columns).
        fold: (records,) numbers.
    """
    found = []
    for one in np.unique(fold):
        inside = fold == one
        mean = x[~inside].mean(axis=0)
        found.append(Fold(inside, _spectrum(x[~inside] - mean), x[inside] - mean))
    return tuple(found)


def cross_fitted(parts: tuple[Fold, ...], labels: np.ndarray) -> np.ndarray:
    """(labellings, records) predictions of each fold by the ridge regression on the others.

    The penalty is chosen by generalised cross-validation within the other folds (Golub, Heath & Wahba 1979), for each
    labelling anew. Predictions are comparable within a fold.

    Args:
        labels: (labellings, records).
    """
    found = np.zeros(labels.shape)
    for inside, others, x in parts:
        known = labels[:, ~inside]
        centred = known - known.mean(axis=1, keepdims=True)
        inner = centred @ others.left
        shrunk = _best_shrinkage(others.values, inner, (centred**2).sum(axis=1), known.shape[1])
        found[:, inside] = ((inner * shrunk / others.values) @ others.right) @ x.T
    return found


def _spectrum(x: np.ndarray) -> Spectrum:
    """By way of the smaller of the two products of the matrix with itself."""
    wide = x.shape[1] > x.shape[0]
    squares, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    kept = squares > NEGLIGIBLE * max(squares.max(initial=0.0), np.finfo(float).tiny)
    values, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    if wide:
        return Spectrum(vectors, values, (vectors / values).T @ x)
    return Spectrum(x @ (vectors / values), values, vectors.T)


def _best_shrinkage(values: np.ndarray, inner: np.ndarray, total: np.ndarray, records: int) -> np.ndarray:
    """(labellings, directions) how much of each direction remains, at the penalty with the least generalised error."""
    if not len(values):
        return np.zeros_like(inner)
    squares = values**2
    shrinkages = squares / (squares + PENALTIES[:, None] * squares.max())
    kept = inner**2 @ (shrinkages * (2 - shrinkages)).T  # what the fit explains, of the squares of the labels
    freedom = np.maximum(records - 1 - shrinkages.sum(axis=1), 1e-6)
    return shrinkages[np.argmin((total[:, None] - kept) / freedom**2, axis=1)]
