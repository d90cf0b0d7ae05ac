"""Networks of the founding papers with Glorot initialisation: plain torch modules that output logits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from guestlist.extras import extra


def mlp(features: int, classes: int, *, hidden: Sequence[int] = (512, 256, 128, 64), activation: str = "ReLU"):
    """Return a multi-layer perceptron; by default that of Ye et al. (2022).

    Args:
        hidden: Units of each hidden layer.
        activation: Name of a module of ``torch.nn``, such as ``ReLU`` or ``Tanh``.
    """
    nn = extra("torch.nn", "A network (gl.mlp)")
    from guestlist.defences.glorot import initialised

    if not hasattr(nn, activation):
        raise ValueError(f"Expected activation={activation!r} to be the name of a module of torch.nn, such as 'ReLU'.")
    sizes = [features, *hidden]
    layers = [
        part for before, after in pairwise(sizes) for part in (nn.Linear(before, after), getattr(nn, activation)())
    ]
    return initialised(*layers, nn.Linear(sizes[-1], classes))


def cnn(side: int, classes: int, *, channels: int = 1, filters: Sequence[int] = (32, 64)):
    """Return a small convolutional network of 3 x 3 filters with 2 x 2 max pooling (Ye et al. 2022).

    Args:
        side: Height and width of the images, (records, channels, side, side).
        filters: Filters of each layer.
    """
    nn = extra("torch.nn", "A network (gl.cnn)")
    from guestlist.defences.glorot import initialised

    if not filters:
        raise ValueError("Expected filters=() to hold the filters of one layer or more.")
    layers = []
    width = side
    for before, after in zip([channels, *filters[:-1]], filters, strict=True):
        layers += [nn.Conv2d(before, after, 3), nn.ReLU(), nn.MaxPool2d(2)]
        width = (width - 2) // 2
    if width < 1:
        raise ValueError(f"Expected side={side} to be large enough for {len(filters)} layers.")
    return initialised(*layers, nn.Flatten(), nn.Linear(filters[-1] * width * width, classes))
