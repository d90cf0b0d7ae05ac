"""Worlds of scores whose AUC, TPR at FPR and advantage are known, and how often an interval holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from guestlist import Estimate


@dataclass(frozen=True)
class World:
    """Standard normal scores, members' moved up by ``shift`` and stretched; on a lattice if ``step`` > 0."""

    shift: float
    stretch: float = 1.0
    step: float = 0.0

    @classmethod
    def of_auc(cls, auc: float, stretch: float = 1.0, step: float = 0.0) -> World:
        """The world whose scores have this AUC before they are put on a lattice."""
        return cls(float(norm.ppf(auc) * np.hypot(1, stretch)), stretch, step)

    def draw(self, rng: np.random.Generator, members: int, nonmembers: int) -> tuple[np.ndarray, np.ndarray]:
        member = np.arange(members + nonmembers) < members
        scores = rng.normal(size=len(member)) * np.where(member, self.stretch, 1.0) + self.shift * member
        return self.on_lattice(scores), member

    def on_lattice(self, scores: np.ndarray) -> np.ndarray:
        return self.step * np.round(scores / self.step) if self.step else scores

    @property
    def auc(self) -> float:
        if not self.step:
            return float(norm.cdf(self.shift / np.hypot(1, self.stretch)))
        edges = self.step * (np.arange(-200, 202) - 0.5)
        members, nonmembers = np.diff(norm.cdf(edges, self.shift, self.stretch)), np.diff(norm.cdf(edges))
        return float(members @ (np.cumsum(nonmembers) - nonmembers / 2))

    def tpr(self, fpr: float) -> float:
        """P(member > q), q the smallest value that non-members exceed with probability <= fpr."""
        quantile = norm.isf(fpr)
        if self.step:  # q = j * step is exceeded by whatever is rounded to more, from (j + 1/2) * step up
            quantile = (np.ceil(quantile / self.step - 0.5) + 0.5) * self.step
        return float(norm.sf(quantile, self.shift, self.stretch))

    def rates(self, threshold: float) -> tuple[float, float]:
        """TPR and FPR of calls score >= threshold."""
        if self.step:
            threshold = (np.ceil(threshold / self.step) - 0.5) * self.step
        return float(norm.sf(threshold, self.shift, self.stretch)), float(norm.sf(threshold))


def coverage(
    interval_and_truth: Callable[[np.random.Generator], tuple[Estimate, float]], *, worlds: int, seed: int = 0
) -> float:
    """Share of worlds in which the interval holds the truth."""
    held = 0
    for k in range(worlds):
        interval, truth = interval_and_truth(np.random.default_rng([seed, k]))
        held += interval.low - 1e-12 <= truth <= interval.high + 1e-12
    return held / worlds
