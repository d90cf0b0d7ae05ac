"""An estimator's own regularisation: the same estimator with other parameters, and for each family those worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guestlist.data import Data
from guestlist.defences.refit import Refit
from guestlist.defences.unfitted import unfitted
from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class Regularised:
    """Train a clone with other parameters, as ``Refit`` does; the parameters that it has already change nothing.

    Args:
        parameters: names to values; of a pipeline, those of its last step.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, model, data: Data, rng: np.random.Generator):
        return Refit()(self.set_in(model), data, rng)

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """The same with a weight per record."""
        return Refit().weighted(self.set_in(model), data, weight, rng)

    def plain(self) -> Refit:
        """What somebody trains by who does not know of the parameters."""
        return Refit()

    def set_in(self, model):
        """An unfitted clone that has the parameters."""
        prefix, last = last_step(model)
        unknown = [name for name in self.parameters if name not in last.get_params(deep=True)]
        if unknown:
            raise InputError(f"{type(last).__name__} has no parameter {unknown[0]!r}.")
        return unfitted(model).set_params(**{prefix + name: value for name, value in self.parameters.items()})

    def describe(self) -> str:
        return described(self)


@dataclass(frozen=True)
class Knob:
    """One parameter of a family of estimators that regularises.

    Args:
        parameter: its name.
        stronger: from the present value and the number of records trained on to values that regularise more and more; None
            stands for the default of the family.
    """

    parameter: str
    stronger: Callable[[Any, int], list[Any]]


def times(*factors: float, default: float = 1.0, instead_of_0: float = 1.0) -> Callable[[Any, int], list[Any]]:
    """Multiples of the present value; of 0, of ``instead_of_0``; of infinity, which is no penalty, of the default."""

    def stronger(now, records: int) -> list[Any]:
        now = default if now is None or np.isinf(now) else now
        return [_like(now, factor * (now or instead_of_0)) for factor in factors]

    return stronger


def fewer(*divisors: int, default: int, least: int = 1) -> Callable[[Any, int], list[Any]]:
    """Parts of the present whole number, down to ``least``."""

    def stronger(now, records: int) -> list[Any]:
        now = default if now is None or now < 1 else now  # some write -1 or 0 for "no limit"
        return [max(least, now // divisor) for divisor in divisors]

    return stronger


def leaf(*factors: int) -> Callable[[Any, int], list[Any]]:
    """Larger leaves, counted in records or as a share of them; not so large that no split is left."""

    def stronger(now, records: int) -> list[Any]:
        if isinstance(now, float) and now < 1:
            return [now * factor for factor in factors if now * factor < 0.5]
        return [int(now) * factor for factor in factors if int(now) * factor < records // 4]

    return stronger


def neighbours(*factors: int) -> Callable[[Any, int], list[Any]]:
    """More neighbours, as long as they are a small part of the records."""

    def stronger(now, records: int) -> list[Any]:
        return [now * factor for factor in factors if now * factor <= records // 8]

    return stronger


def always(value: Any) -> Callable[[Any, int], list[Any]]:
    return lambda now, records: [value]


LEAVES = Knob("min_samples_leaf", leaf(5, 20, 80))
DEEP = 32  # where a tree may grow until its leaves are pure
PENALTY = Knob("C", times(0.1, 0.01, 0.001))
ALPHA = Knob("alpha", times(10, 100, 1000))
# A family is known by the name of its class, or of one that it is derived from: no library is loaded to look it up.
_TREE = (LEAVES, Knob("max_depth", fewer(2, 4, 8, default=DEEP)))
_BOOSTED = (
    Knob("n_estimators", fewer(2, 4, 8, default=100)),
    Knob("max_depth", fewer(2, 3, default=DEEP)),
    LEAVES,
)
_HIST = (
    Knob("max_iter", fewer(2, 4, 8, default=100)),
    Knob("max_leaf_nodes", fewer(2, 4, 8, default=DEEP, least=2)),
    Knob("min_samples_leaf", leaf(4, 16)),
    Knob("l2_regularization", times(10, 100, 1000)),
)
_XGBOOST = (
    Knob("n_estimators", fewer(2, 4, 8, default=100)),
    Knob("max_depth", fewer(2, 3, default=6)),
    Knob("min_child_weight", times(5, 20, 80)),
    Knob("reg_lambda", times(10, 100, 1000)),
)
_LIGHTGBM = (
    Knob("n_estimators", fewer(2, 4, 8, default=100)),
    Knob("num_leaves", fewer(2, 4, 8, default=31, least=2)),
    Knob("min_child_samples", leaf(4, 16)),
    Knob("reg_lambda", times(10, 100, 1000)),
)
_NEIGHBOURS = (Knob("n_neighbors", neighbours(3, 9, 27)),)
_PERCEPTRON = (Knob("alpha", times(10, 100, 1000, 10000, instead_of_0=1e-4)), Knob("early_stopping", always(True)))
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
    """The estimator's own regularisation, a value at a time, each stronger than the present one.

    Args:
        model: an estimator, or a pipeline that ends with one; of a family that is not known there is nothing to try.
        records: how many it is trained on.
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
    """The knobs of an estimator's family; none where it is not known."""
    names = (cls.__name__ for cls in type(estimator).__mro__)
    return next((REGULARISATION[name] for name in names if name in REGULARISATION), ())


def last_step(model) -> tuple[str, Any]:
    """What the names of the estimator's parameters begin with in the whole, and the estimator: the last step of pipelines."""
    steps, prefix = getattr(model, "steps", None), ""
    while steps:
        name, model = steps[-1]
        prefix, steps = f"{prefix}{name}__", getattr(model, "steps", None)
    return prefix, model


def _like(now, value: float) -> Any:
    """A whole number where the present value is one and the new one can be."""
    return int(value) if isinstance(now, int) and float(value).is_integer() else float(f"{value:.6g}")
