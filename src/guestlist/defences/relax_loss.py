"""RelaxLoss: training towards a loss above 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.defences.objective import Batch, Loss, Start, soft


@dataclass(frozen=True)
class RelaxLoss:
    """Keep the loss of members at ``level``, near that of non-members (Chen, Yu & Fritz 2022).

    Training descends the gradient while the loss of a batch is above the level. Below it, even epochs ascend the gradient. Odd
    epochs descend a loss whose labels keep the probability of the true class and divide the remainder equally: outputs
    flatten, and correct predictions stay correct.
    """

    level: float = 0.5
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        if self.level < 0:
            raise ValueError(f"Expected level={self.level} to be 0 or more.")

    def begin(self, start: Start) -> Loss:
        def loss(answers, batch: Batch):
            plain = start.loss(answers, batch)
            if plain.item() >= self.level:
                return plain
            return -plain if batch.epoch % 2 == 0 else start.loss(answers, batch._replace(y=flat(answers, batch.y)))

        return loss


def flat(answers, y):
    """Return (records, classes) labels: the predicted probability of the true class, the remainder divided equally."""
    truth = soft(y, answers.shape[1], answers)
    p_true = (answers.detach().softmax(dim=1) * truth).sum(dim=1, keepdim=True)
    return truth * p_true + (1 - truth) * (1 - p_true) / (answers.shape[1] - 1)
