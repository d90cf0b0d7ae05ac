"""Ridge regression of many labellings at once, with second-order terms; propensity scores to reweight non-members."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

CLIP = 4.0  # standard deviations, so that no record's product outweighs many others
NUMBERS = 1_000_000  # maximum of records times terms: bounds memory and time
MAX_TERMS = 1024
PER_RECORD = 8  # minimum number of records per term
COMPONENTS = 8  # leading principal components whose squares and products describe many columns at once
JOINTLY = 8  # terms fitted together
PENALTY = 0.05  # penalty of the joint fit, as a share of a term's variance


class Terms(NamedTuple):
    """Second-order terms of records, computed without their membership labels.

    Attributes:
        values: (records, terms), centred, of about unit variance.
        unit: (records,) numbers of the persons, or records, whose membership is permuted together.
    """

    values: np.ndarray
    unit: np.ndarray

    def by_fold(self, x: np.ndarray, fold: np.ndarray) -> "tuple[FoldTerms, ...]":
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
        source: (columns,) number of the original column of each. Products within one source are omitted: the levels of a
            category exclude each other.
        unit: (records,) numbers of the persons, or records, whose membership is permuted together.
        rng: Random generator that chooses among the products if there are too many.
    """
    limit = min(max(NUMBERS // max(len(unit), 1), 1), MAX_TERMS, PER_RECORD * len(unit))
    first, second = _pairs(values, source, limit, rng)
    products = values[:, first]
    products *= values[:, second]  # in place: the array is large
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
    """Return (terms,) sum over units of the squared sum of their records."""
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
    scaled = _scaled(x)
    return np.asfortranarray(np.clip(scaled, -CLIP, CLIP, out=scaled))


# Penalties that are tried, as shares of the largest squared singular value.
PENALTIES = 10.0 ** np.arange(1, -5, -1)
NEGLIGIBLE = 1e-10  # eigenvalues below this share of the largest are rounding errors
MIN_RESIDUAL_SHARE = 1e-6  # share of the labels' variance: residuals below it are rounding errors


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
        terms: Second-order terms that may explain the residuals of the regression on the columns.
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
    residual_squares = total - (inner**2 * shrunk * (2 - shrunk)).sum(axis=1)
    coefficients = (inner * shrunk / part.others.values) @ part.others.right
    return _Fit(coefficients, mean, np.maximum(residual_squares, MIN_RESIDUAL_SHARE * total))


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
    """Return (labellings, directions) shrinkage factors at the penalty with the least generalised cross-validation error."""
    if not len(values):
        return np.zeros_like(inner)
    squares = values**2
    shrinkages = squares / (squares + PENALTIES[:, None] * squares.max())
    explained = inner**2 @ (shrinkages * (2 - shrinkages)).T  # explained sum of squares of the labels
    dof = np.maximum(records - 1 - shrinkages.sum(axis=1), 1e-6)
    return shrinkages[np.argmin((total[:, None] - explained) / dof**2, axis=1)]


MAX_COLUMNS = 128  # maximum number of columns: those that differ most between members and non-members
LEAST_PENALTY = 1e-3  # keeps the odds finite if members and non-members do not overlap
STEPS = 100
HALVINGS = 30
TOLERANCE = 1e-8


def log_odds(columns: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return (records,) log-odds of membership; their exponentials are the weights of non-members.

    The weights of the non-members add up to the number of members.

    Args:
        columns: (records, columns) to balance.
        member: (records,) true for members; there are members and non-members.
        unit: (records,) numbers of the persons, or records, that count as one.
    """
    scaled = _scaled(columns)
    excess = standard_errors(scaled, member, unit) ** 2 - 1
    chosen = np.argsort(-excess, kind="stable")[:MAX_COLUMNS]
    chosen = np.sort(chosen[excess[chosen] > 0])
    penalty = np.maximum(1 / excess[chosen], LEAST_PENALTY)
    with_constant = np.hstack([np.ones((len(scaled), 1)), scaled[:, chosen]])
    return with_constant @ _balancing_coefficients(with_constant, member, np.append(0.0, penalty))


def standard_errors(columns: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return (columns,) differences of the means of members and non-members in standard errors, clustered by unit."""
    difference = np.zeros(columns.shape[1])
    variance = np.zeros(columns.shape[1])
    for in_class, sign in ((member, 1), (~member, -1)):
        mean = columns[in_class].mean(axis=0)
        cluster = np.unique(unit[in_class], return_inverse=True)[1]
        sums = np.zeros((cluster.max() + 1, columns.shape[1]))
        np.add.at(sums, cluster, columns[in_class] - mean)
        difference += sign * mean
        variance += np.square(sums).sum(axis=0) / in_class.sum() ** 2
    return difference / np.sqrt(np.maximum(variance, 1e-12))


def _scaled(columns: np.ndarray) -> np.ndarray:
    """Return the columns that vary, centred, with unit standard deviation."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-9
    return centred[:, varies] / deviation[varies]


def _balancing_coefficients(columns: np.ndarray, member: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Compute (columns,) coefficients, the first of a constant, by Newton's method.

    Args:
        columns: (records, columns), the first constant.
        member: (records,) true for members.
        penalty: (columns,) on the square of each coefficient, per non-member.
    """
    members = columns[member]
    others = columns[~member]
    total = members.sum(axis=0)
    ridge = len(others) * penalty

    def loss(candidate: np.ndarray) -> float:
        with np.errstate(over="ignore"):  # The step was too long, and is halved.
            return float(np.exp(others @ candidate).sum() - total @ candidate + (ridge * candidate) @ candidate / 2)

    coefficients = np.zeros(columns.shape[1])
    coefficients[0] = np.log(len(members) / len(others))
    current = loss(coefficients)
    for _ in range(STEPS):
        weights = np.exp(others @ coefficients)
        slope = weights @ others - total + ridge * coefficients
        step = np.linalg.solve((others * weights[:, None]).T @ others + np.diag(ridge + 1e-9), slope)
        for _ in range(HALVINGS):
            proposed = loss(coefficients - step)
            if proposed <= current:
                break
            step = step / 2
        else:
            break  # The loss is as low as float64 can resolve.
        coefficients = coefficients - step
        current = proposed
        if np.abs(step).max() < TOLERANCE:
            break
    return coefficients


PRODUCTS = 512  # maximum number of products of columns with those of the label
# Few small trees overfit less.
TREES = 60
LEAVES = 8
RECORDS_PER_LEAF = 20


def propensity_scores(
    features: np.ndarray,
    labels: np.ndarray,
    terms: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    member: np.ndarray,
    unit: np.ndarray,
) -> np.ndarray:
    """Estimate (records,) probabilities of membership among these records.

    Args:
        features, labels: (records, columns) of features, and of the label, centred, with about unit variance.
        terms: (records, terms) second-order terms in which members and non-members differ.
        score: (records,) of a classifier that was not fitted on the record's fold.
        fold: (records,) numbers.
        member: (records,) true for members.
        unit: (records,) numbers of the persons, or records, that count as one.
    """
    columns = np.hstack([features, labels])
    scores = (score, tree_scores(columns, fold, member))
    predicted = np.stack([_unit_scale_by_fold(values, fold) for values in scores], axis=1)
    several = np.array([len(np.unique(column)) > 2 for column in columns.T], dtype=bool)
    squares = columns[:, several] ** 2  # The square of a binary column is a linear function of it.
    some_labels = labels[:, : max(PRODUCTS // max(features.shape[1], 1), 1)]
    products = (features[:, :, None] * some_labels[:, None]).reshape(len(member), -1)
    return special.expit(log_odds(np.hstack([columns, squares, products, terms, predicted]), member, unit))


def odds(propensity: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (records,) weights that give non-members the distribution of members: e / (1 - e), and 1 for members."""
    return np.where(member, 1.0, propensity / (1 - np.where(member, 0.0, propensity)))


def effective_share(weights: np.ndarray) -> float:
    """Return the effective sample size of weighted records as a share of their number: (Σw)² / Σw² / n (Kish 1965).

    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / np.square(weights).sum() / len(weights))


def tree_scores(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (records,) log-odds by boosted trees fitted on the other folds; 0 if these have only one class."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a second to load

    scores = np.zeros(len(member))
    for number in np.unique(fold):
        others = fold != number
        if x.shape[1] and len(np.unique(member[others])) == 2:
            trees = HistGradientBoostingClassifier(
                max_iter=TREES,
                max_leaf_nodes=LEAVES,
                min_samples_leaf=RECORDS_PER_LEAF,
                early_stopping=False,
                random_state=0,
            )
            scores[~others] = trees.fit(x[others], member[others]).decision_function(x[~others])
    return scores


def _unit_scale_by_fold(score: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Scale the scores to a mean square of 1 in every fold: classifiers differ in the amount of shrinkage."""
    scaled = np.empty(len(score))
    for number in np.unique(fold):
        inside = fold == number
        scaled[inside] = score[inside] / max(float(np.sqrt(np.square(score[inside]).mean())), 1e-12)
    return scaled
