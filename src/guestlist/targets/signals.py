"""How a signal is computed: functions of what a model answers and of the true class, or of the true value."""

from __future__ import annotations

from collections.abc import Callable

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
    return (np.argmax(logits, axis=1) == labels).astype(np.float64)


def p_y(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of the true class."""
    return np.exp(-loss(logits, labels))


def entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Entropy of the answer; the labels play no part."""
    return _entropy(softmax(logits, axis=1))


def mentr(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Modified entropy, small only where the model is sure *and* right (Song & Mittal 2021, eq. 8)."""
    return _mentr(softmax(logits, axis=1), labels)


SIGNALS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "loss": loss,
    "margin": margin,
    "correct": correct,
    "entropy": entropy,
    "mentr": mentr,
    "p_y": p_y,
}


def signals_of_logits(logits: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Every row of ``SIGNALS`` for one model's logits: name to (records,)."""
    logits = np.asarray(logits, dtype=np.float64)
    return {name: function(logits, labels) for name, function in SIGNALS.items()}


def signals_of_probabilities(
    probabilities: np.ndarray, labels: np.ndarray, smallest: float = SMALLEST_PROBABILITY
) -> dict[str, np.ndarray]:
    """The same signals where a model tells only probabilities.

    Args:
        smallest: what an answer of 0 stands for in logarithms; see :func:`smallest_answer`.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    rows = np.arange(len(labels))
    true, rest = p[rows, labels], _rest(p)[rows, labels]
    log_true = np.log(np.maximum(true, smallest))
    return {
        "loss": -log_true,
        "margin": log_true - np.log(np.maximum(rest, smallest)),
        "correct": correct(p, labels),
        "entropy": _entropy(p),
        "mentr": _mentr(p, labels),
        "p_y": true,
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
    positive = probabilities[probabilities > 0]
    return float(np.clip(positive.min() / 2, SMALLEST_PROBABILITY, 0.1)) if positive.size else 0.1


def residual(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """True value minus the predicted one."""
    return truth - values


def squared_loss(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Squared residual."""
    return np.square(truth - values)


def value_margin(values: np.ndarray, truth: np.ndarray, floor: float) -> np.ndarray:
    """How well a value is predicted, as a number that rises with membership: TODO."""
    return -np.log(np.square(truth - values) + floor)


def residual_floor(residuals: np.ndarray) -> float:
    """TODO."""
    return float(max(np.median(np.square(residuals)), np.finfo(np.float64).tiny))


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


def _entropy(p: np.ndarray) -> np.ndarray:
    return -(p * _log(p)).sum(axis=1)


def _mentr(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    rows, rest = np.arange(len(labels)), _rest(p)
    terms = -p * _log(rest)
    terms[rows, labels] = -rest[rows, labels] * _log(p[rows, labels])
    return terms.sum(axis=1)


def _true(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[np.arange(len(labels)), labels]


def _log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def _rest(p: np.ndarray) -> np.ndarray:
    """1 - p column by column, as a sum of the other columns so that it does not cancel where p is near 1."""
    total = p.sum(axis=1, keepdims=True)
    rest = total - p
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    others = p.copy()
    others[rows, top] = 0.0
    rest[rows, top] = others.sum(axis=1)
    return rest
