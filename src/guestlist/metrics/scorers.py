"""Leakage as a scorer for scikit-learn's cross-validation and searches."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from guestlist.errors import InputError
from guestlist.metrics.ranking import auc


def leakage_scorer(x, y) -> "LeakageScorer":
    """Return a scorer for ``cross_validate`` and ``GridSearchCV`` that measures leakage next to accuracy.

    The score is minus the AUC of the loss attack: -0.5 without leakage, -1 if the loss separates all members. It is a quick
    lower bound to compare settings with; audit the chosen model with ``gl.audit``.

    The members are all records of ``x`` that are not in the test fold. This is correct for splits that train on the complement
    of the test fold, such as ``KFold``. It is not for ``TimeSeriesSplit``, ``ShuffleSplit`` with ``train_size``, halving
    searches or ``return_train_score=True``. Records whose copies are in both sets are excluded.

    Args:
        x: Features of all records, as passed to ``cross_validate`` or to ``fit`` of a search.
        y: Their labels.

    Returns:
        The scorer. It needs no metadata, so ``sample_weight`` is routed only to ``fit``.

    Examples:
        >>> from sklearn.model_selection import GridSearchCV
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> scoring = {"accuracy": "accuracy", "leakage": gl.metrics.leakage_scorer(x, y)}
        >>> search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 9]}, scoring=scoring, refit="accuracy")
        >>> leakage = search.fit(x, y).cv_results_["mean_test_leakage"]
        >>> bool(leakage[0] > leakage[1])  # the deeper tree leaks more
        True
    """
    return LeakageScorer(x, np.asarray(y), _row_hashes(x, y))


@dataclass(frozen=True)
class LeakageScorer:
    """Scorer made by :func:`leakage_scorer`.

    Attributes:
        x: Features of all records.
        y: Their labels.
        hashes: Hash of each record.
    """

    x: Any
    y: np.ndarray
    hashes: np.ndarray

    def __call__(self, estimator, x, y) -> float:
        """Return minus the AUC of the loss attack on the training records and a test fold."""
        fold = _row_hashes(x, y)
        unknown = ~np.isin(fold, self.hashes)
        if unknown.any():
            raise InputError(
                f"{unknown.sum()} records of the test fold are not among those of leakage_scorer(x, y). Pass the same x and y "
                "to the scorer and to cross_validate or fit."
            )
        values, counts = np.unique(self.hashes, return_counts=True)
        tested = np.bincount(np.searchsorted(values, fold), minlength=len(values))
        in_both = values[(tested > 0) & (counts > tested)]
        members = ~np.isin(self.hashes, fold)
        nonmembers = ~np.isin(fold, in_both)
        if not members.any() or not nonmembers.any():
            raise InputError(
                "The test fold holds all records, or only copies of training records, so no AUC exists. Drop duplicate "
                "records, or use more folds."
            )
        rows = np.flatnonzero(members)
        member_scores = _fit_scores(estimator, _take(self.x, rows), self.y[rows])
        other_scores = _fit_scores(estimator, x, np.asarray(y))[nonmembers]
        scores = np.concatenate([member_scores, other_scores])
        labels = np.arange(len(scores)) < len(member_scores)
        return -auc(scores, labels).value


def _row_hashes(x, y) -> np.ndarray:
    """Return one hash per record, of its features and its label."""
    frame = pd.DataFrame(x).reset_index(drop=True)
    frame.columns = pd.RangeIndex(len(frame.columns))
    frame[len(frame.columns)] = np.asarray(y)
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def _take(x, rows: np.ndarray) -> Any:
    if hasattr(x, "iloc"):
        return x.iloc[rows]
    return np.asarray(x)[rows]


def _fit_scores(estimator, x, y: np.ndarray) -> np.ndarray:
    """Return how well the estimator fits each record: log-probability, margin, or minus the squared error."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return -((np.asarray(estimator.predict(x), dtype=np.float64) - y) ** 2)
    if hasattr(estimator, "predict_proba"):
        outputs = np.log(np.maximum(estimator.predict_proba(x), 1e-300))
    elif hasattr(estimator, "decision_function"):
        outputs = np.asarray(estimator.decision_function(x))
        if outputs.ndim == 1:
            outputs = np.column_stack([-outputs, outputs])
    else:
        return (np.asarray(estimator.predict(x)) == y).astype(np.float64)
    # A fold may lack a class: a record of a class that the estimator has never seen has the lowest score.
    positions = np.searchsorted(classes, y)
    known = np.isin(y, classes)
    scores = np.full(len(y), -np.inf)
    scores[known] = outputs[np.flatnonzero(known), positions[known]]
    return np.maximum(scores, np.finfo(np.float64).min)
