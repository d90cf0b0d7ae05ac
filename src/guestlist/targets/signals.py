"""How a signal is computed: functions of what a model answers and of the true class, or of the true value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from guestlist.arrays.probability import SMALLEST_PROBABILITY


def loss(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Cross-entropy of the true class, from the margin: neither large nor tiny losses run out of digits.

    >>> loss(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([0, 1]))
    array([6.93147181e-01, 1.00000000e+03])
    """
    return np.logaddexp(0, -margin(logits, labels))


def margin(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log-odds of the true class against all others (Carlini et al. 2022, section V-A).

    Args:
        logits: (records, classes).
        labels: (records,) true class of each record.

    Returns:
        (records,) margins, larger where the model is surer and right.
    """
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true(logits, labels) - logsumexp(others, axis=1)


def hinge(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Logit of the true class minus the largest other one."""
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true(logits, labels) - others.max(axis=1)


def correct(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """1.0 where the largest logit (the lowest class among equals) is the true class, else 0.0."""
    return (_top(logits) == labels).astype(np.float64)


def p_y(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of the true class."""
    return np.exp(-loss(logits, labels))


def entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Entropy of the answer; the labels play no part."""
    return _shares(softmax(logits, axis=1), labels).entropy


def mentr(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Modified entropy, small only where the model is sure *and* right (Song & Mittal 2021, eq. 8)."""
    return _shares(softmax(logits, axis=1), labels).mentr


SIGNALS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "loss": loss,
    "margin": margin,
    "correct": correct,
    "entropy": entropy,
    "mentr": mentr,
    "p_y": p_y,
}


CELLS_AT_ONCE = 2**16  # answers that are worked on together stay in the cache, and with many classes take no gigabytes


def blocks_of(answers: np.ndarray) -> list[slice]:
    """Rows to work on together; what is computed of each row does not depend on the others."""
    step = max(1, CELLS_AT_ONCE // max(answers.shape[1], 1))
    return [slice(start, start + step) for start in range(0, max(len(answers), 1), step)]


def in_blocks(
    signals: Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]], answers: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Name to (records,) of signals that are computed block by block."""
    found: dict[str, np.ndarray] = {}
    for block in blocks_of(answers):
        for name, values in signals(answers[block], labels[block]).items():
            if len(values) == len(answers):
                found[name] = values
            else:
                found.setdefault(name, np.empty(len(answers)))[block] = values
    return found


def signals_of_logits(logits: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Every row of ``SIGNALS`` for one model's logits: name to (records,)."""
    logits = np.asarray(logits, dtype=np.float64)
    # As each of them alone, but with what they share computed once.
    own_margin, shares = margin(logits, labels), _shares(softmax(logits, axis=1), labels)
    own_loss = np.logaddexp(0, -own_margin)
    return {
        "loss": own_loss,
        "margin": own_margin,
        "correct": correct(logits, labels),
        "entropy": shares.entropy,
        "mentr": shares.mentr,
        "p_y": np.exp(-own_loss),
    }


def signals_of_probabilities(
    probabilities: np.ndarray, labels: np.ndarray, smallest: float = SMALLEST_PROBABILITY
) -> dict[str, np.ndarray]:
    """The same signals where a model tells only probabilities.

    Args:
        smallest: what an answer of 0 stands for in logarithms; see :func:`smallest_answer`.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    shares, floor = _shares(p, labels), np.log(smallest)
    log_true = np.maximum(shares.log_true, floor)
    return {
        "loss": -log_true,
        "margin": log_true - np.maximum(shares.log_rest, floor),
        "correct": correct(p, labels),
        "entropy": shares.entropy,
        "mentr": shares.mentr,
        "p_y": shares.true,
    }


def smallest_answer(probabilities: np.ndarray) -> float:
    """The probability that an answer of exactly 0 stands for: half of the smallest positive one, at most 0.1.

    A forest of 100 trees answers in steps of 0.01, and its "0" only says "less than a step": a value below a
    detection limit, for which half the limit is the usual stand-in. Taken literally (1e-30, a margin of 69)
    such zeros are outliers that drown every Gaussian fit. Models with a smooth softmax have hardly any exact
    zeros, and then this changes nothing.

    >>> smallest_answer(np.array([[0.99, 0.01], [1.0, 0.0]]))
    0.005
    """
    smallest = np.min(probabilities, where=probabilities > 0, initial=np.inf)
    return float(np.clip(smallest / 2, SMALLEST_PROBABILITY, 0.1))


def residual(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """True value minus the predicted one."""
    return truth - values


def squared_loss(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Squared residual."""
    return np.square(truth - values)


def value_margin(values: np.ndarray, truth: np.ndarray, floor: float) -> np.ndarray:
    """Minus the logarithm of the squared residual, on top of a floor: larger where the value is predicted better.

    It stands for the margin of a classifier in every attack that compares models on one record, and so should rise with
    membership and be near normal over models. Where -|residual| has a sharp end at 0 and a long tail, and a bare logarithm
    runs off to infinity, this is level below the floor and compresses what is far above it. Tried on diabetes and Friedman's
    first problem with forests, boosting, networks and ridge regression (six targets each, 64 and 16 references; means of
    AUC / TPR at 1 % FPR; ``python -m benchmarks.regression``):

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
        values, truth: (records,) what the model predicts, and what is true.
        floor: the s^2 above, see :func:`residual_floor`.
    """
    return -np.log(np.square(truth - values) + floor)


def residual_floor(residuals: np.ndarray) -> float:
    """The median of the target's squared residuals: a residual below it is as good as none.

    Those that are mere rounding are left out: a model that has learnt its members by heart has many of them, and they say
    nothing of how far off it usually is. Learnt from the target, over all records alike, and the same for all models.

    >>> residual_floor(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]))
    4.0
    """
    squares = np.square(residuals)
    above = squares[squares > ROUNDING * squares.max()]
    return float(np.median(above)) if above.size else 1.0


# Squared residuals that are smaller than this share of the largest are rounding.
ROUNDING = 1e-12

VALUE_SIGNALS: dict[str, Callable[..., np.ndarray]] = {
    "residual": residual,
    "loss": squared_loss,
    "margin": value_margin,
}


def signals_of_values(values: np.ndarray, truth: np.ndarray, floor: float) -> dict[str, np.ndarray]:
    """The signals of a regression model: name to (records,).

    Args:
        values, truth: (records,) what the model predicts, and what is true.
        floor: see :func:`residual_floor`.
    """
    return {
        "residual": residual(values, truth),
        "loss": squared_loss(values, truth),
        "margin": value_margin(values, truth, floor),
    }


class _Shares(NamedTuple):
    """(records,) of probabilities: that of the true class, its logarithm and that of the rest, and both entropies."""

    true: np.ndarray
    log_true: np.ndarray
    log_rest: np.ndarray
    entropy: np.ndarray
    mentr: np.ndarray


def _shares(p: np.ndarray, labels: np.ndarray) -> _Shares:
    """Most of the time goes into logarithms: each is taken once."""
    if p.shape[1] == 2:
        return _shares_of_two(p, labels)
    rest = _rest(p)
    log_p, log_rest, rows = _log(p), _log(rest), np.arange(len(labels))
    terms = -p * log_rest
    terms[rows, labels] = -rest[rows, labels] * log_p[rows, labels]
    return _Shares(
        p[rows, labels], log_p[rows, labels], log_rest[rows, labels], -row_sums(p * log_p), terms.sum(axis=1)
    )


def _shares_of_two(p: np.ndarray, labels: np.ndarray) -> _Shares:
    """The same of two classes, to the same bits: what is not the one is the other, and three logarithms do."""
    second = labels == 1
    true, other = np.where(second, p[:, 1], p[:, 0]), np.where(second, p[:, 0], p[:, 1])
    on_top, total = _top(p) == labels, true + other
    log_true, log_other = _log(true), _log(other)
    # 1 - p of the class on top is the other class; of the other class it is this.
    rest = total - np.where(on_top, other, true)
    log_above = _log(rest)
    own = -np.where(on_top, other, rest) * log_true
    return _Shares(
        true,
        log_true,
        np.where(on_top, log_other, log_above),
        -(true * log_true + other * log_other),
        own - other * np.where(on_top, log_above, log_true),
    )


def _true(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape[1] == 2:
        return np.where(labels == 1, values[:, 1], values[:, 0])
    return values[np.arange(len(labels)), labels]


def row_sums(values: np.ndarray) -> np.ndarray:
    """(rows,) sums; of two columns as a sum of these, which is several times as fast and has the same bits. So below."""
    return values[:, 0] + values[:, 1] if values.shape[1] == 2 else values.sum(axis=1)


def _top(values: np.ndarray) -> np.ndarray:
    """(rows,) place of the largest value, the first among equals."""
    return (values[:, 1] > values[:, 0]).astype(np.intp) if values.shape[1] == 2 else np.argmax(values, axis=1)


def _log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def _rest(p: np.ndarray) -> np.ndarray:
    """1 - p column by column, as a sum of the other columns so that it does not cancel where p is near 1."""
    rest = row_sums(p)[:, None] - p
    rows, top = np.arange(len(p)), _top(p)
    others = p.copy()
    others[rows, top] = 0.0
    rest[rows, top] = others.sum(axis=1)
    return rest
