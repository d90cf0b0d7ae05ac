"""Leverage: how far a model's answer about a record follows the record's own label.

In least squares it is the diagonal of the hat matrix, ∂ŷ_i/∂y_i, and a record's residual without it in training is its
residual divided by 1 − h_i: exactly so, with a ridge penalty as well. Elsewhere the same derivative is taken where training
ended.
"""

from __future__ import annotations

import numpy as np

# Singular values below this share of the largest are rounding.
ROUNDING = 1e-10
# How many numbers a batch of records may take.
BATCH_NUMBERS = 2**23


def leverage(
    x: np.ndarray,
    *,
    member: np.ndarray | None = None,
    penalty: float = 0.0,
    intercept: bool = True,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """(records,) leverage of each record in a linear model with a ridge penalty, fitted to the members.

    A non-member has the leverage that it would have, were it a member too: 1 where the members leave its direction open.

    Args:
        x: (records, features).
        member: (records,) true for those that the model is fitted to; by default all.
        penalty: added to the diagonal of X'X; not for the intercept.
        intercept: whether the model has one.
        weight: (records,) of squared errors; by default 1.

    Returns:
        (records,) in [0, 1].

    >>> leverage(np.array([[0.0], [1.0], [2.0]])).round(4)
    array([0.8333, 0.3333, 0.8333])
    >>> leverage(np.array([[1.0], [2.0]]), member=np.array([True, False]), penalty=3.0, intercept=False)
    array([0.25, 0.5 ])
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or not len(x):
        raise ValueError(f"Expected x shaped {x.shape} to be (records, features), with one record or more.")
    if not penalty >= 0:
        raise ValueError(f"Expected penalty={penalty} to be 0 or more.")
    member = np.ones(len(x), dtype=bool) if member is None else np.asarray(member)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
    # An intercept without a penalty is the same as features measured from their mean, and a share of each record for the mean.
    total = weight[member].sum()
    if total == 0:  # members that count for nothing, as where a model is certain of all of them, hold nothing
        return np.zeros(len(x))
    middle = weight[member] @ x[member] / total if intercept else np.zeros(x.shape[1])
    rows = np.sqrt(weight)[:, None] * (x - middle)
    found = _inverse_norm(rows, rows[member], penalty) + (weight / total if intercept else 0.0)
    return np.where(member, np.minimum(found, 1.0), _if_added(found))


def softmax_leverage(
    x: np.ndarray, log_p: np.ndarray, *, member: np.ndarray, penalty: float, weight: np.ndarray
) -> np.ndarray:
    """(records,) generalised leverage of each record in a multinomial logistic regression: Σ over classes of ∂p_c/∂y_c.

    The trace of W_i^½ X_i H⁻¹ X_i' W_i^½, with W_i = diag(p) − p p' and H the Hessian of the penalised loss over members; between
    0 and one less than the number of classes. A non-member has what it would have, were it added.

    Args:
        x: (records, features).
        log_p: (records, classes) logarithms of the model's probabilities.
        member: (records,) true for those that the model is fitted to.
        penalty: added to the diagonal of H for each weight; not for intercepts.
        weight: (records,) of losses.
    """
    p, design = np.exp(log_p), np.column_stack([np.ones(len(x)), x])
    (_, classes), width = p.shape, design.shape[1]
    batches = [
        np.arange(start, min(start + size, len(x)))
        for size in [max(1, BATCH_NUMBERS // (classes**2 * width))]
        for start in range(0, len(x), size)
    ]

    def spread(batch: np.ndarray) -> np.ndarray:
        covariance = p[batch, :, None] * np.eye(classes) - p[batch, :, None] * p[batch, None, :]
        return weight[batch, None, None] * covariance

    hessian = np.zeros((classes, width, classes, width))
    for batch in batches:
        own = batch[member[batch]]
        hessian += np.einsum("nab,ni,nj->aibj", spread(own), design[own], design[own], optimize=True)
    flat = hessian.reshape(classes * width, classes * width)
    flat[np.diag_indices_from(flat)] += np.tile(np.append(0.0, np.full(width - 1, penalty)), classes)
    inverse = np.linalg.pinv(flat, rcond=ROUNDING, hermitian=True).reshape(hessian.shape)
    found = np.empty(len(x))
    for batch in batches:
        around = np.einsum("ni,aibj,nj->nab", design[batch], inverse, design[batch], optimize=True)
        # W G and W^½ G W^½ have the same eigenvalues, and these say what adding the record does.
        values = np.maximum(np.linalg.eigvals(spread(batch) @ around).real, 0.0)
        found[batch] = np.where(member[batch], values.sum(axis=1), _if_added(values).sum(axis=1))
    return found


def _inverse_norm(rows: np.ndarray, members: np.ndarray, penalty: float) -> np.ndarray:
    """(records,) x' (M'M + penalty)⁻¹ x; infinite in directions that members leave open and no penalty closes."""
    _, size, directions = np.linalg.svd(np.linalg.qr(members, mode="r"), full_matrices=False)
    there = size > ROUNDING * max(size.max(initial=0.0), 1e-300)
    along = rows @ directions[there].T
    found = (np.square(along) / (np.square(size[there]) + penalty)).sum(axis=1)
    square = np.square(rows).sum(axis=1)
    beside = np.maximum(square - np.square(along).sum(axis=1), 0.0)
    beside[beside <= ROUNDING * square] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return found + np.where(beside > 0, beside / penalty, 0.0)


def _if_added(found: np.ndarray) -> np.ndarray:
    """The leverage of a record that joins those that it was measured by (Sherman & Morrison)."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(found), 1.0, found / (1 + found))
