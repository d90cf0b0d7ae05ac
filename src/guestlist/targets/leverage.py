"""The leverage of records in a fitted model: exact in linear, ridge and logistic regression, and of a network's last layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import log_expit, log_softmax

from guestlist.arrays.leverage import leverage, softmax_leverage
from guestlist.data import Data, encode
from guestlist.targets.trees import reaching_last
from guestlist.targets.white_box import TorchLayers

# Parameters of a multinomial model whose Hessian is formed; with more, each class is taken against all others.
MOST = 1000


class Finder(Protocol):
    """Finds leverages in one model."""

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        """(records,) leverages."""

    def takes(self, data: Data) -> float:
        """About how many multiplications that is."""


def linear_leverage(model) -> Finder | None:
    """How leverages are found in an estimator, alone or last in a pipeline; None if it is not one that we know."""
    from sklearn import linear_model
    from sklearn.pipeline import Pipeline

    last = model[-1] if isinstance(model, Pipeline) else model
    if getattr(last, "positive", False):
        return None
    if type(last) is linear_model.LinearRegression:
        return LeastSquares(model, last, 0.0)
    if type(last) in (linear_model.Ridge, linear_model.RidgeClassifier, linear_model.RidgeCV):
        alpha = last.alpha_ if hasattr(last, "alpha_") else last.alpha
        weighted = getattr(last, "class_weight", None) is not None
        return None if np.ndim(alpha) or weighted else LeastSquares(model, last, float(alpha))
    if type(last) is linear_model.LogisticRegression:
        penalty = _penalty(last)
        return None if penalty is None else Logistic(model, last, penalty)
    return None


@dataclass(frozen=True)
class LeastSquares:
    """Of a linear or ridge regression, or of a ridge classifier: the diagonal of the hat matrix."""

    model: Any
    last: Any
    penalty: float

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        x = _dense(reaching_last(self.model, data.x))
        return leverage(x, member=member, penalty=self.penalty, intercept=self.last.fit_intercept)

    def takes(self, data: Data) -> float:
        return _takes(len(data), np.shape(self.last.coef_)[-1], 1)


@dataclass(frozen=True)
class Logistic:
    """Of a logistic regression: in the least squares with weights p (1 − p) that its fit ended in."""

    model: Any
    last: Any
    penalty: float

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        last, x = self.last, _dense(reaching_last(self.model, data.x))
        weight, logits = self._weight(encode(data.y, last.classes_), member), x @ last.coef_.T + last.intercept_
        if len(last.classes_) == 2:
            own, rest = log_expit(logits[:, 0]), log_expit(-logits[:, 0])
            return self._against_rest(x, own, rest, weight, member)
        intercept = last.fit_intercept
        return of_classes(x, log_softmax(logits, axis=1), member, weight, penalty=self.penalty, intercept=intercept)

    def takes(self, data: Data) -> float:
        return _takes(len(data), self.last.coef_.shape[1], len(self.last.coef_))

    def _against_rest(self, x, own: np.ndarray, rest: np.ndarray, weight: np.ndarray, member: np.ndarray) -> np.ndarray:
        weight = weight * np.exp(own + rest)
        if self.last.solver == "liblinear" and self.last.fit_intercept:
            # It puts the penalty on the intercept too, as on a feature that is always the same.
            x = np.column_stack([x, np.full(len(x), float(self.last.intercept_scaling))])
            return leverage(x, member=member, penalty=self.penalty, intercept=False, weight=weight)
        return leverage(x, member=member, penalty=self.penalty, intercept=self.last.fit_intercept, weight=weight)

    def _weight(self, labels: np.ndarray, member: np.ndarray) -> np.ndarray:
        """(records,) weights of classes."""
        from sklearn.utils.class_weight import compute_class_weight

        given, classes = self.last.class_weight, self.last.classes_
        if given is None:
            return np.ones(len(labels))
        there = np.unique(labels[member])  # a class may have no member here
        weight = np.ones(len(classes))
        own = {c: w for c, w in given.items() if c in classes[there]} if isinstance(given, dict) else given
        weight[there] = compute_class_weight(own, classes=classes[there], y=classes[labels[member]])
        return weight[labels]


def _penalty(model) -> float | None:
    """Of the squared weights, in units of the summed losses; None where it is of another kind, or models differ by class."""
    if model.solver == "liblinear" and len(model.classes_) > 2:
        return None
    named = getattr(model, "penalty", "deprecated")
    if named not in ("deprecated", "l2", None) or (named == "deprecated" and getattr(model, "l1_ratio", 0)):
        return None
    return 0.0 if named is None or np.isinf(model.C) else 1 / model.C


def _dense(x) -> np.ndarray:
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)


def of_classes(
    x: np.ndarray, log_p: np.ndarray, member: np.ndarray, weight: np.ndarray, *, penalty: float, intercept: bool
) -> np.ndarray:
    """(records,) leverage in a softmax of linear functions; each class against the rest where there are too many parameters."""
    if intercept and log_p.shape[1] * (x.shape[1] + 1) <= MOST:
        return softmax_leverage(x, log_p, member=member, penalty=penalty, weight=weight)
    with np.errstate(divide="ignore"):
        rest = np.log(-np.expm1(log_p))
    weights = weight[:, None] * np.exp(log_p + rest)
    each = [leverage(x, member=member, penalty=penalty, intercept=intercept, weight=one) for one in weights.T]
    return np.sum(each, axis=0)


@dataclass(frozen=True)
class LastLayer:
    """Of a network: in the softmax, or the least squares, of what its last layer gets, without a penalty.

    Training went on before that layer too, so that this is no exact shift.
    """

    module: Any
    predict: Callable[[Any], np.ndarray]
    batch_size: int
    classes: bool

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        flat = np.asarray(data.x, dtype=np.float64).reshape(len(data), -1)
        x = TorchLayers(self.module, self.batch_size)(data.x).get("last_hidden", flat)
        if not self.classes:
            return leverage(x, member=member)
        log_p = log_softmax(self.predict(data.x), axis=1)
        return of_classes(x, log_p, member, np.ones(len(x)), penalty=0.0, intercept=True)

    def takes(self, data: Data) -> float:
        one = data.take(np.array([0])).x
        hidden = TorchLayers(self.module, 1)(one).get("last_hidden")
        width = int(np.prod(np.shape(one)[1:])) if hidden is None else hidden.shape[1]
        return _takes(len(data), width, np.size(self.predict(one)))


def _takes(records: int, width: int, classes: int) -> float:
    parameters = classes * (width + 1)
    if classes > 1 and parameters <= MOST:
        return float(records) * parameters**2
    return 2.0 * classes * records * width**2
