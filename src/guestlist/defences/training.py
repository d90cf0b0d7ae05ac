"""Facts about the training of a model that an audit stores, and the attacker's knowledge of it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

ATTACKERS = ("adaptive", "naive")
DELTA = 1e-5


@dataclass(frozen=True)
class Training:
    """Training of a model.

    Args:
        recipe: Description in reports.
        attacker: ``adaptive`` has references with the training and the output defence of the model; ``naive`` does not know
            the defence.
        tried: Number of recipes that were trained to choose this one, including it; None if it is not known.
        noise, rate, steps: Parameters of differentially private training.
        epsilon, delta: Guarantee for one training; None without a guarantee, or if it has not been computed.
    """

    recipe: str
    attacker: str = "adaptive"
    tried: int | None = None
    noise: float | None = None
    rate: float | None = None
    steps: int | None = None
    epsilon: float | None = None
    delta: float | None = None


def training_of(recipe: Any, attacker: str = "adaptive", model: str = "") -> Training:
    """Return the facts about a recipe.

    Args:
        recipe: Recipe of the target.
        attacker: ``adaptive`` or ``naive``.
        model: Description of the model, if it is more informative than that of the recipe.
    """
    private: dict[str, Any] = {}
    if hasattr(recipe, "privacy"):
        types = {"noise": float, "rate": float, "steps": int}
        values = {name: getattr(recipe, name, None) for name in types}
        private = {name: types[name](value) for name, value in values.items() if value is not None}
    return Training(recipe=model or written(recipe), attacker=attacker, tried=getattr(recipe, "tried", None), **private)


def check_attacker(attacker: str) -> None:
    if attacker not in ATTACKERS:
        raise ValueError(f"Expected attacker={attacker!r} to be 'adaptive' or 'naive'.")


def written(value: Any) -> str:
    """Return a recipe as Python code, with the options that differ from the defaults.

    >>> from guestlist.defences import Fit, LabelSmoothing
    >>> written(Fit(epochs=3, objective=LabelSmoothing()))
    'Fit(epochs=3, objective=LabelSmoothing())'
    """
    if hasattr(value, "tried"):  # the number of trials is reported separately
        return written(value.recipe)
    if is_dataclass(value) and not isinstance(value, type):
        options = (
            f"{option.name}={written(getattr(value, option.name))}"
            for option in fields(value)
            if _is_set(option, value)
        )
        return f"{type(value).__name__}({', '.join(options)})"
    return value.__name__ if hasattr(value, "__name__") else repr(value)


def _is_set(option, value: Any) -> bool:
    """Return whether an option differs from its default and does not hold records."""
    default = option.default if option.default_factory is MISSING else option.default_factory()
    return option.repr and (default is MISSING or getattr(value, option.name) != default)
