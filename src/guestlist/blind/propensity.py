"""Propensity scores: probabilities of membership given a record, by which non-members are weighted.

Members and non-members are balanced in the columns, for different means; in their squares, for different variances; in their
products with the label, for labels that fit them better or worse; in second-order terms that differ by more than chance
explains; and in scores of classifiers that were not fitted on the record, for interactions: boosted trees, and the model-free
baseline.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from guestlist.blind.balance import log_odds

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
    """(records,) weights that give non-members the distribution of members: e / (1 - e), and 1 for members."""
    return np.where(member, 1.0, propensity / (1 - np.where(member, 0.0, propensity)))


def effective_share(weights: np.ndarray) -> float:
    """Effective sample size of weighted records as a share of their number: (Σw)² / Σw² / n (Kish 1965).

    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / np.square(weights).sum() / len(weights))


def tree_scores(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) log-odds by boosted trees fitted on the other folds; 0 where these have one class only."""
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
