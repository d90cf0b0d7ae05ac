"""Recipe that was chosen from several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist.data import Data


@dataclass(frozen=True)
class Searched:
    """Recipe that performed best of several.

    It trains as ``recipe`` does, and has all its methods. Reports then state that a guarantee of differential privacy is for one
    training, and does not account for the search.

    Args:
        recipe: The chosen recipe.
        tried: Number of recipes that were trained, including this one.
    """

    recipe: Any
    tried: int

    def __post_init__(self):
        if self.tried < 1:
            raise ValueError(f"Expected tried={self.tried} to be 1 or more.")

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.recipe(model, data, rng)

    def describe(self) -> str:
        return self.recipe.describe()  # the number of tried recipes does not change the model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("recipe", "tried"):  # a copy in progress has no fields yet
            raise AttributeError(name)
        return getattr(self.recipe, name)
