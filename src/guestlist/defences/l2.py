"""A penalty on large parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.defences.objective import Batch, Loss, Start


@dataclass(frozen=True)
class L2:
    """The loss plus ``weight`` times the sum of all squared parameters: its gradient is 2 weight w.

    A penalty in the loss, which AdamW's ``weight_decay`` is not: Adam divides the gradient of a penalty by what it knows of the
    size of gradients, and decays weights beside that.
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
