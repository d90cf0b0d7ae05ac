"""Facts about defences: the command line and the docs read this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from guestlist.defences.plain import Fit
from guestlist.defences.refit import Refit


@dataclass(frozen=True)
class Defence:
    """One way to train.

    Args:
        recipe: a frozen dataclass that is a ``Recipe``; its fields are the options.
        trains: what it trains.
        summary: what it does, for people.
        paper: where it comes from; "" for plain training.
        cost: what it takes beside plain training, for people.
    """

    recipe: type[Any]
    trains: Literal["torch module", "estimator"]
    summary: str
    paper: str
    cost: str


DEFENCES: dict[str, Defence] = {
    "fit": Defence(Fit, "torch module", "plain training with AdamW or SGD, no defence", "", "none"),
    "refit": Defence(Refit, "estimator", "a scikit-learn-style estimator as it is, no defence", "", "none"),
}
