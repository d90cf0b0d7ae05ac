"""Torch modules: Glorot initialisation (Glorot & Bengio 2010), several inputs, and one output for two classes.

Imported only when torch is used. Torch's default initialisation starts smaller: a network of several layers, with few records
and epochs, learns less. The layers remain torch's own classes, because Opacus and Captum recognise layers by their class.
"""

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

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


class InputPart(NamedTuple):
    """One of several inputs of a module: its name, the shape of one record, and its type unless it is floating-point."""

    name: str | None
    shape: tuple[int, ...]
    dtype: torch.dtype | None


class SeveralInputs(torch.nn.Module):
    """Module that reads (records, columns) numbers and passes them on as several inputs: by position, by name or in a dictionary.

    It returns the logits of models that return more, such as those of Hugging Face.
    """

    def __init__(self, module: torch.nn.Module, parts: tuple[InputPart, ...]):
        super().__init__()
        self.module = module
        self.parts = parts
        self.by_name = _accepts(module.forward, [part.name for part in parts if part.name is not None])

    def forward(self, x):
        inputs = self.split(x)
        if isinstance(inputs, tuple):
            return logits_of(self.module(*inputs))
        return logits_of(self.module(**inputs) if self.by_name else self.module(inputs))

    def split(self, x) -> dict[str, Any] | tuple:
        """Return the inputs of the module for some records."""
        floating = next((p.dtype for p in self.module.parameters() if p.is_floating_point()), torch.float32)
        return split_inputs(x, self.parts, floating)


def _accepts(function: Callable, names: Sequence[str]) -> bool:
    """Return whether a function has these arguments; otherwise it reads a dictionary."""
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except TypeError:
        return False
    return True


def split_inputs(x, parts: tuple[InputPart, ...], floating: torch.dtype) -> dict[str, Any] | tuple:
    """Return inputs that are side by side as a dictionary, or as a tuple if they have no names."""
    sizes = [prod(part.shape) for part in parts]
    columns = x.flatten(1)
    if columns.shape[1] != sum(sizes):
        raise InputError(
            f"The module reads {sum(sizes)} numbers per record, as example= shows; found records shaped {tuple(x.shape[1:])}."
        )
    inputs = tuple(
        values.reshape(len(x), *part.shape).to(part.dtype or floating)
        for values, part in zip(columns.split(sizes, dim=1), parts, strict=True)
    )
    named = {part.name: value for part, value in zip(parts, inputs, strict=True) if part.name is not None}
    return named or inputs


def logits_of(outputs: Any):
    """Return the logits among several outputs: those with that name, or else the first."""
    if hasattr(outputs, "logits"):
        return outputs.logits
    if isinstance(outputs, dict):
        return outputs["logits"]
    if isinstance(outputs, tuple):
        return outputs[0]
    return outputs


def unwrapped(module):
    """Return the user's module inside those that guestlist adds."""
    while isinstance(module, TwoLogits | SeveralInputs):
        module = module.module
    return module


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
    if not isinstance(module, TwoLogits) and outputs_of(module) == 1:
        return TwoLogits(module)
    return module
