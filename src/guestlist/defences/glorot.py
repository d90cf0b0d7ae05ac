"""Layers that begin as Glorot & Bengio (2010) have it: uniform by their numbers of inputs and outputs, without an offset.

The founding papers' networks began so. Torch's own layers begin smaller: a network of several of them, with few records and
epochs, learns less. The layers stay torch's own, since libraries that know layers by their class (Opacus, Captum) must know
them; the network draws their parameters in their place.
"""

from __future__ import annotations

from torch import nn


class Network(nn.Sequential):
    """Layers in a row, whose parameters the network draws, however deep they stand in it."""

    def reset_parameters(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


def begun(*layers: nn.Module) -> Network:
    """The network of these layers, with its parameters drawn."""
    network = Network(*layers)
    network.reset_parameters()
    return network
