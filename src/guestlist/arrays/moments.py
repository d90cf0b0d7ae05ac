"""Count, mean and variance of models' values for each record, under a mask.

Reference attacks compare a target with the models that did and did not train on a record (IN and OUT models). They need only the
first two moments of those models. So every model can be the target in turn at the cost of one pass in each direction over all
models, instead of one pass per target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments over models: arrays shaped (records,), or (targets, records) where each target has its own.

    ``mean`` is NaN where ``count`` is 0; ``squares`` is the sum of squared deviations from the mean.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @cached_property
    def variance(self) -> np.ndarray:
        """Unbiased variance per record; NaN where fewer than two models apply."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return _read_only(np.where(self.count > 1, self.squares / (self.count - 1), np.nan))

    @cached_property
    def pooled_variance(self) -> np.ndarray:
        """Variance *within* records, pooled over them: shaped (1,) or (targets, 1).

        Pooling the raw matrix would add the variance between records, which is not due to training.
        """
        dof = np.maximum(self.count - 1, 0).sum(axis=-1, keepdims=True)
        squares = np.where(self.count > 1, self.squares, 0.0).sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return _read_only(squares / dof)


MANY_CELLS = 2**21  # models times records; larger matrices use compiled code with bitwise identical results


class InOutMoments(NamedTuple):
    """Moments of the models that trained on a record (IN), and of those that did not (OUT)."""

    inside: Moments
    outside: Moments


def moments(values: np.ndarray, mask: np.ndarray) -> Moments:
    """Compute moments over the models (axis 0) that ``mask`` selects; both arguments are (models, records)."""
    count = mask.sum(axis=0)
    values = values.astype(np.float64, copy=False)
    first = _masked_mean(values, mask, count)
    # A second round makes the mean of equal values exactly that value, and their sum of squares exactly 0:
    # a saturated record must not look as if it had a variance of 1e-32.
    with np.errstate(invalid="ignore"):
        mean = first + _masked_mean(values - first, mask, count)
        squares = np.square(np.where(mask, values - mean, 0.0)).sum(axis=0)
    return Moments(count, mean, squares)


def in_out_moments(values: np.ndarray, member: np.ndarray, models: slice = slice(None)) -> InOutMoments:
    """Compute moments over the models that trained on a record, and over the others.

    Args:
        values: (models, records) NaN is ignored.
        member: (models, records) Training membership.
        models: Models that count.
    """
    if values.size <= MANY_CELLS:
        values = values[models]
        member = member[models]
        known = ~np.isnan(values)
        return InOutMoments(moments(values, member & known), moments(values, ~member & known))
    from guestlist.arrays.running import fill_in_out_moments  # imports numba

    chosen = np.arange(len(values))[models]
    records = values.shape[1]
    parts = np.zeros((2, records), dtype=np.int64), *np.zeros((2, 2, records))
    fill_in_out_moments(values, member, chosen, *parts)
    outside, inside = (Moments(*(part[side] for part in parts)) for side in (0, 1))
    return InOutMoments(inside, outside)


def leave_block_out_moments(values: np.ndarray, mask: np.ndarray, together: np.ndarray | None = None) -> Moments:
    """Compute moments over the *other* models that ``mask`` selects, for each model in turn as the target.

    The models before the target and those after it are summed in one pass each, then merged (Chan et al.
    1979). Nothing is ever subtracted from a sum of squares, so a target far from its references causes no
    rounding error in their moments. Time is O(models x records), extra memory O(records).

    Args:
        values: (models, records).
        mask: (models, records) Values that count.
        together: (models,) Models with equal labels are left out together; by default each model alone.

    Returns:
        Moments with (models, records) arrays.
    """
    from guestlist.arrays.running import fill_leave_block_out_moments  # imports numba

    blocks = np.arange(len(values)) if together is None else np.unique(together, return_inverse=True)[1]
    order = np.argsort(blocks, kind="stable")
    result = Moments(*(np.empty(values.shape) for _ in range(3)))
    fill_leave_block_out_moments(values, mask, order, blocks, result.count, result.mean, result.squares)
    return result


def _read_only(array: np.ndarray) -> np.ndarray:
    """Make an array read-only, because it is cached and shared."""
    array.flags.writeable = False
    return array


def _masked_mean(values: np.ndarray, mask: np.ndarray, count: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies.
        return np.where(mask, values, 0.0).sum(axis=0) / count
