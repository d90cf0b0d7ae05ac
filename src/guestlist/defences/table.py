"""Facts about defences: the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from guestlist.defences.plain import Fit
from guestlist.defences.recipe import Recipe
from guestlist.defences.refit import Refit


@dataclass(frozen=True)
class Defence:
    """One way to train.

    Args:
        recipe: makes a recipe from options.
        trains: what it trains.
        summary: what it does, for people.
        paper: where it comes from; "" for plain training.
        cost: what it takes beside plain training, for people.
    """

    recipe: Callable[..., Recipe]
    trains: Literal["torch module", "estimator"]
    summary: str
    paper: str
    cost: str


DEFENCES: dict[str, Defence] = {
    "fit": Defence(Fit, "torch module", "plain training with AdamW or SGD, no defence", "", "none"),
    "refit": Defence(Refit, "estimator", "a scikit-learn-style estimator as it is, no defence", "", "none"),
}
