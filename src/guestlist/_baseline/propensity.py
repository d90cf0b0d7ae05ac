"""Propensity scores and entropy balancing, to reweight non-members."""

import numpy as np
from scipy import special

MAX_COLUMNS = 128  # those that differ most between members and non-members
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


PRODUCTS = 512  # at most, of columns with those of the label
# Few and small trees overfit less.
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
    """Effective sample size of weighted records as a share of their number: (Σw)² / Σw² / n (Kish 1965).

    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / np.square(weights).sum() / len(weights))


def tree_scores(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (records,) log-odds by boosted trees fitted on the other folds; 0 where these have one class only."""
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
    """Scale the scores to a mean square of 1 in every fold: classifiers differ in how far they shrink them."""
    scaled = np.empty(len(score))
    for number in np.unique(fold):
        inside = fold == number
        scaled[inside] = score[inside] / max(float(np.sqrt(np.square(score[inside]).mean())), 1e-12)
    return scaled
