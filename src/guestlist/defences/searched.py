"""A recipe that was chosen from several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist.data import Data


@dataclass(frozen=True)
class Searched:
    """A recipe that was kept because it did best of several that were tried.

    It trains as ``recipe`` does, and can whatever that can. Reports then say that a promise of differential privacy is that of
    one training, and that the search for it was not counted.

    Args:
        recipe: the one that was kept.
        tried: how many were trained, this one counted in.
    """

    recipe: Any
    tried: int

    def __post_init__(self):
        if self.tried < 1:
            raise ValueError(f"Expected tried={self.tried} to be 1 or more.")

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.recipe(model, data, rng)

    def describe(self) -> str:
        return self.recipe.describe()  # how many others there were decides no bit of a model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("recipe", "tried"):  # while it is copied, these are not there yet
            raise AttributeError(name)
        return getattr(self.recipe, name)
