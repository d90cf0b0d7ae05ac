"""HAMP: labels of high entropy, and a penalty on confident outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from guestlist.defences.objective import Batch, Loss, Start, soft
from guestlist.defences.smoothing import output_entropy


@dataclass(frozen=True)
class Hamp:
    """Train on labels of high entropy with a penalty on confident outputs (Chen & Pattabiraman 2024).

    This is the training part of HAMP.

    Args:
        entropy: Entropy of the labels, as a share of the maximum, log(classes); the true class keeps the largest probability.
        weight: Weight of the entropy of the outputs.
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
            smoothing = smoothing_for(self.entropy, classes)
            labels = (1 - smoothing) * soft(batch.y, classes, answers) + smoothing / classes
            return start.loss(answers, batch._replace(y=labels)) - self.weight * output_entropy(answers).mean()

        return loss


@lru_cache(maxsize=64)
def smoothing_for(share: float, classes: int) -> float:
    """Return the label smoothing for which the entropy of a label is a share of log(classes).

    >>> round(smoothing_for(0.5, 2), 4)
    0.2201
    """
    from scipy.optimize import brentq

    def beyond(smoothing: float) -> float:
        p = np.full(classes, smoothing / classes)
        p[0] += 1 - smoothing
        return float(-(p * np.log(np.maximum(p, 1e-300))).sum() / np.log(classes)) - share

    if share == 0:
        return 0.0
    return float(brentq(beyond, 0.0, 1.0, xtol=1e-12))
