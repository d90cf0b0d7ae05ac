"""Recipes for estimators: refit as is, or with stronger regularisation."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from guestlist._util import EXAMPLE, SEEDS, THREADS, DescribedRecipe, names_ending
from guestlist.data import Data
from guestlist.defences.recipe import package_of, unfitted
from guestlist.errors import InputError


@dataclass(frozen=True)
class Refit(DescribedRecipe):
    """Train a clone on other records, with fresh seeds, one thread and the records' ``fit_params``.

    Seeds are fresh even if the user fixed one, because an attacker does not know the target's seed. One thread suffices because
    models are trained in parallel, and results then do not depend on the number of cores.
    """

    def __call__(self, model, data: Data, rng: np.random.Generator, **weights: np.ndarray):
        model = unfitted(model)
        parameters = model.get_params(deep=True)
        _check_rounds(model, parameters)
        silent = _silent(model, parameters)
        fresh = {name: int(rng.integers(2**31 - 1)) for name in sorted(names_ending((*parameters, *silent), SEEDS))}
        single = {name: 1 for name in names_ending(parameters, THREADS) if not _single(model, parameters, name)}
        model.set_params(**{**silent, **fresh, **single})
        arguments = {**_fit_arguments(data), **weights}
        check_arguments(model, arguments)
        model.fit(data.x, data.y, **arguments)
        return model

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """Train with a weight per record."""
        name = weight_parameter(model)
        if name is None:
            raise InputError(
                f"{type(model).__name__}.fit accepts no sample_weight, which this training needs. Use another model."
            )
        arguments = _fit_arguments(data)
        if name in arguments:
            weight = weight * arguments[name]
        return self(model, data, rng, **{name: weight})

    def plain(self) -> "Refit":
        """Return itself: it has no defence."""
        return self


def _fit_arguments(data: Data) -> Mapping[str, Any]:
    """Return the arguments for ``fit`` that belong to the records."""
    if data.fit_params is None:
        return {}
    return data.fit_params.arguments


def check_arguments(model, arguments: Mapping[str, Any]) -> None:
    """Raise for arguments that ``fit`` does not accept, and for models whose ``fit`` needs others.

    Args:
        model: Estimator.
        arguments: Name to value.

    Raises:
        InputError: If ``fit`` cannot be called with these arguments.
    """
    try:
        inspect.signature(model.fit).bind(None, None, **arguments)
    except TypeError as error:
        raise InputError(
            f"Cannot call {type(model).__name__}.fit with {', '.join(['x', 'y', *arguments])}: {error}. Pass arguments of "
            f"fit with {EXAMPLE}. In a pipeline, add the name of the step (step__sample_weight)."
        ) from error
    except ValueError:  # compiled code has no signature
        return


# Options that silence CatBoost: it accepts only one of them.
SILENT = {"verbose": False, "logging_level": "Silent", "silent": True, "verbose_eval": False}


def _silent(model, parameters) -> dict[str, Any]:
    """Return settings for CatBoost, which lists only parameters that were set: one thread, no files, silence, a seed."""
    settings: dict[str, Any] = {}
    for name, part in {"": model, **parameters}.items():
        if hasattr(part, "get_params") and package_of(part) == "catboost":
            parameters_set = part.get_params()
            silencer = next((option for option in SILENT if option in parameters_set), "verbose")
            options = {silencer: SILENT[silencer], "allow_writing_files": False, "thread_count": 1}
            if not set(SEEDS) & set(parameters_set):  # its seed has two names, and it accepts only one of them
                options["random_seed"] = 0
            settings |= {
                f"{name}__{name_of_option}" if name else name_of_option: value
                for name_of_option, value in options.items()
            }
    return settings


EARLY_STOPPING = ("early_stopping_round", "early_stopping_rounds")


def _check_rounds(model, parameters) -> None:
    """Raise for models that stop early with validation records: references have none."""
    for name in names_ending(parameters, EARLY_STOPPING):
        part = parameters[name.rpartition("__")[0]] if "__" in name else model
        if parameters[name] and package_of(part) in ("xgboost", "lightgbm"):
            raise InputError(
                f"{type(part).__name__} stops early ({name}={parameters[name]}), based on records passed to fit that are "
                "not available here. Turn early stopping off and set n_estimators to the number of rounds, as gl.audit "
                "does for a fitted model."
            )


def _single(model, parameters, name: str) -> bool:
    """Return whether an unset number of threads means one, as in scikit-learn, which may warn if it is set."""
    owner = parameters[name.rpartition("__")[0]] if "__" in name else model
    return parameters[name] is None and type(owner).__module__.partition(".")[0] == "sklearn"


def weight_parameter(model) -> str | None:
    """Return the name of the weights of records in ``fit``, also through a pipeline.

    Args:
        model: Estimator or pipeline.

    Returns:
        Name of the argument; None if it takes none.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        name, final = model.steps[-1]
        inner = weight_parameter(final)
        return inner and f"{name}__{inner}"
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    return None


