"""How likely a record is a member's, by what it holds alone: probabilities that non-members can be weighted by.

What members and non-members are to be balanced in: the columns themselves, for people around another mean; their squares, for
people spread more widely; their products with the label, for labels that fit them better or worse; second-order terms that
differ by more than chance explains; and scores of classifiers
that did not learn from the record, for what goes together: boosted trees, and the classifier by which members are told
without the model.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from guestlist.blind.balance import log_odds

PRODUCTS = 512  # of columns with those of the label, of which there may be many
TREES, LEAVES, OF_A_LEAF = 60, 8, 20  # small trees, and few: what they overfit stands in the way of what they see


def chances(
    given: np.ndarray,
    labels: np.ndarray,
    terms: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    member: np.ndarray,
    unit: np.ndarray,
) -> np.ndarray:
    """(records,) probability of membership among these records, by which non-members are weighted.

    Args:
        given, labels: (records, columns) of features, and of the label, centred, of about unit spread.
        terms: (records, terms) second-order terms in which members and non-members differ.
        score: (records,) of a classifier that did not learn from the record's fold.
        fold: (records,) numbers.
        member: (records,) true for members.
        unit: (records,) numbers of the persons, or records, that count as one.
    """
    columns = np.hstack([given, labels])
    learnt = np.stack([_of_one_spread(one, fold) for one in (score, tree_scores(columns, fold, member))], axis=1)
    several = np.array([len(np.unique(column)) > 2 for column in columns.T], dtype=bool)
    squares = columns[:, several] ** 2  # of two values a square is no more than the value
    some = labels[:, : max(PRODUCTS // max(given.shape[1], 1), 1)]
    products = (given[:, :, None] * some[:, None]).reshape(len(member), -1)
    return special.expit(log_odds(np.hstack([columns, squares, products, terms, learnt]), member, unit))


def odds(chance: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) weights under which non-members are distributed as members are: e / (1 - e), and 1 for members."""
    return np.where(member, 1.0, chance / (1 - np.where(member, 0.0, chance)))


def effective_share(weights: np.ndarray) -> float:
    """As which share of them weighted records count: (Σw)² / Σw² over their number (Kish 1965).

    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / np.square(weights).sum() / len(weights))


def tree_scores(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) log-odds by boosted trees that learnt on other folds; 0 where these have one side alone."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a second to load

    found = np.zeros(len(member))
    for one in np.unique(fold):
        others = fold != one
        if x.shape[1] and len(np.unique(member[others])) == 2:
            trees = HistGradientBoostingClassifier(
                max_iter=TREES, max_leaf_nodes=LEAVES, min_samples_leaf=OF_A_LEAF, early_stopping=False, random_state=0
            )
            found[~others] = trees.fit(x[others], member[others]).decision_function(x[~others])
    return found


def _of_one_spread(score: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The same in every fold: how far a classifier shrinks its scores is its own choice in each."""
    found = np.empty(len(score))
    for one in np.unique(fold):
        inside = fold == one
        found[inside] = score[inside] / max(float(np.sqrt(np.square(score[inside]).mean())), 1e-12)
    return found
