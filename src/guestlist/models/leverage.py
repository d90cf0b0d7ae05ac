"""Leverage of records in a fitted model: exact for linear, ridge and logistic regression, and for a network's last layer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax

from guestlist._kernels import leverage, softmax_leverage
from guestlist.data import Data, encode
from guestlist.models.trees import input_of_last_step, last_of
from guestlist.models.white_box import layer_activations

# A multinomial model with more parameters is treated as one model of each class against all others.
MAX_HESSIAN_PARAMETERS = 1000


def linear_leverage(model) -> "LeastSquares | Logistic | None":
    """Return the leverages of an estimator, also as the last step of a pipeline; None for other models.

    The result is a function ``(data, member) -> (records,)`` leverages. Its method ``takes(data)`` returns the approximate
    number of multiplications.
    """
    from sklearn import linear_model

    last = last_of(model)
    if getattr(last, "positive", False):
        return None
    if type(last) is linear_model.LinearRegression:
        return LeastSquares(model, last, 0.0)
    if type(last) in (linear_model.Ridge, linear_model.RidgeClassifier, linear_model.RidgeCV):
        alpha = last.alpha_ if hasattr(last, "alpha_") else last.alpha
        if np.ndim(alpha) or getattr(last, "class_weight", None) is not None:
            return None
        return LeastSquares(model, last, float(alpha))
    if type(last) is linear_model.LogisticRegression:
        penalty = _penalty(last)
        if penalty is not None:
            return Logistic(model, last, penalty)
    return None


@dataclass(frozen=True)
class LeastSquares:
    """Leverage in a linear or ridge regression, or a ridge classifier: the diagonal of the hat matrix."""

    model: Any
    last: Any
    penalty: float

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        x = dense(input_of_last_step(self.model, data.x))
        return leverage(x, member=member, penalty=self.penalty, intercept=self.last.fit_intercept)

    def takes(self, data: Data) -> float:
        return _takes(len(data), np.shape(self.last.coef_)[-1], 1)


@dataclass(frozen=True)
class Logistic:
    """Leverage in a logistic regression: in least squares with weights p (1 − p) at the end of the fit."""

    model: Any
    last: Any
    penalty: float

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        last = self.last
        x = dense(input_of_last_step(self.model, data.x))
        weight = self._weight(encode(data.y, last.classes_), member)
        logits = x @ last.coef_.T + last.intercept_
        intercept = last.fit_intercept
        if len(last.classes_) > 2:
            log_p = log_softmax(logits, axis=1)
            return multinomial_leverage(x, log_p, member, weight, penalty=self.penalty, intercept=intercept)
        p_times_1_minus_p = np.exp(log_expit(logits[:, 0]) + log_expit(-logits[:, 0]))
        if last.solver == "liblinear" and intercept:
            # liblinear also penalises the intercept, as a constant feature.
            x = np.column_stack([x, np.full(len(x), float(last.intercept_scaling))])
            intercept = False
        return leverage(x, member=member, penalty=self.penalty, intercept=intercept, weight=weight * p_times_1_minus_p)

    def takes(self, data: Data) -> float:
        return _takes(len(data), self.last.coef_.shape[1], len(self.last.coef_))

    def _weight(self, labels: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Return (records,) the weight of each record's class."""
        from sklearn.utils.class_weight import compute_class_weight

        class_weight = self.last.class_weight
        classes = self.last.classes_
        if class_weight is None:
            return np.ones(len(labels))
        present = np.unique(labels[member])  # a class may have no member here
        weight = np.ones(len(classes))
        if isinstance(class_weight, dict):
            class_weight = {label: value for label, value in class_weight.items() if label in classes[present]}
        weight[present] = compute_class_weight(class_weight, classes=classes[present], y=classes[labels[member]])
        return weight[labels]


def _penalty(model) -> float | None:
    """Return the L2 penalty in units of the summed losses; None for another penalty, or one model per class."""
    if model.solver == "liblinear" and len(model.classes_) > 2:
        return None
    named = getattr(model, "penalty", "deprecated")
    if named not in ("deprecated", "l2", None) or (named == "deprecated" and getattr(model, "l1_ratio", 0)):
        return None
    if named is None or np.isinf(model.C):
        return 0.0
    return 1 / model.C


def dense(x) -> np.ndarray:
    """Return records as a float64 array, also if they are sparse."""
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)


def multinomial_leverage(
    x: np.ndarray, log_p: np.ndarray, member: np.ndarray, weight: np.ndarray, *, penalty: float, intercept: bool
) -> np.ndarray:
    """Return (records,) leverages in a softmax of linear functions; see ``MAX_HESSIAN_PARAMETERS``."""
    if intercept and log_p.shape[1] * (x.shape[1] + 1) <= MAX_HESSIAN_PARAMETERS:
        return softmax_leverage(x, log_p, member=member, penalty=penalty, weight=weight)
    with np.errstate(divide="ignore"):
        log_1_minus_p = np.log(-np.expm1(log_p))
    weights = weight[:, None] * np.exp(log_p + log_1_minus_p)
    return np.sum(
        [leverage(x, member=member, penalty=penalty, intercept=intercept, weight=column) for column in weights.T],
        axis=0,
    )


@dataclass(frozen=True)
class LastLayer:
    """Leverage in a network's last layer: in the softmax, or least squares, of its inputs, without a penalty.

    Training also changes the earlier layers, so this is an approximation.
    """

    module: Any
    predict: Callable[[Any], np.ndarray]
    batch_size: int
    classes: bool

    def __call__(self, data: Data, member: np.ndarray) -> np.ndarray:
        x = self._inputs(data, self.batch_size)
        if not self.classes:
            return leverage(x, member=member)
        log_p = log_softmax(self.predict(data.x), axis=1)
        return multinomial_leverage(x, log_p, member, np.ones(len(x)), penalty=0.0, intercept=True)

    def takes(self, data: Data) -> float:
        record = data.take(np.array([0]))
        return _takes(len(data), self._inputs(record, 1).shape[1], np.size(self.predict(record.x)))

    def _inputs(self, data: Data, batch_size: int) -> np.ndarray:
        """Return (records, width) what the last layer reads: the records themselves if it is the only layer."""
        flat = np.asarray(data.x, dtype=np.float64).reshape(len(data), -1)
        return layer_activations(self.module, data.x, batch_size).get("last_hidden", flat)


def _takes(records: int, width: int, classes: int) -> float:
    parameters = classes * (width + 1)
    if classes > 1 and parameters <= MAX_HESSIAN_PARAMETERS:
        return float(records) * parameters**2
    return 2.0 * classes * records * width**2
