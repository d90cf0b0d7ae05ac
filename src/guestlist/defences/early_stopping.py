"""Early stopping, before the model memorises its records."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np

from guestlist.data import Data
from guestlist.defences.plain import Fit, goodness
from guestlist.fingerprints import described


@dataclass(frozen=True)
class EarlyStopping:
    """Train as ``fit`` does, and keep the epoch that performs best on held-out records.

    Args:
        fit: Training; its ``epochs`` are the maximum.
        share: Share of the records that is held out to choose the epoch.
        patience: Epochs without an improvement before training ends.
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
        """Return the module after its best epoch (the first of ties)."""
        order = rng.spawn(1)[0].permutation(len(data))
        held_out, training_rows = np.split(order, [max(1, round(self.share * len(data)))])
        training_rows = np.sort(training_rows)
        if not len(training_rows):
            raise ValueError(f"Expected more than one record, found {len(data)}.")
        best = -np.inf
        best_module = None
        epochs_waited = 0
        for trained in self.fit.epochs_of(module, data.take(training_rows), rng):
            reached = goodness(trained, data.x[held_out], data.y[held_out], self.fit.loss)
            epochs_waited += 1
            if reached > best:
                best = reached
                best_module = copy.deepcopy(trained)
                epochs_waited = 0
            if epochs_waited >= self.patience:
                break
        assert best_module is not None, "there is one epoch or more"
        return best_module.eval()

    def plain(self) -> Fit:
        """Return training for all epochs, on all records."""
        return self.fit.plain()

    def describe(self) -> str:
        return described(self)
