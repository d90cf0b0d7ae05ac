"""Stopping before the model knows its records by heart."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np

from guestlist.data import Data
from guestlist.defences.plain import Fit, goodness
from guestlist.fingerprints import described


@dataclass(frozen=True)
class EarlyStopping:
    """Train as ``fit`` does, on most of the records; the parameters of the epoch that does best on the rest are kept.

    Args:
        fit: the training; its ``epochs`` are the most there are.
        share: of the records, held out: they choose the epoch and are not trained on.
        patience: epochs without a better one before training ends.
    """

    fit: Fit = field(default_factory=Fit)
    share: float = 0.1
    patience: int = 5

    def __post_init__(self):
        if not 0 < self.share < 1:
            raise ValueError(f"Expected share={self.share} in (0, 1).")
        if self.patience < 1:
            raise ValueError(f"Expected patience={self.patience} to be 1 or more.")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        """The module after its best epoch; of equal ones, the first."""
        order = rng.spawn(1)[0].permutation(len(data))
        chosen, rest = np.split(order, [max(1, round(self.share * len(data)))])
        rest = np.sort(rest)
        if not len(rest):
            raise ValueError(f"Expected more than one record, found {len(data)}.")
        best, found, waited = -np.inf, None, 0
        for trained in self.fit.epochs_of(module, data.take(rest), rng):
            reached = goodness(trained, data.x[chosen], data.y[chosen], self.fit.loss)
            waited += 1
            if reached > best:
                best, found, waited = reached, copy.deepcopy(trained), 0
            if waited >= self.patience:
                break
        assert found is not None, "there is one epoch or more"
        return found.eval()

    def plain(self) -> Fit:
        """All epochs, on all records."""
        return self.fit.plain()

    def describe(self) -> str:
        return described(self)
