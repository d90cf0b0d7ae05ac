"""Scores of a record compared with its scores under models that did not train on it (OUT models)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class OutModelStats:
    """Statistics of each record's scores under its OUT models; arrays are (records,).

    Args:
        target: Scores under the target.
        count: Number of OUT models with a score.
        n_at_least: Number of those under which the record scores at least as high as under the target.
        mean: Mean of their scores, NaN without any.
        squares: Sum of squared deviations from the mean.
    """

    target: np.ndarray = field(repr=False)
    count: np.ndarray = field(repr=False)
    n_at_least: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)

    @property
    def p_values(self) -> np.ndarray:
        """P-values (1 + number of OUT models that score as high) / (n + 1); NaN without OUT models or a score.

        If the target did not train on a record either, it is exchangeable with the OUT models, and P(p <= a) <= a holds for
        every single record, however easy.
        """
        unknown = np.isnan(self.target) | (self.count == 0)
        return np.where(unknown, np.nan, (1 + self.n_at_least) / (1 + self.count))

    @property
    def gap(self) -> np.ndarray:
        """Score minus the mean of the OUT models, in their standard deviations; NaN where it is undefined."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # infinite scores; models that all agree
            z_scores = (self.target - self.mean) / np.sqrt(self.squares / (self.count - 1))
            return np.where(self.target == self.mean, 0.0, z_scores)


def out_model_stats(target: np.ndarray, scores: np.ndarray, member: np.ndarray) -> OutModelStats:
    """Compute the statistics of each record's OUT models in one pass.

    Args:
        target: (records,) Scores under the target.
        scores: (models, records) Scores under other models; NaN where there is none.
        member: (models, records) True where a model trained on a record.
    """
    from guestlist.arrays.outside import fill_out_model_stats  # imports numba

    count, n_at_least = np.zeros((2, len(target)), dtype=np.int64)
    mean, squares = np.zeros((2, len(target)))
    fill_out_model_stats(
        target, np.ascontiguousarray(scores), np.ascontiguousarray(member), count, n_at_least, mean, squares
    )
    return OutModelStats(target=target, count=count, n_at_least=n_at_least, mean=mean, squares=squares)
