"""Dropout: units are switched off at random in training."""

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
    """Train with dropout before every linear layer except the first layer (Srivastava et al. 2014).

    If the module already has dropout layers, this recipe adds more.
    """

    rate: float = 0.5
    fit: Fit = field(default_factory=Fit)

    def __post_init__(self):
        if not 0 <= self.rate < 1:
            raise ValueError(f"Expected rate={self.rate} in [0, 1).")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        return self.fit(dropping(module, self.rate), data, rng)

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """Train on (records, classes) probabilities instead of labels."""
        return self.fit.distil(dropping(module, self.rate), data, soft, rng)

    def plain(self) -> Fit:
        """Return the same training without dropout."""
        return self.fit.plain()

    def describe(self) -> str:
        return described(self)


def dropping(module, rate: float):
    """Return a copy with dropout before every linear layer except the first layer."""
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
