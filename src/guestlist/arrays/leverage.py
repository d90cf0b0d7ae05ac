"""Leverage: how strongly a model's prediction for a record follows the record's own label.

In least squares it is the diagonal of the hat matrix, ∂ŷ_i/∂y_i, and a record's residual without it in training is its
residual divided by 1 − h_i: this is exact, also with a ridge penalty. For other models the same derivative is taken at the
end of training.
"""

from __future__ import annotations

import numpy as np

# Singular values below this share of the largest are rounding.
ROUNDING = 1e-10
# Largest number of array entries for a batch of records.
BATCH_NUMBERS = 2**23


def leverage(
    x: np.ndarray,
    *,
    member: np.ndarray | None = None,
    penalty: float = 0.0,
    intercept: bool = True,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Leverage of each record in a linear model with a ridge penalty, fitted to the members.

    A non-member gets the leverage it would have as an additional member: 1 where no member constrains its direction.

    Args:
        x: (records, features).
        member: (records,) True for records that the model is fitted to; by default all.
        penalty: Added to the diagonal of X'X, except for the intercept.
        intercept: Whether the model has an intercept.
        weight: (records,) Weights of squared errors; by default 1.

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
    # An unpenalised intercept is equivalent to centred features plus the share of each record in the mean.
    total = weight[member].sum()
    if total == 0:  # All weights are 0 if a model is certain of every member.
        return np.zeros(len(x))
    centre = weight[member] @ x[member] / total if intercept else np.zeros(x.shape[1])
    rows = np.sqrt(weight)[:, None] * (x - centre)
    values = _inverse_norm(rows, rows[member], penalty) + (weight / total if intercept else 0.0)
    return np.where(member, np.minimum(values, 1.0), _if_added(values))


def softmax_leverage(
    x: np.ndarray, log_p: np.ndarray, *, member: np.ndarray, penalty: float, weight: np.ndarray
) -> np.ndarray:
    """Generalised leverage of each record in a multinomial logistic regression: Σ over classes of ∂p_c/∂y_c.

    It is the trace of W_i^½ X_i H⁻¹ X_i' W_i^½, with W_i = diag(p) − p p' and H the Hessian of the penalised loss over members.
    It is between 0 and the number of classes minus 1. A non-member gets the value it would have as an additional member.

    Args:
        x: (records, features).
        log_p: (records, classes) Logarithms of the model's probabilities.
        member: (records,) True for records that the model is fitted to.
        penalty: Added to the diagonal of H, except for intercepts.
        weight: (records,) Weights of losses.
    """
    p = np.exp(log_p)
    design = np.column_stack([np.ones(len(x)), x])
    classes = p.shape[1]
    width = design.shape[1]
    size = max(1, BATCH_NUMBERS // (classes**2 * width))
    batches = [np.arange(start, min(start + size, len(x))) for start in range(0, len(x), size)]

    def weighted_covariance(batch: np.ndarray) -> np.ndarray:
        covariance = p[batch, :, None] * np.eye(classes) - p[batch, :, None] * p[batch, None, :]
        return weight[batch, None, None] * covariance

    hessian = np.zeros((classes, width, classes, width))
    for batch in batches:
        rows = batch[member[batch]]
        hessian += np.einsum("nab,ni,nj->aibj", weighted_covariance(rows), design[rows], design[rows], optimize=True)
    flat = hessian.reshape(classes * width, classes * width)
    flat[np.diag_indices_from(flat)] += np.tile(np.append(0.0, np.full(width - 1, penalty)), classes)
    inverse = np.linalg.pinv(flat, rcond=ROUNDING, hermitian=True).reshape(hessian.shape)
    leverages = np.empty(len(x))
    for batch in batches:
        quadratic = np.einsum("ni,aibj,nj->nab", design[batch], inverse, design[batch], optimize=True)
        # W G and W^½ G W^½ have the same eigenvalues, which give the effect of adding the record.
        values = np.maximum(np.linalg.eigvals(weighted_covariance(batch) @ quadratic).real, 0.0)
        leverages[batch] = np.where(member[batch], values.sum(axis=1), _if_added(values).sum(axis=1))
    return leverages


def _inverse_norm(rows: np.ndarray, members: np.ndarray, penalty: float) -> np.ndarray:
    """(records,) x' (M'M + penalty)⁻¹ x; infinite in directions that neither a member nor a penalty constrains."""
    _, size, directions = np.linalg.svd(np.linalg.qr(members, mode="r"), full_matrices=False)
    spanned = size > ROUNDING * max(size.max(initial=0.0), 1e-300)
    along = rows @ directions[spanned].T
    norm = (np.square(along) / (np.square(size[spanned]) + penalty)).sum(axis=1)
    square = np.square(rows).sum(axis=1)
    residual = np.maximum(square - np.square(along).sum(axis=1), 0.0)
    residual[residual <= ROUNDING * square] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm + np.where(residual > 0, residual / penalty, 0.0)


def _if_added(leverages: np.ndarray) -> np.ndarray:
    """Leverage of a record after it is added to the training records (Sherman & Morrison)."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(leverages), 1.0, leverages / (1 + leverages))
