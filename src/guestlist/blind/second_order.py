"""Second-order terms: squares and products of columns, for differences that leave every mean as it is.

Members whose columns are correlated, or more dispersed, have the same means as non-members, so a regression on the columns
sees no difference. The terms are computed without the membership labels. Those that explain what the regression leaves
enter the predictions. Under the null hypothesis almost none does, so they cost little power for differences in means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CLIP = 4.0  # standard deviations: no record's product outweighs many others
NUMBERS = 1_000_000  # records times terms: bounds memory and time
MOST_TERMS = 1024
PER_RECORD = 8  # few records cannot choose among many terms
COMPONENTS = 8  # leading principal components whose squares and products describe many columns at once
JOINTLY = 8  # terms fitted together
PENALTY = 0.05  # of the joint fit, as a share of a term's variance


class Terms(NamedTuple):
    """Second-order terms of records, computed without their membership labels.

    Attributes:
        values: (records, terms), centred, of about unit variance.
        unit: (records,) numbers of the persons, or records, whose membership is permuted together.
    """

    values: np.ndarray
    unit: np.ndarray

    def by_fold(self, x: np.ndarray, fold: np.ndarray) -> tuple[FoldTerms, ...]:
        """Prepare the terms to predict each fold from the others.

        Args:
            x: (records, columns) that the terms are added to.
            fold: (records,) numbers, the same for all records of a unit.
        """
        masks = [fold == number for number in np.unique(fold)]
        in_fold = [np.ascontiguousarray(self.values[inside]) for inside in masks]
        sums = [values.sum(axis=0) for values in in_fold]
        energy = [_energy(values, self.unit[inside]) for values, inside in zip(in_fold, masks, strict=True)]
        with_columns = [x[inside].T @ values for values, inside in zip(in_fold, masks, strict=True)]
        prepared = []
        for position, inside in enumerate(masks):
            others = [sum(by_fold) - by_fold[position] for by_fold in (sums, energy, with_columns)]
            others[2] -= np.outer(x[~inside].mean(axis=0), others[0])
            prepared.append(FoldTerms(self.values, inside, in_fold[position], *others))
        return tuple(prepared)


class FoldTerms(NamedTuple):
    """Second-order terms, prepared to predict one fold from the others.

    Attributes:
        values: (records, terms) of all records.
        inside: (records,) true for the records of the fold.
        in_fold: (records of the fold, terms).
        sums: (terms,) over the other folds.
        energy: (terms,) sum of the units' squared sums over the other folds: the variance of a term's product with randomly
            permuted labels of unit variance.
        with_columns: (columns, terms) sums of products with the centred columns over the other folds.
    """

    values: np.ndarray
    inside: np.ndarray
    in_fold: np.ndarray
    sums: np.ndarray
    energy: np.ndarray
    with_columns: np.ndarray

    @property
    def threshold(self) -> float:
        """Absolute z-score that the largest of this many null terms seldom exceeds (Donoho & Johnstone 1994)."""
        return float(np.sqrt(2 * np.log(max(len(self.energy), 2))))


def second_order(values: np.ndarray, source: np.ndarray, unit: np.ndarray, rng: np.random.Generator) -> Terms:
    """Compute squares and products of columns, and of their leading principal components.

    Args:
        values: (records, columns), centred.
        source: (columns,) number of the user's column that each came from. Products within one are omitted: the levels of a
            category exclude each other.
        unit: (records,) numbers of the persons, or records, whose membership is permuted together.
        rng: Random generator that chooses among the products where there are too many.
    """
    limit = min(max(NUMBERS // max(len(unit), 1), 1), MOST_TERMS, PER_RECORD * len(unit))
    first, second = _pairs(values, source, limit, rng)
    products = values[:, first] * values[:, second]
    return Terms(_standardised(np.hstack([products, _of_components(values)])), unit)


def corrections(terms: FoldTerms, covariance: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Predict the residuals of one fold from the terms that explain them in the other folds.

    Args:
        terms: Second-order terms.
        covariance: (labellings, terms) sums of residuals times terms over the other folds.
        squares: (labellings,) sums of squared residuals.

    Returns:
        (labellings, records of the fold).
    """
    predictions = np.zeros((len(covariance), len(terms.in_fold)))
    largest, share = _screened(terms, covariance, squares)
    for row in np.flatnonzero(share.any(axis=1)):
        enters = share[row] > 0
        columns = largest[row, enters]
        known = terms.values[:, columns][~terms.inside]
        gram = known.T @ known + PENALTY * len(known) * np.eye(len(columns))
        coefficients = np.linalg.solve(gram, covariance[row, columns] * share[row, enters])
        predictions[row] = terms.in_fold[:, columns] @ coefficients
    return predictions


def selected(terms: FoldTerms, covariance: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the numbers of the terms that enter the predictions for the first labelling; arguments as for `corrections`."""
    largest, share = _screened(terms, covariance[:1], squares[:1])
    return largest[0, share[0] > 0]


def _screened(terms: FoldTerms, covariance: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (labellings, largest) numbers of the largest terms, and the share of each after shrinkage.

    A term of z-score z has a share of 1 - threshold²/z², and 0 below the threshold (James & Stein 1961).
    """
    variance = squares / max(int((~terms.inside).sum()), 1)
    z_squared = covariance**2 / np.maximum(variance[:, None] * terms.energy, np.finfo(float).tiny)
    count = min(JOINTLY, z_squared.shape[1])
    largest = np.sort(np.argpartition(-z_squared, count - 1, axis=1)[:, :count], axis=1)
    z_squared = np.take_along_axis(z_squared, largest, axis=1)
    return largest, np.maximum(1 - terms.threshold**2 / np.maximum(z_squared, np.finfo(float).tiny), 0.0)


def _energy(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(terms,) sum over units of the squared sum of their records."""
    order = np.argsort(unit, kind="stable")
    starts = np.unique(unit[order], return_index=True)[1]
    if len(starts) < len(unit):
        values = np.add.reduceat(values[order], starts, axis=0)
    return np.square(values).sum(axis=0)


def _pairs(
    values: np.ndarray, source: np.ndarray, limit: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose at most ``limit`` pairs of columns.

    Every pair of sources is equally likely; rare levels and weak components are less likely than others.
    """
    several = np.array([len(np.unique(column)) > 2 for column in values.T], dtype=bool)
    first, second = np.triu_indices(len(source))
    useful = np.where(first == second, several[first], source[first] != source[second])
    first = first[useful]
    second = second[useful]
    if len(first) <= limit:
        return first, second
    number, size = np.unique(source, return_inverse=True, return_counts=True)[1:]
    weight = np.maximum(values.std(axis=0), 1e-6) / size[number]
    order = rng.exponential(size=len(first)) / (weight[first] * weight[second])
    chosen = np.sort(np.argsort(order, kind="stable")[:limit])
    return first[chosen], second[chosen]


def _of_components(x: np.ndarray) -> np.ndarray:
    """Compute the mean square of a record's columns, and the squares and products of leading principal components."""
    if x.shape[1] < 2:
        return np.empty((len(x), 0))
    components = x @ np.linalg.eigh(x.T @ x)[1][:, ::-1][:, :COMPONENTS]
    first, second = np.triu_indices(components.shape[1])
    return np.hstack([np.square(x).mean(axis=1, keepdims=True), components[:, first] * components[:, second]])


def _standardised(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-9
    return np.asfortranarray(np.clip(centred[:, varies] / deviation[varies], -CLIP, CLIP))