@dataclass(frozen=True)
class Regularised(DescribedRecipe):
    """Train a clone with other parameters, as ``Refit`` does.

    Args:
        parameters: Names to values; for a pipeline, of its last step.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, model, data: Data, rng: np.random.Generator):
        return Refit()(self.set_in(model), data, rng)

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """Train with a weight per record."""
        return Refit().weighted(self.set_in(model), data, weight, rng)

    def plain(self) -> Refit:
        """Return the training of a naive attacker, who does not know the parameters."""
        return Refit()

    def set_in(self, model):
        """Return an unfitted clone with the parameters."""
        prefix, last = last_step(model)
        unknown = [name for name in self.parameters if name not in last.get_params(deep=True)]
        if unknown:
            raise InputError(f"{type(last).__name__} has no parameter {unknown[0]!r}. Check the names in parameters=.")
        return unfitted(model).set_params(**{prefix + name: value for name, value in self.parameters.items()})


@dataclass(frozen=True)
class Knob:
    """Parameter of a family of estimators that regularises.

    Args:
        parameter: Name of the parameter.
        stronger: Function from the present value and the number of training records to values that regularise increasingly;
            a present value of None means the default of the family.
    """

    parameter: str
    stronger: Callable[[Any, int], list[Any]]


def times(now, records: int, *, factors: Sequence[float], instead_of_0: float = 1.0) -> list[Any]:
    """Return multiples of the present value; of ``instead_of_0`` for 0, of 1 for infinity (no penalty)."""
    if now is None or np.isinf(now):
        now = 1.0
    return [_like(now, factor * (now or instead_of_0)) for factor in factors]


def fewer(now, records: int, *, divisors: Sequence[int], default: int, least: int = 1) -> list[Any]:
    """Return fractions of the present whole number, at least ``least``."""
    if now is None or now < 1:  # -1 and 0 also mean "no limit"
        now = default
    return [max(least, now // divisor) for divisor in divisors]


def leaf(now, records: int, *, factors: Sequence[int]) -> list[Any]:
    """Return larger leaves, in records or as a share of them, small enough to leave a split."""
    if isinstance(now, float) and now < 1:
        return [now * factor for factor in factors if now * factor < 0.5]
    return [int(now) * factor for factor in factors if int(now) * factor < records // 4]


LEAVES = Knob("min_samples_leaf", partial(leaf, factors=(5, 20, 80)))
DEEP = 32  # assumed depth of a tree without a limit
PENALTY = Knob("C", partial(times, factors=(0.1, 0.01, 0.001)))
ALPHA = Knob("alpha", partial(times, factors=(10, 100, 1000)))
# A family is recognised by the name of its class or of a parent class, so that no library has to be imported.
_TREE = (LEAVES, Knob("max_depth", partial(fewer, divisors=(2, 4, 8), default=DEEP)))
_BOOSTED = (
    Knob("n_estimators", partial(fewer, divisors=(2, 4, 8), default=100)),
    Knob("max_depth", partial(fewer, divisors=(2, 3), default=DEEP)),
    LEAVES,
)
_HIST = (
    Knob("max_iter", partial(fewer, divisors=(2, 4, 8), default=100)),
    Knob("max_leaf_nodes", partial(fewer, divisors=(2, 4, 8), default=DEEP, least=2)),
    Knob("min_samples_leaf", partial(leaf, factors=(4, 16))),
    Knob("l2_regularization", partial(times, factors=(10, 100, 1000))),
)
_XGBOOST = (
    Knob("n_estimators", partial(fewer, divisors=(2, 4, 8), default=100)),
    Knob("max_depth", partial(fewer, divisors=(2, 3), default=6)),
    Knob("min_child_weight", partial(times, factors=(5, 20, 80))),
    Knob("reg_lambda", partial(times, factors=(10, 100, 1000))),
)
_LIGHTGBM = (
    Knob("n_estimators", partial(fewer, divisors=(2, 4, 8), default=100)),
    Knob("num_leaves", partial(fewer, divisors=(2, 4, 8), default=31, least=2)),
    Knob("min_child_samples", partial(leaf, factors=(4, 16))),
    Knob("reg_lambda", partial(times, factors=(10, 100, 1000))),
)
# More neighbours, up to a small share of the records.
_NEIGHBOURS = (Knob("n_neighbors", lambda now, records: [now * k for k in (3, 9, 27) if now * k <= records // 8]),)
_PERCEPTRON = (
    Knob("alpha", partial(times, factors=(10, 100, 1000, 10000), instead_of_0=1e-4)),
    Knob("early_stopping", lambda now, records: [True]),
)
REGULARISATION: dict[str, tuple[Knob, ...]] = {
    "DecisionTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "RandomForestClassifier": _TREE,
    "RandomForestRegressor": _TREE,
    "ExtraTreesClassifier": _TREE,
    "ExtraTreesRegressor": _TREE,
    "GradientBoostingClassifier": _BOOSTED,
    "GradientBoostingRegressor": _BOOSTED,
    "HistGradientBoostingClassifier": _HIST,
    "HistGradientBoostingRegressor": _HIST,
    "XGBClassifier": _XGBOOST,
    "XGBRegressor": _XGBOOST,
    "LGBMClassifier": _LIGHTGBM,
    "LGBMRegressor": _LIGHTGBM,
    "XgboostBooster": _XGBOOST,
    "LightgbmBooster": _LIGHTGBM,
    "LogisticRegression": (PENALTY,),
    "SVC": (PENALTY,),
    "SVR": (PENALTY,),
    "LinearSVC": (PENALTY,),
    "Ridge": (ALPHA,),
    "RidgeClassifier": (ALPHA,),
    "Lasso": (ALPHA,),
    "ElasticNet": (ALPHA,),
    "SGDClassifier": (ALPHA,),
    "SGDRegressor": (ALPHA,),
    "KNeighborsClassifier": _NEIGHBOURS,
    "KNeighborsRegressor": _NEIGHBOURS,
    "MLPClassifier": _PERCEPTRON,
    "MLPRegressor": _PERCEPTRON,
}


def grid(model, records: int) -> Iterator[Regularised]:
    """Yield recipes that each change one parameter to regularise more than at present.

    Args:
        model: Estimator, or pipeline that ends with one; there is nothing to try for an unknown family.
        records: Number of training records.

    Yields:
        Recipes with one changed parameter each.
    """
    _, last = last_step(model)
    present = last.get_params(deep=False)
    for knob in family(last):
        if knob.parameter not in present:
            continue
        now = present[knob.parameter]
        for value in dict.fromkeys(knob.stronger(now, records)):
            if value != now:
                yield Regularised({knob.parameter: value})


def family(estimator) -> tuple[Knob, ...]:
    """Return the parameters that regularise an estimator's family; none if it is not known."""
    return next((REGULARISATION[c.__name__] for c in type(estimator).__mro__ if c.__name__ in REGULARISATION), ())


def last_step(model) -> tuple[str, Any]:
    """Return the last step of nested pipelines.

    Args:
        model: Estimator or pipeline.

    Returns:
        Prefix of its parameter names, and the last step.
    """
    prefix = ""
    while getattr(model, "steps", None):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    return prefix, model


def _like(now, value: float) -> Any:
    """Return the value as a whole number if it is one and the present value is too."""
    if isinstance(now, int) and float(value).is_integer():
        return int(value)
    return float(f"{value:.6g}")
