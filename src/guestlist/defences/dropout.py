"""Answers of a part of the units at a time."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np

from guestlist.data import Data
from guestlist.defences.plain import Fit
from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class Dropout:
    """In training, each unit before a linear layer but the first is silent with a probability (Srivastava et al. 2014).

    A module that drops units itself needs no such recipe; there, this one adds to it.
    """

    rate: float = 0.5
    fit: Fit = field(default_factory=Fit)

    def __post_init__(self):
        if not 0 <= self.rate < 1:
            raise ValueError(f"Expected rate={self.rate} in [0, 1).")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        return self.fit(dropping(module, self.rate), data, rng)

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """The same with (records, classes) probabilities in the place of labels."""
        return self.fit.distil(dropping(module, self.rate), data, soft, rng)

    def plain(self) -> Fit:
        """The same training of the module as it is."""
        return self.fit.plain()

    def describe(self) -> str:
        return described(self)


def dropping(module, rate: float):
    """A copy in which a dropout stands before every linear layer but the first layer."""
    from torch import nn

    module = copy.deepcopy(module)
    layers = [part for part in module.modules() if isinstance(part, nn.Linear | nn.Conv2d)]
    later = {part for part in layers[1:] if isinstance(part, nn.Linear)}
    if not later:
        raise InputError("Dropout stands before linear layers behind the first layer, and this module has none.")
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if child in later:
                setattr(parent, name, nn.Sequential(nn.Dropout(rate), child))
    return module
