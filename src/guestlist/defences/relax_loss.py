"""Training towards a loss that is not 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.defences.objective import Batch, Loss, Start, soft


@dataclass(frozen=True)
class RelaxLoss:
    """Members' loss is held at ``level``, where that of non-members may be (Chen, Yu & Fritz 2022).

    Down the gradient while the loss of a batch is above the level. Below it, in one epoch up the gradient; in the next, down
    that of a loss whose labels keep the probability of the true class as it is and spread the rest evenly: answers flatten, and
    who is right stays right.
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
    """(records, classes) the probability of the true class as the answers have it, the rest spread evenly over the others."""
    truth = soft(y, answers.shape[1], answers)
    own = (answers.detach().softmax(dim=1) * truth).sum(dim=1, keepdim=True)
    return truth * own + (1 - truth) * (1 - own) / (answers.shape[1] - 1)
