"""Scales of outputs: probabilities, logits, labels, or predicted numbers.

Outputs are (records, columns): a column per class, or one for a predicted number. They are compared with the *labels* of a
scale: (records,) positions of the true classes, or true values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from guestlist._kernels import SMALLEST_PROBABILITY
from guestlist._util import choice
from guestlist.errors import InputError


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cross-entropy of the true class, computed from the margin so that no digits are lost.

    >>> cross_entropy(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([0, 1]))
    array([6.93147181e-01, 1.00000000e+03])
    """
    return np.logaddexp(0, -margin(logits, labels))


def margin(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the log-odds of the true class against all others (Carlini et al. 2022, section V-A).

    Args:
        logits: (records, classes).
        labels: (records,) true class of each record.

    Returns:
        (records,) margins, larger if the model is confident and correct.
    """
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true_column(logits, labels) - logsumexp(others, axis=1)


def hinge(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the logit of the true class minus the largest other one."""
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true_column(logits, labels) - others.max(axis=1)


def correct(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return 1.0 if the largest logit (the first of ties) is the true class, else 0.0."""
    return (_argmax(logits) == labels).astype(np.float64)


# Signals of a classifier, in the order in which they are computed, with their descriptions.
SIGNALS = {
    "loss": "Cross-entropy of the true class.",
    "margin": "Log-odds of the true class against all others (Carlini et al. 2022, section V-A).",
    "correct": "1.0 if the largest output (the first of ties) is the true class, else 0.0.",
    "entropy": "Entropy of the output.",
    "mentr": "Modified entropy, small only for confident correct outputs (Song & Mittal 2021, eq. 8).",
    "p_y": "Probability of the true class.",
}


CELLS_AT_ONCE = 2**16  # a block stays in the cache, and limits memory with many classes


def row_blocks(outputs: np.ndarray) -> list[slice]:
    """Return blocks of rows that fit in memory; computations on a row do not depend on other rows.

    Args:
        outputs: (records, columns) outputs.

    Returns:
        Slices of rows, in order.
    """
    step = max(1, CELLS_AT_ONCE // max(outputs.shape[1], 1))
    return [slice(start, start + step) for start in range(0, max(len(outputs), 1), step)]


def in_blocks(
    signals: Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]], outputs: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Compute signals block by block; return name to (records,)."""
    joined: dict[str, np.ndarray] = {}
    for block in row_blocks(outputs):
        for name, values in signals(outputs[block], labels[block]).items():
            joined.setdefault(name, np.empty(len(outputs)))[block] = values
    return joined


def signals_of_logits(logits: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Compute every signal of ``SIGNALS`` for one model's logits.

    Args:
        logits: (records, classes) outputs before the softmax.
        labels: (records,) true class of each record, as an index.

    Returns:
        Name to (records,) values.

    Examples:
        >>> gl.models.signals_of_logits(np.array([[1.0, 0.0]]), np.array([0]))["margin"].tolist()
        [1.0]
    """
    logits = np.asarray(logits, dtype=np.float64)
    margins = margin(logits, labels)
    losses = np.logaddexp(0, -margins)
    shares = _probability_terms(softmax(logits, axis=1), labels)
    return {
        "loss": losses,
        "margin": margins,
        "correct": correct(logits, labels),
        "entropy": shares.entropy,
        "mentr": shares.mentr,
        "p_y": np.exp(-losses),
    }


def signals_of_probabilities(
    probabilities: np.ndarray, labels: np.ndarray, smallest: float = SMALLEST_PROBABILITY
) -> dict[str, np.ndarray]:
    """Compute every signal of ``SIGNALS`` for a model that outputs only probabilities.

    Args:
        probabilities: (records, classes) outputs.
        labels: (records,) true class of each record, as an index.
        smallest: Probability that replaces an output of 0 in logarithms; see :func:`zero_replacement`.

    Returns:
        Name to (records,) values.

    Examples:
        >>> gl.models.signals_of_probabilities(np.array([[0.75, 0.25]]), np.array([0]))["loss"].round(3).tolist()
        [0.288]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    shares = _probability_terms(p, labels)
    floor = np.log(smallest)
    log_true = np.maximum(shares.log_true, floor)
    return {
        "loss": -log_true,
        "margin": log_true - np.maximum(shares.log_rest, floor),
        "correct": correct(p, labels),
        "entropy": shares.entropy,
        "mentr": shares.mentr,
        "p_y": shares.true,
    }


def zero_replacement(probabilities: np.ndarray) -> float:
    """Return the probability that replaces an output of 0: half of the smallest positive one, at most 0.1.

    A forest of 100 trees outputs multiples of 0.01, and its 0 means "less than a step": a value below a detection limit, which
    is usually replaced by half the limit. Taken literally (1e-30, a margin of 69), such zeros are outliers that dominate
    every Gaussian fit. Models with a smooth softmax have hardly any exact zeros, and are not affected.

    >>> zero_replacement(np.array([[0.99, 0.01], [1.0, 0.0]]))
    0.005
    """
    smallest = np.min(probabilities, where=probabilities > 0, initial=np.inf)
    return float(np.clip(smallest / 2, SMALLEST_PROBABILITY, 0.1))


def value_margin(values: np.ndarray, truth: np.ndarray, floor: float) -> np.ndarray:
    """Return minus the logarithm of the squared residual plus a floor: larger for better predictions.

    It replaces the margin of a classifier in every attack that compares models on one record, so it should rise with
    membership and be nearly normal over models. -|residual| has a sharp end at 0 and a long tail, and the logarithm alone is
    unbounded; this statistic is flat below the floor and compresses large residuals. Results on diabetes and Friedman's first
    problem with forests, boosting, networks and ridge regression (six targets each, 64 and 16 references; means of AUC / TPR at
    1 % FPR; ``python -m benchmarks.regression``):

    ======================  ============  ============  ============  ============  ============
    statistic, r residual   R, 64         LiRA, 64      R, 16         LiRA, 16      offline, 16
    ======================  ============  ============  ============  ============  ============
    -r^2                    .783 / .135   .813 / .163   .770 / .107   .801 / .160   .728 / .079
    -abs(r)                 .804 / .167   .818 / .194   .788 / .126   .809 / .180   .783 / .142
    -log(r^2 + s^2 / 100)   .805 / .177   .816 / .189   .791 / .129   .795 / .095   .793 / .085
    -log(r^2 + s^2 / 10)    .809 / .182   .817 / .196   .794 / .139   .805 / .128   .802 / .122
    **-log(r^2 + s^2)**     .809 / .180   .817 / .196   .793 / .140   .809 / .173   .802 / .168
    -log(r^2 + 10 s^2)      .799 / .159   .815 / .183   .783 / .122   .807 / .172   .772 / .140
    ======================  ============  ============  ============  ============  ============

    Args:
        values, truth: (records,) predicted and true values.
        floor: the s^2 above, see :func:`residual_floor`.
    """
    return -np.log(np.square(truth - values) + floor)


def residual_floor(residuals: np.ndarray) -> float:
    """Return the median of the target's squared residuals: a residual below it counts as none.

    Rounding errors are excluded: a model that has memorised its members has many of them, and they do not reflect its usual
    error. The floor is estimated from the target's residuals of all records, and is the same for all models.

    >>> residual_floor(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]))
    4.0
    """
    squares = np.square(residuals)
    above = squares[squares > ROUNDING * squares.max()]
    if not above.size:
        return 1.0
    return float(np.median(above))


# Squared residuals below this share of the largest are rounding errors.
ROUNDING = 1e-12

# Signals of a regression model, with their descriptions.
VALUE_SIGNALS = {
    "residual": "True value minus the predicted one.",
    "loss": "Squared residual.",
    "margin": "Minus the logarithm of the squared residual plus a floor: larger for better predictions.",
}


class _ProbabilityTerms(NamedTuple):
    """(records,) probability of the true class, its logarithm, that of its complement, and both entropies."""

    true: np.ndarray
    log_true: np.ndarray
    log_rest: np.ndarray
    entropy: np.ndarray
    mentr: np.ndarray


def _probability_terms(p: np.ndarray, labels: np.ndarray) -> _ProbabilityTerms:
    """Compute the terms with each logarithm taken once, since logarithms dominate the run time."""
    others = _complement(p)
    log_p = _log(p)
    log_rest = _log(others)
    rows = np.arange(len(labels))
    terms = -p * log_rest
    terms[rows, labels] = -others[rows, labels] * log_p[rows, labels]
    return _ProbabilityTerms(
        p[rows, labels], log_p[rows, labels], log_rest[rows, labels], -row_sums(p * log_p), terms.sum(axis=1)
    )


def _true_column(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape[1] == 2:
        return np.where(labels == 1, values[:, 1], values[:, 0])
    return values[np.arange(len(labels)), labels]


def row_sums(values: np.ndarray) -> np.ndarray:
    """Return (rows,) sums; adding two columns is several times as fast, with identical results."""
    if values.shape[1] == 2:
        return values[:, 0] + values[:, 1]
    return values.sum(axis=1)


def _argmax(values: np.ndarray) -> np.ndarray:
    """Return (rows,) the position of the largest value, the first of ties."""
    if values.shape[1] == 2:
        return (values[:, 1] > values[:, 0]).astype(np.intp)
    return np.argmax(values, axis=1)


def _log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def _complement(p: np.ndarray) -> np.ndarray:
    """Return 1 - p for every column, as a sum of the other columns to avoid cancellation if p is near 1."""
    complement = row_sums(p)[:, None] - p
    rows = np.arange(len(p))
    top = _argmax(p)
    others = p.copy()
    others[rows, top] = 0.0
    complement[rows, top] = others.sum(axis=1)
    return complement


# Maximum deviation of a row of probabilities from a sum of 1; float32 softmax over many classes stays below it.
SUM_TOLERANCE = 1e-3
ENOUGH = 10  # logits of this many records do not all sum to 1 by chance


class Scale:
    """Interpretation of outputs; each method has the default that fits most scales."""

    name: ClassVar[str]
    signal_names: ClassVar[tuple[str, ...]] = tuple(SIGNALS)  # keys of ``signals``
    has_classes: ClassVar[bool] = True
    hides_logits: ClassVar[bool] = False  # True if the model computes more than it outputs

    def check(self, outputs: np.ndarray) -> None:
        """Raise if outputs cannot be on this scale."""
        if np.isnan(outputs).any():
            broken = np.isnan(outputs).any(axis=1)
            raise InputError(
                f"The model outputs NaN for {broken.sum()} of {len(outputs)} records, first in row {broken.argmax()}. Check "
                "the model and these records."
            )

    def resolved(self, outputs: np.ndarray, labels: np.ndarray) -> Self:
        """Return the scale with parameters estimated from the target's outputs, for all models."""
        return self

    def signals(self, outputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """Return the name and (records,) values of every signal."""
        raise NotImplementedError

    def hinge(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return (records,) the confidence in the label minus that in the next best class."""
        raise NotImplementedError

    def soft(self, outputs: np.ndarray) -> np.ndarray:
        """Return soft labels for distillation from these outputs."""
        return outputs

    def log_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Return (records, classes) logarithms of probabilities; raise if there are no classes.

        Single precision suffices to learn from, and halves the size on disk.
        """
        raise NotImplementedError

    def correct(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return (records,) 1.0 if the prediction is the true class; raise if there are no classes."""
        return correct(outputs, labels)

    def saturated(self, outputs: np.ndarray) -> float:
        """Return the share of records whose output is at the end of the scale."""
        return 0.0


@dataclass(frozen=True)
class Probabilities(Scale):
    """Rows that sum to 1.

    Args:
        smallest: Probability that replaces an output of 0; see :func:`guestlist.models.scales.zero_replacement`.
    """

    smallest: float = SMALLEST_PROBABILITY

    name: ClassVar[str] = "probabilities"
    hides_logits: ClassVar[bool] = True

    def check(self, outputs: np.ndarray) -> None:
        super().check(outputs)
        away = np.abs(row_sums(outputs) - 1) > SUM_TOLERANCE
        if outputs.size and not away.any() and outputs.min() >= 0 and outputs.max() <= 1 + SUM_TOLERANCE:
            return  # a check of each row takes ten times as long
        wrong = away | ((outputs < 0) | (outputs > 1 + SUM_TOLERANCE)).any(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            hint = "If they are logits, pass scale='logits' (--scale logits)."
            if outputs.min() >= 0 and np.abs(row_sums(outputs) - 100).max() <= 100 * SUM_TOLERANCE:
                hint = "They look like percentages. Divide them by 100."
            raise InputError(
                f"{wrong.sum()} of {len(outputs)} outputs are not probabilities (row {row} holds "
                f"{np.array2string(outputs[row], precision=3, threshold=6)}, sum {outputs[row].sum():.4g}). {hint}"
            )

    def resolved(self, outputs: np.ndarray, labels: np.ndarray) -> "Probabilities":
        return replace(self, smallest=zero_replacement(outputs))

    def signals(self, outputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return in_blocks(partial(signals_of_probabilities, smallest=self.smallest), outputs, labels)

    def hinge(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return hinge(np.log(np.maximum(outputs, self.smallest)), labels)

    def soft(self, outputs: np.ndarray) -> np.ndarray:
        return outputs / outputs.sum(axis=1, keepdims=True)

    def log_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        result = np.empty(outputs.shape, dtype=np.float32)
        for block in row_blocks(outputs):
            result[block] = np.log(np.maximum(outputs[block], self.smallest))
        return result

    def saturated(self, outputs: np.ndarray) -> float:
        return float((outputs.max(axis=1) >= 1.0).mean())


@dataclass(frozen=True)
class Logits(Scale):
    """Logarithms of probabilities, up to a constant per record. They never saturate."""

    name: ClassVar[str] = "logits"

    def check(self, outputs: np.ndarray) -> None:
        super().check(outputs)
        if np.isinf(outputs).any():
            raise InputError("The model outputs infinite logits. If these are logarithms of probabilities, clip them.")
        if len(outputs) >= ENOUGH and (outputs >= 0).all() and np.abs(outputs.sum(axis=1) - 1).max() < SUM_TOLERANCE:
            raise InputError(
                f"All {len(outputs)} outputs sum to 1 and none is negative: they are probabilities, not logits. Remove "
                "the softmax from the module (a log_softmax may stay). For a function or predictions, pass "
                "scale='probabilities' (--scale probabilities)."
            )

    def signals(self, outputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return in_blocks(signals_of_logits, outputs, labels)

    def hinge(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return hinge(outputs, labels)

    def soft(self, outputs: np.ndarray) -> np.ndarray:
        return softmax(outputs, axis=1)

    def log_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        result = np.empty(outputs.shape, dtype=np.float32)
        for block in row_blocks(outputs):
            result[block] = log_softmax(outputs[block], axis=1)
        return result


@dataclass(frozen=True)
class Labels(Scale):
    """Predicted class only: 1 for it and 0 for the others."""

    name: ClassVar[str] = "labels"
    signal_names: ClassVar[tuple[str, ...]] = ("correct",)
    hides_logits: ClassVar[bool] = True

    def check(self, outputs: np.ndarray) -> None:
        wrong = ~(((outputs == 0) | (outputs == 1)).all(axis=1) & (outputs.sum(axis=1) == 1))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"{wrong.sum()} of {len(outputs)} outputs are not exactly one class (row {row} holds "
                f"{np.array2string(outputs[row], precision=3, threshold=6)}). If they are probabilities, pass "
                "scale='probabilities'."
            )

    def signals(self, outputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return {"correct": correct(outputs, labels)}

    def hinge(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        raise InputError(
            "The model predicts only labels, but probabilities or logits are needed here. Audit a model that outputs them."
        )

    def log_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        return Probabilities(zero_replacement(outputs)).log_probabilities(outputs)


@dataclass(frozen=True)
class Values(Scale):
    """Predicted numbers: regression.

    Args:
        floor: Floor of the squared residual in the margin; see :func:`guestlist.models.scales.value_margin`.
    """

    floor: float = 1.0

    name: ClassVar[str] = "values"
    signal_names: ClassVar[tuple[str, ...]] = tuple(VALUE_SIGNALS)
    has_classes: ClassVar[bool] = False

    def check(self, outputs: np.ndarray) -> None:
        super().check(outputs)
        if np.isinf(outputs).any():
            raise InputError("The model predicts infinite values. Check the model and its records.")

    def resolved(self, outputs: np.ndarray, labels: np.ndarray) -> "Values":
        return replace(self, floor=residual_floor(labels - outputs[:, 0]))

    def signals(self, outputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "residual": labels - outputs[:, 0],
            "loss": np.square(labels - outputs[:, 0]),
            "margin": value_margin(outputs[:, 0], labels, self.floor),
        }

    def hinge(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.signals(outputs, labels)["margin"]

    def log_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        raise InputError("The model predicts values, which have no probabilities. Use a classifier.")

    def correct(self, outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        raise InputError("The model predicts values, which are neither correct nor wrong. Use a classifier.")


SCALES: dict[str, type[Scale]] = {scale.name: scale for scale in (Probabilities, Logits, Values, Labels)}


def as_scale(scale: str | Scale) -> Scale:
    """Return the scale of a name, or the scale itself.

    Args:
        scale: ``probabilities``, ``logits``, ``values`` or ``labels``; or a scale.

    Returns:
        The scale.

    Raises:
        ValueError: If it is something else.
    """
    if isinstance(scale, Scale):
        return scale
    choice("scale", scale, SCALES)
    return SCALES[scale]()
