"""Persons with several records each, in a world where every figure is known: visits to one clinic, say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri


@dataclass(frozen=True)
class Visits:
    """Standard normal scores, moved up by ``shift`` for members; those of one person have a correlation of ``alike``.

    Args:
        persons: on either side.
        records: of each person; where ``uneven``, each has some number from 1 to twice as many less one.
        correlation: Intraclass correlation.
    """

    shift: float = 0.0
    persons: int = 40
    records: int = 10
    correlation: float = 0.5
    uneven: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(records,) scores, who is a member, and numbers of persons."""
        everyone = 2 * self.persons
        numbers = rng.integers(1, 2 * self.records, everyone) if self.uneven else np.full(everyone, self.records)
        person = np.repeat(np.arange(everyone), numbers)
        own, noise = rng.normal(size=everyone)[person], rng.normal(size=len(person))
        member = person < self.persons
        return (
            np.sqrt(self.correlation) * own + np.sqrt(1 - self.correlation) * noise + self.shift * member,
            member,
            person,
        )

    @property
    def auc(self) -> float:
        return float(ndtr(self.shift / np.sqrt(2)))

    def rates(self, threshold: float) -> tuple[float, float]:
        """TPR and FPR of calls at a threshold."""
        return float(ndtr(self.shift - threshold)), float(ndtr(-threshold))

    def tpr(self, fpr: float) -> float:
        return float(ndtr(ndtri(fpr) + self.shift))

    def ppv(self, fpr: float, prior: float) -> float:
        called = prior * self.tpr(fpr)
        return called / (called + (1 - prior) * fpr)
