"""A finite pool of records of unequal difficulty, in which the rate of false alarms of every single record is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr


@dataclass(frozen=True)
class FinitePool:
    """Normal margins with a deviation of 1; some records are easy, for members and non-members alike.

    An attack that compares margins with one threshold flags easy records under most models, and others under few: the rate that
    was asked for holds over all records, and for nearly none of them.

    Args:
        records, models: how many; the records stay the same under all models.
        easy: share of the records, the first ones, whose margins are larger by ``ease``.
        shift: by which members' margins are larger.
    """

    records: int = 400
    models: int = 16
    easy: float = 0.1
    ease: float = 3.0
    shift: float = 1.0

    @property
    def is_easy(self) -> np.ndarray:
        return np.arange(self.records) < round(self.easy * self.records)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(models, records) margins, and who trained on what."""
        member = rng.random((self.models, self.records)) < 0.5
        return self.ease * self.is_easy + self.shift * member + rng.normal(size=member.shape), member

    def rates(self, fpr: float) -> tuple[float, float]:
        """Return how often a hard and an easy non-member is flagged at the threshold that a share ``fpr`` of all exceed."""
        return _rates(float(self.is_easy.mean()), self.ease, fpr)


@lru_cache
def _rates(easy: float, ease: float, fpr: float) -> tuple[float, float]:
    threshold = brentq(lambda t: easy * ndtr(ease - t) + (1 - easy) * ndtr(-t) - fpr, -40, 40)
    return float(ndtr(-threshold)), float(ndtr(ease - threshold))
