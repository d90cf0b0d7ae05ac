"""Ridge regression of many labellings of the same records at once, with second-order terms for its residuals.

The expensive steps depend only on the records; another labelling is a product of matrices. That makes it cheap to fit the
classifier again for every permutation of the membership labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from guestlist.blind.second_order import FoldTerms, Terms, corrections, selected

# Penalties that are tried, as shares of the largest squared singular value.
PENALTIES = 10.0 ** np.arange(1, -5, -1)
NEGLIGIBLE = 1e-10  # eigenvalues below this share of the largest are rounding errors
LEAST_LEFT = 1e-6  # share of the labels' variance: residuals below it are rounding errors


class Spectrum(NamedTuple):
    """Singular values (directions,) and right singular vectors (directions, columns) of a centred matrix."""

    values: np.ndarray
    right: np.ndarray


class Fold(NamedTuple):
    """One fold, prepared for the regression on the other folds; independent of the labels.

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
    numbers = np.unique(fold)
    squares = []
    if min((fold != number).sum() for number in numbers) >= x.shape[1]:
        squares = [x[fold == number].T @ x[fold == number] for number in numbers]
    fold_terms: Sequence[FoldTerms | None] = [None] * len(numbers)
    if terms is not None and terms.values.shape[1]:
        fold_terms = terms.by_fold(x, fold)
    parts = []
    for position, number in enumerate(numbers):
        inside = fold == number
        mean = x[~inside].mean(axis=0)
        if squares:
            others = sum(squares[:position] + squares[position + 1 :]) - (~inside).sum() * np.outer(mean, mean)
            spectrum = _spectrum(others)
        else:
            spectrum = _spectrum_of_few(x[~inside] - mean)
        parts.append(Fold(inside=inside, x=x[inside], mean=mean, others=spectrum, terms=fold_terms[position]))
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
    predictions = np.zeros(labels.shape)
    for part, fit, covariance in _fits(parts, labels):
        predictions[:, part.inside] = fit.coefficients @ (part.x - part.mean).T
        if part.terms is not None:
            predictions[:, part.inside] += corrections(part.terms, covariance, fit.residual_squares)
    return predictions


def selected_terms(parts: tuple[Fold, ...], labels: np.ndarray) -> np.ndarray:
    """Return the numbers of the second-order terms that enter the predictions of any fold.

    Args:
        parts: Folds of the records.
        labels: (records,).
    """
    numbers = [np.empty(0, dtype=np.int64)]
    for part, fit, covariance in _fits(parts, labels[None]):
        if part.terms is not None:
            numbers.append(selected(part.terms, covariance, fit.residual_squares))
    return np.unique(np.concatenate(numbers))


def _fits(parts: tuple[Fold, ...], labels: np.ndarray) -> Iterator[tuple[Fold, _Fit, np.ndarray]]:
    """Fit all folds but each in turn; also yield (labellings, terms) sums of residuals times terms."""
    sums = [labels[:, part.inside] @ part.x for part in parts]
    terms = [labels[:, part.inside] @ part.terms.in_fold for part in parts if part.terms is not None]
    for position, part in enumerate(parts):
        fit = _fit_other_folds(part, labels, sum(sums) - sums[position])
        covariance = np.empty((len(labels), 0))
        if part.terms is not None:
            covariance = sum(terms) - terms[position] - fit.mean[:, None] * part.terms.sums
            covariance -= fit.coefficients @ part.terms.with_columns
        yield part, fit, covariance


def _fit_other_folds(part: Fold, labels: np.ndarray, sums: np.ndarray) -> _Fit:
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


def _spectrum(products: np.ndarray) -> Spectrum:
    """Compute the spectrum of a matrix x from ``products`` = x.T @ x."""
    squares, vectors = np.linalg.eigh(products)
    chosen = _is_significant(squares)
    return Spectrum(np.sqrt(squares[chosen]), vectors[:, chosen].T)


def _spectrum_of_few(x: np.ndarray) -> Spectrum:
    """Compute the spectrum of a matrix with fewer rows than columns."""
    squares, vectors = np.linalg.eigh(x @ x.T)
    chosen = _is_significant(squares)
    values = np.sqrt(squares[chosen])
    return Spectrum(values, (vectors[:, chosen] / values).T @ x)


def _is_significant(squares: np.ndarray) -> np.ndarray:
    return squares > NEGLIGIBLE * max(squares.max(initial=0.0), np.finfo(float).tiny)


def _best_shrinkage(values: np.ndarray, inner: np.ndarray, total: np.ndarray, records: int) -> np.ndarray:
    """(labellings, directions) shrinkage factors at the penalty with the least generalised cross-validation error."""
    if not len(values):
        return np.zeros_like(inner)
    squares = values**2
    shrinkages = squares / (squares + PENALTIES[:, None] * squares.max())
    explained = inner**2 @ (shrinkages * (2 - shrinkages)).T  # of the squares of the labels
    dof = np.maximum(records - 1 - shrinkages.sum(axis=1), 1e-6)
    return shrinkages[np.argmin((total[:, None] - explained) / dof**2, axis=1)]
