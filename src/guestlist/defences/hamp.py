"""Less certain labels, and answers that are pushed to be less certain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from guestlist.defences.objective import Batch, Loss, Start, soft
from guestlist.defences.smoothing import entropy


@dataclass(frozen=True)
class Hamp:
    """Labels of high entropy, and a penalty on confident answers (Chen & Pattabiraman 2024): the part of HAMP that trains.

    Args:
        entropy: of the labels, as a share of the largest there is, log(classes); the true class keeps the most.
        weight: of the entropy of the answers.
    """

    entropy: float = 0.5
    weight: float = 0.01
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        if not 0 <= self.entropy < 1:
            raise ValueError(f"Expected entropy={self.entropy} in [0, 1).")
        if self.weight < 0:
            raise ValueError(f"Expected weight={self.weight} to be 0 or more.")

    def begin(self, start: Start) -> Loss:
        def loss(answers, batch: Batch):
            classes = answers.shape[1]
            spread = spread_for(self.entropy, classes)
            labels = (1 - spread) * soft(batch.y, classes, answers) + spread / classes
            return start.loss(answers, batch._replace(y=labels)) - self.weight * entropy(answers).mean()

        return loss


@lru_cache(maxsize=64)
def spread_for(share: float, classes: int) -> float:
    """How much of a label must be spread evenly over all classes for its entropy to be a share of log(classes).

    >>> round(spread_for(0.5, 2), 4)
    0.2201
    """
    from scipy.optimize import brentq

    def beyond(spread: float) -> float:
        p = np.full(classes, spread / classes)
        p[0] += 1 - spread
        return float(-(p * np.log(np.maximum(p, 1e-300))).sum() / np.log(classes)) - share

    return 0.0 if share == 0 else float(brentq(beyond, 0.0, 1.0, xtol=1e-12))
