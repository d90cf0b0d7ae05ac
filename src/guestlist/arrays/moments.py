"""Count, mean and spread of what models say about each record, under a mask.

Reference attacks compare a target with the models that did, and that did not, train on a record. All they
need of those models are the first two moments, so every model can take its turn as the target at the cost
of one pass in each direction over all models, instead of one pass per target.
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
            return _fixed(np.where(self.count > 1, self.squares / (self.count - 1), np.nan))

    @cached_property
    def pooled_variance(self) -> np.ndarray:
        """Variance *within* records, pooled over them: shaped (1,) or (targets, 1).

        Pooling the raw matrix would add the spread between records, which is not noise of the training.
        """
        freedom = np.maximum(self.count - 1, 0).sum(axis=-1, keepdims=True)
        squares = np.where(self.count > 1, self.squares, 0.0).sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return _fixed(squares / freedom)


MANY_CELLS = 2**21  # models times records: more are summed up by compiled code, to the same bits


class InOutMoments(NamedTuple):
    """Moments of the models that trained on a record, and of those that did not."""

    inside: Moments
    outside: Moments


def moments(values: np.ndarray, mask: np.ndarray) -> Moments:
    """Moments over the models (axis 0) that ``mask`` selects; both arguments are (models, records)."""
    count, values = mask.sum(axis=0), values.astype(np.float64, copy=False)
    first = _mean(values, mask, count)
    # A second round makes the mean of equal values exactly that value, and their sum of squares exactly 0:
    # a saturated record must not look as if it had a variance of 1e-32.
    with np.errstate(invalid="ignore"):
        mean = first + _mean(values - first, mask, count)
        squares = np.square(np.where(mask, values - mean, 0.0)).sum(axis=0)
    return Moments(count, mean, squares)


def in_out_moments(values: np.ndarray, member: np.ndarray, models: slice = slice(None)) -> InOutMoments:
    """Moments over the models (axis 0) that trained on a record, and over the others; both arrays are (models, records).

    A value that is NaN is left out.

    Args:
        models: which of them count.
    """
    if values.size <= MANY_CELLS:
        values, member = values[models], member[models]
        known = ~np.isnan(values)
        return InOutMoments(moments(values, member & known), moments(values, ~member & known))
    from guestlist.arrays.running import fill_in_out_moments  # imports numba

    chosen, records = np.arange(len(values))[models], values.shape[1]
    parts = np.zeros((2, records), dtype=np.int64), *np.zeros((2, 2, records))
    fill_in_out_moments(values, member, chosen, *parts)
    outside, inside = (Moments(*(part[side] for part in parts)) for side in (0, 1))
    return InOutMoments(inside, outside)


def leave_block_out_moments(values: np.ndarray, mask: np.ndarray, together: np.ndarray | None = None) -> Moments:
    """Moments over the *other* models that ``mask`` selects, for each model in turn as the target.

    The models before the target and those after it are summed up in one pass each, then merged (Chan et al.
    1979). Nothing is ever subtracted from a sum of squares, so a target far from its references leaves no
    rounding error behind in theirs. O(models x records) in time, and in memory beside the result O(records).

    Args:
        values: (models, records).
        mask: (models, records) what counts.
        together: (models,) models with equal labels are left out together; by default each alone.

    Returns:
        Moments whose arrays are (models, records).
    """
    from guestlist.arrays.running import fill_leave_block_out_moments  # imports numba

    blocks = np.arange(len(values)) if together is None else np.unique(together, return_inverse=True)[1]
    order = np.argsort(blocks, kind="stable")
    result = Moments(*(np.empty(values.shape) for _ in range(3)))
    fill_leave_block_out_moments(values, mask, order, blocks, *_parts(result))
    return result


def _fixed(array: np.ndarray) -> np.ndarray:
    """The array, which nobody can change any more: it is computed once, for all who ask."""
    array.flags.writeable = False
    return array


def _mean(values: np.ndarray, mask: np.ndarray, count: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies
        return np.where(mask, values, 0.0).sum(axis=0) / count


def _parts(of: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return of.count, of.mean, of.squares
