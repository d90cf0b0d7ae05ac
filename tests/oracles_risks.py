"""The privacy risk score as its paper has it: plain loops. Nothing here knows of guestlist."""

from __future__ import annotations

import math

import numpy as np


def modified_entropy(probabilities, labels) -> list[float]:
    """Song & Mittal 2021, eq. 8: -(1 - p_y) log p_y - sum over c != y of p_c log(1 - p_c)."""
    values = []
    for p, y in zip(probabilities, labels, strict=True):
        terms = [
            -(1 - p[c]) * math.log(max(p[c], 1e-30)) if c == y else -p[c] * math.log(max(1 - p[c], 1e-30))
            for c in range(len(p))
        ]
        values.append(sum(terms))
    return values


def risk_scores(values, labels, shadow_values, shadow_labels, shadow_member, *, prior=0.5, every=True) -> list[float]:
    """Song & Mittal 2021, section 5, record by record; ``every=False`` leaves ends that rounding puts outside out."""
    scores = []
    for value, label in zip(values, labels, strict=True):
        shadow = [
            (max(v, 1e-10), bool(m))
            for v, y, m in zip(shadow_values, shadow_labels, shadow_member, strict=True)
            if y == label
        ]
        scores.append(_one(value, shadow, prior, every))
    return scores


def _one(value, shadow, prior, every, bins=5) -> float:
    smallest, largest = min(v for v, _ in shadow), max(v for v, _ in shadow)
    # numpy's logarithm, as a plain use of numpy has it: on some processors its last bit is not that of math.log10.
    edges = list(np.logspace(np.log10(smallest), np.log10(largest), bins + 1))
    counts = {True: [0] * bins, False: [0] * bins}
    for v, member in shadow:
        if edges[0] <= v <= edges[-1] or every:
            counts[member][_bin(edges, v)] += 1
    n = {side: sum(m == side for _, m in shadow) for side in (True, False)}
    index = _bin(edges, value)
    for away in range(bins):
        for b in (index - away, index + away):
            if 0 <= b < bins and counts[True][b] + counts[False][b]:
                inside, outside = prior * counts[True][b] / n[True], (1 - prior) * counts[False][b] / n[False]
                return inside / (inside + outside)
    return math.nan


def _bin(edges, value) -> int:
    if value >= edges[-1]:
        return len(edges) - 2
    if value <= edges[0]:
        return 0
    return max(b for b, edge in enumerate(edges) if edge <= value)


def softmax_gradients(x, y, weight, bias) -> np.ndarray:
    """(records, parameters) gradient of each record's cross entropy: weights row by row, then biases."""
    values = []
    for record, label in zip(x, y, strict=True):
        off = _softmax(weight @ record + bias) - np.eye(len(bias))[label]
        values.append(np.concatenate([np.outer(off, record).ravel(), off]))
    return np.array(values)


def softmax_hessian(x, y, weight, bias) -> np.ndarray:
    """(parameters, parameters) of the sum of the cross entropies, in the same order."""
    classes, width = weight.shape
    total = np.zeros((classes * (width + 1),) * 2)
    for record in x:
        p = _softmax(weight @ record + bias)
        # The derivative of each logit, one row per class.
        slopes = np.hstack([np.kron(np.eye(classes), record), np.eye(classes)])
        total += slopes.T @ (np.diag(p) - np.outer(p, p)) @ slopes
    return total


def _softmax(logits) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
