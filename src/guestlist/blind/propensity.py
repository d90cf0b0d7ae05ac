"""How likely a record is a member's, by what it holds alone: probabilities that non-members can be weighted by.

A ranking tells members apart; a weight needs a probability. Scores of classifiers that did not learn from a record are
turned into one by logistic regression on the records of other folds (Platt 1999), whose labels are drawn in a little from 0 and
1, so that sides which do not overlap get no infinite weight. The classifiers are of several kinds, and the regression weighs
them: one is linear in the columns, for people around another mean; one has their squares too, for people spread more widely;
boosted trees see what goes together. (A monotone step function in place of the regression, isotonic, makes of a few records
at the end of the scale all of the weight.)
"""

from __future__ import annotations

import numpy as np
from scipy import special

from guestlist.blind.ridge import cross_fitted, folds

# Small trees, and few: what they overfit, the regression on other folds shrinks again.
TREES, LEAVES, OF_A_LEAF = 60, 8, 20
STEPS, CLOSE = 50, 1e-9
STEADY = 1e-3  # a penalty that decides only between scores that say the same


def unasked_scores(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(classifiers, records) scores of classifiers of several kinds, each learnt on other folds.

    Args:
        x: (records, columns) centred, of about unit spread.
    """
    side = np.where(member, 1.0, -1.0)[None]
    linear, squared = (cross_fitted(folds(read, fold), side) for read in (x, np.hstack([x, x**2 - 1])))
    return np.vstack([linear, squared, _boosted(x, fold, member)])


def chances(scores: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) probability of membership among these records, each from records of other folds.

    Args:
        scores: (classifiers, records) of classifiers that did not learn from the record's fold.
        fold: (records,) numbers.
        member: (records,) true for members.
    """
    read, found = np.vstack([np.ones(len(member)), scores]), np.empty(len(member))
    for one in np.unique(fold):
        # Of one spread in every fold: how far a classifier shrinks its scores is its own choice in each.
        inside = read[1:, fold == one]
        read[1:, fold == one] = inside / np.maximum(np.sqrt(np.square(inside).mean(axis=1, keepdims=True)), 1e-12)
    for one in np.unique(fold):
        others = fold != one
        found[~others] = special.expit(_logistic(read[:, others], member[others]) @ read[:, ~others])
    return found


def odds(chance: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) weights under which non-members are distributed as members are: e / (1 - e), and 1 for members."""
    return np.where(member, 1.0, chance / (1 - chance))


def effective_share(weights: np.ndarray) -> float:
    """As which share of them weighted records count: (Σw)² / Σw² over their number (Kish 1965).

    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / np.square(weights).sum() / len(weights))


def _boosted(x: np.ndarray, fold: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) log-odds by boosted trees."""
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


def _logistic(read: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(columns,) coefficients of (columns, records), the first of which is constant, by Newton's method."""
    members, nonmembers = member.sum(), (~member).sum()
    labels = np.where(member, (members + 1) / (members + 2), 1 / (nonmembers + 2))
    penalty = STEADY * np.diag(np.arange(len(read)) > 0)
    found = np.zeros(len(read))
    for _ in range(STEPS):
        chance = special.expit(found @ read)
        curvature = (read * (chance * (1 - chance))) @ read.T + penalty
        step = np.linalg.solve(curvature, read @ (labels - chance) - penalty @ found)
        found = found + step
        if np.abs(step).max() < CLOSE:
            break
    return found
