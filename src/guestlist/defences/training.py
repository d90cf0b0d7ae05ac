"""How a model was trained, as facts that an audit keeps, and what its attacker knows of it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

ATTACKERS = ("adaptive", "naive")
DELTA = 1e-5


@dataclass(frozen=True)
class Training:
    """How a model was trained.

    Args:
        recipe: for people.
        attacker: ``adaptive`` has references that were trained as the model was, and answer as it does; ``naive`` does not
            know of the defence.
        tried: recipes that were trained before this one was chosen, this one counted in; None: nobody said.
        noise, rate, steps: of a training with differential privacy.
        epsilon, delta: what that promises, for one training; None where it promises nothing, or nobody has computed it.
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
    """The facts about a recipe.

    Args:
        model: what it trains, where that says more than the recipe.
    """

    def number(name: str, kind: type) -> Any:
        """An option of a training with differential privacy, if it has one of that name."""
        value = getattr(recipe, name, None) if hasattr(recipe, "privacy") else None
        return None if value is None else kind(value)

    return Training(
        recipe=model or written(recipe),
        attacker=attacker,
        tried=getattr(recipe, "tried", None),
        noise=number("noise", float),
        rate=number("rate", float),
        steps=number("steps", int),
    )


def check_attacker(attacker: str) -> None:
    if attacker not in ATTACKERS:
        raise ValueError(f"Expected attacker={attacker!r} to be 'adaptive' or 'naive'.")


def written(value: Any) -> str:
    """A recipe as one would write it, with the options that are not its defaults.

    >>> from guestlist.defences import Fit, LabelSmoothing
    >>> written(Fit(epochs=3, objective=LabelSmoothing()))
    'Fit(epochs=3, objective=LabelSmoothing())'
    """
    if hasattr(value, "tried"):  # what it was chosen from is told apart
        return written(value.recipe)
    if is_dataclass(value) and not isinstance(value, type):
        options = (f"{one.name}={written(getattr(value, one.name))}" for one in fields(value) if _given(one, value))
        return f"{type(value).__name__}({', '.join(options)})"
    return value.__name__ if hasattr(value, "__name__") else repr(value)


def _given(one, value: Any) -> bool:
    """Whether an option is worth telling: it is not its default, nor records."""
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return one.repr and (default is MISSING or getattr(value, one.name) != default)
