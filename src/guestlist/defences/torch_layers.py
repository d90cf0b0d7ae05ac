"""Torch modules: Glorot initialisation (Glorot & Bengio 2010), and one output for two classes.

Imported only when torch is used. Torch's default initialisation starts smaller: a network of several layers, with few records
and epochs, learns less. The layers remain torch's own classes, because Opacus and Captum recognise layers by their class.
"""

import torch
from torch import nn

from guestlist.errors import InputError


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


class TwoLogits(torch.nn.Module):
    """Module with two logits: 0 for the first class, the module's output for the second.

    The softmax of the two is the sigmoid of the output, and their cross-entropy the binary one, so all code for classes
    applies.
    """

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x):
        outputs = self.module(x)
        if outputs.ndim > 2 or (outputs.ndim == 2 and outputs.shape[1] != 1):
            raise InputError(
                f"A module with one logit per record needs two classes; found outputs shaped {tuple(outputs.shape)}."
            )
        logit = outputs.reshape(-1, 1)
        return torch.cat([torch.zeros_like(logit), logit], dim=1)


def outputs_of(module) -> int | None:
    """Return the number of outputs of the last linear layer; None if there is none."""
    sizes = [None, *(part.out_features for part in module.modules() if hasattr(part, "out_features"))]
    return sizes[-1]


def two_logits(module):
    """Return the module, with a second logit if it has one output."""
    if outputs_of(module) == 1 and not isinstance(module, TwoLogits):
        return TwoLogits(module)
    return module
