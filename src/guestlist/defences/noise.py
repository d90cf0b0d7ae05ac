"""Training on records with adversarial noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from guestlist.data import Data
from guestlist.defences.plain import Fit, labels_tensor, tensor
from guestlist.fingerprints import described


@dataclass(frozen=True)
class FgsmNoise:
    """Perturb some records so that the loss of a first model rises, then train on them.

    Each feature changes by ``size`` in the direction of the sign of the loss's gradient (Goodfellow et al. 2015); Duddu et al.
    (2022) do so with half of the records.
    """

    size: float = 0.05
    share: float = 0.5
    fit: Fit = field(default_factory=Fit)

    def __post_init__(self):
        if self.size < 0 or not 0 <= self.share <= 1:
            raise ValueError(f"Expected size={self.size} to be 0 or more and share={self.share} in [0, 1].")
        if self.fit.loss != "cross_entropy":
            raise ValueError("Expected loss='cross_entropy': the gradient is that of classes.")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        data, _ = self.perturbed(self.fit(module, data, rng), data, rng)
        return self.fit(module, data, rng)

    def perturbed(self, first, data: Data, rng: np.random.Generator) -> tuple[Data, np.ndarray]:
        """Return the records to train on, and (records,) true for those that were perturbed.

        Args:
            first: Trained module; the perturbation raises its loss.
        """
        chosen = np.zeros(len(data), dtype=bool)
        chosen[rng.permutation(len(data))[: round(self.share * len(data))]] = True
        x = np.array(data.x, dtype=np.float64)
        x[chosen] += self.size * np.sign(gradients(first, x[chosen], data.y[chosen]))
        return data.changed(x=x), chosen

    def plain(self) -> Fit:
        """Return the same training on unchanged records."""
        return self.fit.plain()

    def describe(self) -> str:
        return described(self)


def gradients(module, x, y) -> np.ndarray:
    """Return (records, …) the gradient of each record's loss with respect to its features."""
    import torch

    if not len(y):
        return np.zeros_like(x)
    features = tensor(x, module).requires_grad_()
    loss = torch.nn.functional.cross_entropy(module(features), labels_tensor(y, module), reduction="sum")
    (gradient,) = torch.autograd.grad(loss, features)
    return gradient.cpu().numpy()
