"""Training objectives: the loss, or a function that leaks less.

An objective is a frozen dataclass, an option of ``Fit``. It is prepared once for each training, with its own random stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np


class Batch(NamedTuple):
    """Records, labels (positions of classes, probabilities of classes, or numbers), and the epoch, from 0."""

    x: Any
    y: Any
    epoch: int


Loss = Callable[[Any, Batch], Any]  # outputs for a batch, and the batch, to the tensor that is minimised


class Start(NamedTuple):
    """State at the start of a training, from which an objective is prepared.

    Args:
        module: Module to train, with fresh parameters.
        x, y: All records and labels, as tensors.
        loss: The plain loss.
        rng: Random stream of the objective.
    """

    module: Any
    x: Any
    y: Any
    loss: Loss
    rng: np.random.Generator


@runtime_checkable
class Objective(Protocol):
    """Function that training minimises instead of the loss.

    An objective that also serves regression has ``for_values = True``.
    """

    for_values: ClassVar[bool]

    def begin(self, start: Start) -> Loss:
        """Return the loss function of one training."""


def soft(y, classes: int, like):
    """Return (records, classes) probabilities: hard labels as ones and zeros, soft labels unchanged."""
    import torch

    if y.ndim == 2:
        return y
    return torch.nn.functional.one_hot(y, classes).to(like.dtype)
