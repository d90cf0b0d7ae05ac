"""Ridge regression of many labellings of the same records at once, with second-order terms for what it leaves.

What costs time depends on the records alone; another labelling is a product of matrices. That is what makes it cheap to run
the whole classifier again for every permutation of the membership labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from guestlist.blind.second_order import FoldTerms, Terms, corrections, selected

# Penalties that are tried, as shares of the largest squared singular value.
PENALTIES = 10.0 ** np.arange(1, -5, -1)
NEGLIGIBLE = 1e-10  # directions of which the records hold nothing, as a share of the largest
LEAST_LEFT = 1e-6  # share of the labels' variance: residuals below it are rounding errors


class Spectrum(NamedTuple):
    """Singular values (directions,) and right singular vectors (directions, columns) of a centred matrix."""

    values: np.ndarray
    right: np.ndarray


class Fold(NamedTuple):
    """One fold, and what the regression on the others needs: all of it depends on the records alone.

    Attributes:
        inside: (records,) true for those of the fold.
        x: (records of the fold, columns).
        mean: (columns,) of the other folds.
        others: Spectrum of the other folds, centred at their mean.
        terms: Second-order terms, or None where there are none.
    """

    inside: np.ndarray
    x: np.ndarray
    mean: np.ndarray
    others: Spectrum
    terms: FoldTerms | None = None


class _Fit(NamedTuple):
    """Regressions of several labellings on all folds but one.

    Attributes:
        coefficients: (labellings, columns).
        mean: (labellings,) of the labels.
        residual_squares: (labellings,) sum of the squared residuals.
    """

    coefficients: np.ndarray
    mean: np.ndarray
    residual_squares: np.ndarray


def folds(x: np.ndarray, fold: np.ndarray, terms: Terms | None = None) -> tuple[Fold, ...]:
    """Prepare records for cross-fitting.

    Args:
        x: (records, columns).
        fold: (records,) numbers.
        terms: Second-order terms that may explain what the regression on the columns leaves.
    """
    x = x - x.mean(axis=0)
    terms = terms if terms is not None and terms.values.shape[1] else None
    squares = [] if min((fold != one).sum() for one in np.unique(fold)) < x.shape[1] else _squares(x, fold)
    prepared = None if terms is None else terms.by_fold(x, fold)
    parts = []
    for place, one in enumerate(np.unique(fold)):
        inside = fold == one
        mean = x[~inside].mean(axis=0)
        if squares:
            others = sum(squares[:place] + squares[place + 1 :]) - (~inside).sum() * np.outer(mean, mean)
            spectrum = _spectrum(others)
        else:
            spectrum = _spectrum_of_few(x[~inside] - mean)
        parts.append(Fold(inside, x[inside], mean, spectrum, None if prepared is None else prepared[place]))
    return tuple(parts)


def cross_fitted(parts: tuple[Fold, ...], labels: np.ndarray) -> np.ndarray:
    """Predict the labels of each fold by the ridge regression on the others, and by second-order terms for its residuals.

    The penalty is chosen by generalised cross-validation within the other folds (Golub, Heath & Wahba 1979), separately for
    each labelling. Predictions are comparable within a fold.

    Args:
        parts: Folds of the records.
        labels: (labellings, records).

    Returns:
        (labellings, records).
    """
    found = np.zeros(labels.shape)
    for part, fit, covariance in _fits(parts, labels):
        found[:, part.inside] = fit.coefficients @ (part.x - part.mean).T
        if part.terms is not None:
            found[:, part.inside] += corrections(part.terms, covariance, fit.residual_squares)
    return found


def selected_terms(parts: tuple[Fold, ...], labels: np.ndarray) -> np.ndarray:
    """Return the numbers of the second-order terms that enter the predictions of any fold.

    Args:
        parts: Folds of the records.
        labels: (records,).
    """
    found = [np.empty(0, dtype=np.int64)]
    for part, fit, covariance in _fits(parts, labels[None]):
        if part.terms is not None:
            found.append(selected(part.terms, covariance, fit.residual_squares))
    return np.unique(np.concatenate(found))


def _fits(parts: tuple[Fold, ...], labels: np.ndarray) -> Iterator[tuple[Fold, _Fit, np.ndarray]]:
    """Fit all folds but one, for each one; with the sums of residuals times terms, (labellings, terms)."""
    sums = [labels[:, part.inside] @ part.x for part in parts]
    terms = [labels[:, part.inside] @ part.terms.own for part in parts if part.terms is not None]
    for place, part in enumerate(parts):
        fit = _fitted(part, labels, sum(sums) - sums[place])
        covariance = np.empty((len(labels), 0))
        if part.terms is not None:
            covariance = sum(terms) - terms[place] - fit.mean[:, None] * part.terms.sums
            covariance -= fit.coefficients @ part.terms.with_columns
        yield part, fit, covariance


def _fitted(part: Fold, labels: np.ndarray, sums: np.ndarray) -> _Fit:
    """Fit the labels of the other folds.

    Args:
        sums: (labellings, columns) of labels times columns over the other folds.
    """
    known = labels[:, ~part.inside]
    mean = known.mean(axis=1)
    total = ((known - mean[:, None]) ** 2).sum(axis=1)
    inner = ((sums - known.shape[1] * mean[:, None] * part.mean) @ part.others.right.T) / part.others.values
    shrunk = _best_shrinkage(part.others.values, inner, total, known.shape[1])
    left = total - (inner**2 * shrunk * (2 - shrunk)).sum(axis=1)
    coefficients = (inner * shrunk / part.others.values) @ part.others.right
    return _Fit(coefficients, mean, np.maximum(left, LEAST_LEFT * total))


def _squares(x: np.ndarray, fold: np.ndarray) -> list[np.ndarray]:
    """The product of each fold's columns with each other."""
    return [x[fold == one].T @ x[fold == one] for one in np.unique(fold)]


def _spectrum(products: np.ndarray) -> Spectrum:
    """The spectrum of a matrix x, by its ``products`` x.T @ x."""
    squares, vectors = np.linalg.eigh(products)
    kept = _is_kept(squares)
    return Spectrum(np.sqrt(squares[kept]), vectors[:, kept].T)


def _spectrum_of_few(x: np.ndarray) -> Spectrum:
    """The spectrum of a matrix with fewer rows than columns."""
    squares, vectors = np.linalg.eigh(x @ x.T)
    kept = _is_kept(squares)
    values = np.sqrt(squares[kept])
    return Spectrum(values, (vectors[:, kept] / values).T @ x)


def _is_kept(squares: np.ndarray) -> np.ndarray:
    return squares > NEGLIGIBLE * max(squares.max(initial=0.0), np.finfo(float).tiny)


def _best_shrinkage(values: np.ndarray, inner: np.ndarray, total: np.ndarray, records: int) -> np.ndarray:
    """(labellings, directions) how much of each direction remains, at the penalty with the least generalised error."""
    if not len(values):
        return np.zeros_like(inner)
    squares = values**2
    shrinkages = squares / (squares + PENALTIES[:, None] * squares.max())
    kept = inner**2 @ (shrinkages * (2 - shrinkages)).T  # what the fit explains, of the squares of the labels
    freedom = np.maximum(records - 1 - shrinkages.sum(axis=1), 1e-6)
    return shrinkages[np.argmin((total[:, None] - kept) / freedom**2, axis=1)]
