"""L2 penalty on the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.defences.objective import Batch, Loss, Start


@dataclass(frozen=True)
class L2:
    """Add ``weight`` times the sum of all squared parameters to the loss: the gradient is 2 weight w.

    This is a penalty in the loss, unlike AdamW's ``weight_decay``: Adam divides the gradient of a penalty by the running size
    of gradients, and decays weights separately.
    """

    weight: float = 1e-3
    for_values: ClassVar[bool] = True

    def __post_init__(self):
        if self.weight < 0:
            raise ValueError(f"Expected weight={self.weight} to be 0 or more.")

    def begin(self, start: Start) -> Loss:
        def loss(answers, batch: Batch):
            squares = sum(parameter.square().sum() for parameter in start.module.parameters())
            return start.loss(answers, batch) + self.weight * squares

        return loss
