"""How a record's score stands among those that models give which did not train on it: the record is compared with itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class OutModelStats:
    """OUT models of each record: (records,) how many there are, and what they say.

    Args:
        own: scores under the target.
        count: OUT models with a score.
        as_high: those under which the record scores at least as high as under the target.
        mean: of their scores, NaN without any.
        squares: sum of squared deviations from it.
    """

    own: np.ndarray = field(repr=False)
    count: np.ndarray = field(repr=False)
    as_high: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)

    @property
    def p_values(self) -> np.ndarray:
        """(1 + number of OUT models under which a record scores as high) / (n + 1); NaN without such a model, or a score.

        Where the target did not train on it either, it is one more of them, and P(p <= a) <= a for every single record,
        however easy.
        """
        unknown = np.isnan(self.own) | (self.count == 0)
        return np.where(unknown, np.nan, (1 + self.as_high) / (1 + self.count))

    @property
    def gap(self) -> np.ndarray:
        """By how many standard deviations of theirs a score is above them; NaN where that has no number."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # infinite scores; models that all agree
            away = (self.own - self.mean) / np.sqrt(self.squares / (self.count - 1))
            return np.where(self.own == self.mean, 0.0, away)


def out_model_stats(own: np.ndarray, scores: np.ndarray, member: np.ndarray) -> OutModelStats:
    """OUT models of each record, counted and summed up in one pass.

    Args:
        own: (records,) scores under the target.
        scores: (models, records) scores under other models. NaN: there is none.
        member: (models, records) true where a model trained on a record.
    """
    from guestlist.arrays.outside import fill_out_model_stats  # imports numba

    count, as_high = np.zeros((2, len(own)), dtype=np.int64)
    mean, squares = np.zeros((2, len(own)))
    fill_out_model_stats(own, np.ascontiguousarray(scores), np.ascontiguousarray(member), count, as_high, mean, squares)
    return OutModelStats(own, count, as_high, mean, squares)
