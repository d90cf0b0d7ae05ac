"""Training recipes: the protocol of everything that trains, with an identity.

The description of a recipe determines the model, and is part of the audit's fingerprint: two recipes that differ never share a
folder.
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
    """Training of a model.

    A recipe for torch modules that supports soft labels also has ``distil(module, data, soft, rng)``; a recipe for estimators
    that supports weights has ``weighted(model, data, weight, rng)``. ``plain()`` returns the recipe without the defence, which
    a naive attacker uses.
    """

    def __call__(self, model: Any, data: Data, rng: np.random.Generator, /) -> Any:
        """Train a model like ``model`` from scratch, with all its randomness from ``rng``.

        Args:
            model: Torch module, or estimator; it is not changed.
            data: Records. For a torch module, ``data.y`` holds positions of classes, or numbers for regression; for an
                estimator, the user's labels.
        """

    def describe(self) -> str:
        """Return the class, its module, its version and every option; see :func:`guestlist.fingerprints.described`."""


@dataclass(frozen=True)
class Function:
    """A user's function ``(data, rng) -> model`` as a recipe, identified by its source and closure.

    It receives the user's labels, and needs no model.
    """

    function: Callable[[Data, np.random.Generator], Any]
    given_labels: bool = True

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.function(data, rng)

    def describe(self) -> str:
        return describe(self.function)


@dataclass(frozen=True)
class Described:
    """A training ``(model, data, rng) -> model`` without ``describe()``, as a recipe."""

    train: Callable[[Any, Data, np.random.Generator], Any]

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.train(model, data, rng)

    def describe(self) -> str:
        return describe(self.train)

    def __getattr__(self, name: str) -> Any:
        if name in ("distil", "weighted", "plain"):  # optional methods of a recipe
            return getattr(self.train, name)
        raise AttributeError(name)


def as_recipe(train) -> Recipe:
    """Return ``train`` as a recipe, also if it is a function; raise for anything else."""
    if isinstance(train, type):
        raise InputError(f"Expected train={train.__name__}(…), a recipe with its options, found the class itself.")
    if not callable(train):
        raise InputError(f"{_EXPECTED}, found {_short(train)}.")
    if _takes(train, 3) and not (inspect.isfunction(train) and _takes(train, 2)):
        return train if isinstance(train, Recipe) else Described(train)
    if _takes(train, 2):
        return Function(train)
    raise InputError(f"{_EXPECTED}, found {_short(train)}, which can be called with neither.")


def without_defence(recipe: Recipe) -> Recipe:
    """Return the recipe without its defence, for a naive attacker."""
    if not hasattr(recipe, "plain"):
        raise InputError(
            f"What is {type(recipe).__name__} without its defence? Give the recipe a method plain() that returns it, "
            "for attacker='naive'."
        )
    return recipe.plain()


def as_function(train) -> Callable[[Data, np.random.Generator], Any]:
    """Return the user's function ``(data, rng) -> model``; refuse a recipe, which needs a model."""
    recipe = as_recipe(train)
    if not isinstance(recipe, Function):
        raise InputError(
            f"{type(train).__name__} is called with (model, data, rng), and a function has no model to train. Give "
            "train=(data, rng) -> predict; or wrap the module with gl.torch_target, the estimator with gl.estimator_target."
        )
    return recipe.function


_EXPECTED = "Expected train=… to be a recipe such as gl.Fit(), called with (model, data, rng), or a function (data, rng) -> model"


def _short(value) -> str:
    return f"{type(value).__name__} {value!r}"[:100]


def _takes(train: Callable, count: int) -> bool:
    """Return whether a function accepts ``count`` positional arguments."""
    try:
        inspect.signature(train).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # built-in functions have no signature
        return count == 2
    return True
