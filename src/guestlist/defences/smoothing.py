"""Label smoothing, and a penalty on confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.defences.objective import Batch, Loss, Start, soft


@dataclass(frozen=True)
class LabelSmoothing:
    """Divide a share of every label equally among all classes (Szegedy et al. 2016)."""

    share: float = 0.1
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        if not 0 <= self.share < 1:
            raise ValueError(f"Expected share={self.share} in [0, 1).")

    def begin(self, start: Start) -> Loss:
        def loss(answers, batch: Batch):
            classes = answers.shape[1]
            labels = (1 - self.share) * soft(batch.y, classes, answers) + self.share / classes
            return start.loss(answers, batch._replace(y=labels))

        return loss


@dataclass(frozen=True)
class ConfidencePenalty:
    """Subtract ``weight`` times the entropy of the outputs from the loss (Pereyra et al. 2017)."""

    weight: float = 0.1
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        if self.weight < 0:
            raise ValueError(f"Expected weight={self.weight} to be 0 or more.")

    def begin(self, start: Start) -> Loss:
        def loss(answers, batch: Batch):
            return start.loss(answers, batch) - self.weight * output_entropy(answers).mean()

        return loss


def output_entropy(answers):
    """Return (records,) the entropy of the softmax of logits."""
    log_p = answers.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)
