"""Count, mean and spread of what models say about each record, under a mask.

Reference attacks compare a target with the models that did, and that did not, train on a record. All they
need of those models are the first two moments, so every model can take its turn as the target at the cost
of one pass: the sums over all models are computed once, and the target's own term is taken out again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments over models: arrays shaped (records,), or (targets, records) where each target has its own.

    ``mean`` is NaN where ``count`` is 0; ``squares`` is the sum of squared deviations from the mean.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        """Unbiased variance per record; NaN where fewer than two models apply."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.count > 1, self.squares / (self.count - 1), np.nan)

    @property
    def pooled_variance(self) -> np.ndarray:
        """Variance *within* records, pooled over them: shaped (1,) or (targets, 1).

        Pooling the raw matrix would add the spread between records, which is no noise of the training.
        """
        freedom = np.maximum(self.count - 1, 0).sum(axis=-1, keepdims=True)
        squares = np.where(self.count > 1, self.squares, 0.0).sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return squares / freedom


def moments(values: np.ndarray, mask: np.ndarray) -> Moments:
    """Moments over the models (axis 0) that ``mask`` selects; both arguments are (models, records)."""
    count = mask.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(mask, values, 0.0).sum(axis=0) / count
        squares = np.square(np.where(mask, values - mean, 0.0)).sum(axis=0)
    return Moments(count, mean, squares)


def moments_of_others(values: np.ndarray, mask: np.ndarray) -> Moments:
    """Moments over the *other* models that ``mask`` selects, for each model in turn as the target.

    Both arguments, and each array of the result, are (models, records). One pass over the matrix in all:
    the target's own term is removed from the sums over all models by Welford's update run backwards.
    """
    everyone = moments(values, mask)
    count = everyone.count - mask
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.where(mask, values - everyone.mean, 0.0)
        mean = np.where(count > 0, everyone.mean - deviation / count, np.nan)
        squares = everyone.squares - np.where(mask, np.square(deviation) * everyone.count / count, 0.0)
    # With one or no model left the sum of squares is 0 by definition; rounding must not make it negative.
    return Moments(count, mean, np.where(count > 1, np.maximum(squares, 0.0), 0.0))
