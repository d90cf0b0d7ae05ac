"""Glorot initialisation (Glorot & Bengio 2010): uniform weights by the numbers of inputs and outputs, zero bias.

The networks of the founding papers started like this. Torch's default starts smaller: a network of several layers, with few
records and epochs, learns less. The layers remain torch's own classes, because Opacus and Captum recognise layers by their
class; the network initialises the parameters.
"""

from __future__ import annotations

from torch import nn


class Network(nn.Sequential):
    """Sequence of layers that initialises the parameters of all layers inside it."""

    def reset_parameters(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


def initialised(*layers: nn.Module) -> Network:
    """Return a network of these layers with initialised parameters."""
    network = Network(*layers)
    network.reset_parameters()
    return network
