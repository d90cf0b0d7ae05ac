"""A way to train, with an identity: what everything that trains implements or wraps.

What decides the bits of a model is in its recipe's description, and the description in the fingerprint of the audit: two
recipes that differ never share a folder.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.fingerprints import describe


@runtime_checkable
class Recipe(Protocol):
    """How a model is trained.

    A recipe of torch modules that can learn from soft labels also has ``distil(module, data, soft, rng)``, one of
    estimators that can weigh records ``weighted(model, data, weight, rng)``. ``plain()`` is the recipe without the defence: what
    somebody who does not know of it would train by.
    """

    def __call__(self, model: Any, data: Data, rng: np.random.Generator, /) -> Any:
        """A model like ``model``, trained anew on the records, with all its randomness from ``rng``.

        Args:
            model: a torch module, or an estimator; it is left as it was.
            data: for a torch module, ``data.y`` holds positions of classes, or numbers for regression; for an
                estimator, the labels as the user wrote them.
        """

    def describe(self) -> str:
        """Names the class, its module, its version and every option; :func:`guestlist.fingerprints.described` helps."""


@dataclass(frozen=True)
class Function:
    """A user's function ``(data, rng) -> model`` as a recipe: its identity is its source and what it closes over.

    It gets the labels as the user wrote them, and knows by itself what to train.
    """

    function: Callable[[Data, np.random.Generator], Any]
    given_labels: bool = True

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.function(data, rng)

    def describe(self) -> str:
        return describe(self.function)


@dataclass(frozen=True)
class Described:
    """A training ``(model, data, rng) -> model`` that does not describe itself, as a recipe that does."""

    train: Callable[[Any, Data, np.random.Generator], Any]

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.train(model, data, rng)

    def describe(self) -> str:
        return describe(self.train)

    def __getattr__(self, name: str) -> Any:
        if name in ("distil", "weighted", "plain"):  # what it can do beyond training
            return getattr(self.train, name)
        raise AttributeError(name)


def as_recipe(train) -> Recipe:
    """The recipe that ``train`` is, or that a function of the user's makes; anything else is refused in words."""
    if isinstance(train, type):
        raise InputError(f"Expected train={train.__name__}(…), a recipe with its options, found the class itself.")
    if not callable(train):
        raise InputError(f"{_EXPECTED}, found {_told(train)}.")
    if _takes(train, 3) and not (inspect.isfunction(train) and _takes(train, 2)):
        return train if isinstance(train, Recipe) else Described(train)
    if _takes(train, 2):
        return Function(train)
    raise InputError(f"{_EXPECTED}, found {_told(train)}, which can be called with neither.")


def without_defence(recipe: Recipe) -> Recipe:
    """What somebody who does not know of the defence trains by."""
    if not hasattr(recipe, "plain"):
        raise InputError(
            f"What is {type(recipe).__name__} without its defence? Give the recipe a method plain() that returns it, "
            "for attacker='naive'."
        )
    return recipe.plain()


def as_function(train) -> Callable[[Data, np.random.Generator], Any]:
    """The user's function ``(data, rng) -> model``; a recipe is refused, since there is no model to hand to it."""
    recipe = as_recipe(train)
    if not isinstance(recipe, Function):
        raise InputError(
            f"{type(train).__name__} is called with (model, data, rng), and a function has no model to train. Give "
            "train=(data, rng) -> predict; or wrap the module with gl.torch_target, the estimator with gl.estimator_target."
        )
    return recipe.function


_EXPECTED = "Expected train=… to be a recipe such as gl.Fit(), called with (model, data, rng), or a function (data, rng) -> model"


def _told(value) -> str:
    return f"{type(value).__name__} {value!r}"[:100]


def _takes(train: Callable, count: int) -> bool:
    """Whether it can be called with so many arguments by position."""
    try:
        inspect.signature(train).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # built in: nothing is known of its arguments
        return count == 2
    return True
