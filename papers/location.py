"""Public training recipe of Location30 models: that of the released MemGuard code (Jia et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import guestlist as gl

EPOCHS = 200
LATER = 150  # epochs after which the learning rate is a tenth


@dataclass(frozen=True)
class SmallerSteps:
    """Multiply the loss by ``factor`` after some epochs.

    With SGD, no momentum and no weight decay, this is a learning rate that is multiplied by ``factor``.
    """

    after: int
    factor: float = 0.1
    for_values: ClassVar[bool] = True

    def begin(self, start):
        def loss(outputs, batch):
            return start.loss(outputs, batch) * (self.factor if batch.epoch >= self.after else 1.0)

        return loss


def sgd(epochs: int = EPOCHS) -> gl.defences.Fit:
    """Return the recipe: SGD with rate 0.01, no momentum, batches of 64, a tenth of the rate after epoch 150.

    Parameters have Glorot initialisation (Glorot & Bengio 2010), as in ``gl.defences.mlp``.
    """
    return gl.defences.Fit(
        epochs=epochs, batch_size=64, learning_rate=0.01, optimizer="sgd", objective=SmallerSteps(LATER)
    )
