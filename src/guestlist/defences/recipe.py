"""Training recipes: how a model is trained, with an identity and facts for the report."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from guestlist._util import describe, integer
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.models.frameworks import FRAMEWORKS, packages_of


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
        """Return the class, its module, its version and every option; see :func:`guestlist._util.fingerprints.described`."""


@dataclass(frozen=True)
class Function:
    """A user's function ``(data, rng) -> model`` as a recipe, identified by its source and closure.

    It receives the user's labels, and needs no model.
    """

    function: Callable[[Data, np.random.Generator], Any]
    given_labels: bool = True

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        trained = self.function(data, rng)
        if trained is None:
            raise InputError("The function train= returned None. Return the trained model.")
        return trained

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
    """Return a training as a recipe.

    Args:
        train: Recipe ``(model, data, rng) -> model``, or function ``(data, rng) -> model``.

    Returns:
        The recipe.

    Raises:
        InputError: If it is a class, or cannot be called with these arguments.
    """
    if isinstance(train, type):
        raise InputError(
            f"train={train.__name__} is a class. Pass an object with its options: train={train.__name__}(…)."
        )
    if not callable(train):
        raise InputError(f"{_EXPECTED}, found {_short(train)}.")
    if _takes(train, 3) and not (inspect.isfunction(train) and _takes(train, 2)):
        if isinstance(train, Recipe):
            return train
        return Described(train)
    if _takes(train, 2):
        return Function(train)
    raise InputError(f"{_EXPECTED}, found {_short(train)}, which accepts neither set of arguments.")


def without_defence(recipe: Recipe) -> Recipe:
    """Return the recipe without its defence, for a naive attacker.

    Args:
        recipe: Recipe of the target.

    Returns:
        The result of its method ``plain()``.

    Raises:
        InputError: If it has no such method.
    """
    if not hasattr(recipe, "plain"):
        raise InputError(
            f"attacker='naive' trains reference models without the defence, but {type(recipe).__name__} has no method plain() "
            "that returns the recipe without it. Add this method, or use attacker='adaptive'."
        )
    return recipe.plain()


def as_function(train) -> Callable[[Data, np.random.Generator], Any]:
    """Return the user's function ``(data, rng) -> model``.

    Args:
        train: Value that the user passed.

    Returns:
        The function.

    Raises:
        InputError: If it is a recipe, which needs a model, or cannot be called.
    """
    recipe = as_recipe(train)
    if not isinstance(recipe, Function):
        raise InputError(
            f"{type(train).__name__} is called with (model, data, rng), and a function has no model to train. Pass "
            "train=, a function (data, rng) -> predict. Or wrap a module with gl.torch_target, an estimator with "
            "gl.estimator_target."
        )
    return recipe.function


_EXPECTED = (
    "Expected train=… to be a recipe such as gl.defences.Fit(), called with (model, data, rng), "
    "or a function (data, rng) -> model"
)


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


@dataclass(frozen=True)
class Searched:
    """Recipe that performed best of several.

    It trains as ``recipe`` does, and has all its methods. Reports then state that a guarantee of differential privacy is for one
    training, and does not account for the search.

    Args:
        recipe: The chosen recipe.
        tried: Number of recipes that were trained, including this one.

    Raises:
        ValueError: If ``tried`` is less than 1.
    """

    recipe: Any
    tried: int

    def __post_init__(self):
        integer("tried", self.tried, 1)

    def __call__(self, model: Any, data: Data, rng: np.random.Generator) -> Any:
        return self.recipe(model, data, rng)

    def describe(self) -> str:
        return self.recipe.describe()  # the number of tried recipes does not change the model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("recipe", "tried"):  # a copy in progress has no fields yet
            raise AttributeError(name)
        return getattr(self.recipe, name)


# Attributes of scikit-learn's estimators that are not parameters: the form of outputs, and requested metadata.
_ATTRIBUTES = ("_sklearn_output_config", "_metadata_request")


def unfitted(model) -> Any:
    """Return an unfitted copy with the same parameters.

    scikit-learn's ``clone`` refuses models whose constructors change their parameters, such as CatBoost's ``cat_features``.

    Args:
        model: Estimator.

    Returns:
        The copy.
    """
    from sklearn.base import clone

    try:
        return clone(model)
    except RuntimeError:
        return _rebuilt(model)


def _rebuilt(value):
    if isinstance(value, list | tuple):
        return type(value)([_rebuilt(part) for part in value])
    if not hasattr(value, "get_params") or isinstance(value, type):
        return deepcopy(value)
    made = type(value)(**{name: _rebuilt(part) for name, part in value.get_params(deep=False).items()})
    for name in _ATTRIBUTES:
        if hasattr(value, name):
            setattr(made, name, deepcopy(getattr(value, name)))
    return made


def package_of(model) -> str:
    """Return the booster's package, such as xgboost, also for a user's subclass.

    Args:
        model: Estimator.

    Returns:
        Name of the package; "" for other models.
    """
    packages = packages_of(model)
    return next((name for name in FRAMEWORKS["boosters"].packages if name in packages), "")


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

    Returns:
        The facts that reports state.
    """
    types = {"noise": float, "rate": float, "steps": int} if hasattr(recipe, "privacy") else {}
    private: dict[str, Any] = {
        name: type_(getattr(recipe, name)) for name, type_ in types.items() if getattr(recipe, name, None) is not None
    }
    return Training(recipe=model or written(recipe), attacker=attacker, tried=getattr(recipe, "tried", None), **private)


def written(value: Any) -> str:
    """Return a recipe as Python code, with the options that differ from the defaults.

    Args:
        value: Recipe, or one of its options.

    Returns:
        The code.

    Examples:
        >>> gl.defences.written(gl.defences.Fit(epochs=3, objective=gl.defences.LabelSmoothing()))
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
    if hasattr(value, "__name__"):
        return value.__name__
    return repr(value)


def _is_set(option, value: Any) -> bool:
    """Return whether an option differs from its default and does not hold records."""
    default = option.default if option.default_factory is MISSING else option.default_factory()
    return option.repr and (default is MISSING or getattr(value, option.name) != default)
