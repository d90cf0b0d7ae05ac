"""What training minimises: the loss, or something that leaks less.

An objective is a frozen dataclass, an option of ``Fit``. It is begun once for each training, with random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np


class Batch(NamedTuple):
    """Some records, their labels (positions of classes, probabilities of classes, or numbers), and the epoch, from 0."""

    x: Any
    y: Any
    epoch: int


Loss = Callable[[Any, Batch], Any]  # answers to the records of a batch, and the batch, to the tensor that is minimised


class Start(NamedTuple):
    """What an objective may know when training begins.

    Args:
        module: that will be trained; its parameters are fresh.
        x, y: all records and labels, as tensors.
        loss: the plain one.
        rng: for the objective alone.
    """

    module: Any
    x: Any
    y: Any
    loss: Loss
    rng: np.random.Generator


@runtime_checkable
class Objective(Protocol):
    """Something to minimise in the place of the loss.

    One that also serves modules that predict numbers has ``for_values = True``.
    """

    for_values: ClassVar[bool]

    def begin(self, start: Start) -> Loss:
        """The loss of one training."""


def soft(y, classes: int, like):
    """(records, classes) probabilities of the classes: hard labels as ones and zeros, soft ones as they are."""
    import torch

    return y if y.ndim == 2 else torch.nn.functional.one_hot(y, classes).to(like.dtype)
