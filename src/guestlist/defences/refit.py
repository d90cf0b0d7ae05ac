"""Plain training of an estimator, without a defence: ``clone(model).fit`` on other records."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist.data import Data
from guestlist.defences.unfitted import package_of, unfitted
from guestlist.errors import InputError
from guestlist.fingerprints import SEEDS, THREADS, described, last
from guestlist.fit_params import EXAMPLE


@dataclass(frozen=True)
class Refit:
    """Train a clone on other records, with fresh seeds, one thread and the records' ``fit_params``.

    Seeds are fresh even if the user fixed one, because an attacker does not know the target's seed. One thread suffices because
    models are trained in parallel, and results then do not depend on the number of cores.
    """

    def __call__(self, model, data: Data, rng: np.random.Generator):
        return self._fitted(model, data, rng)

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """Train with a weight per record."""
        name = weight_parameter(model)
        if name is None:
            raise InputError(f"{type(model).__name__} takes no sample_weight in fit.")
        arguments = _fit_arguments(data)
        if name in arguments:
            weight = weight * arguments[name]
        return self._fitted(model, data, rng, **{name: weight})

    def plain(self) -> Refit:
        """Return itself: it has no defence."""
        return self

    def describe(self) -> str:
        return described(self)

    def _fitted(self, model, data: Data, rng: np.random.Generator, **weights):
        model = unfitted(model)
        parameters = model.get_params(deep=True)
        _check_rounds(model, parameters)
        silent = _silent(model, parameters)
        seeds = [name for name in (*parameters, *silent) if last(name) in SEEDS]
        fresh = {name: int(rng.integers(2**31 - 1)) for name in sorted(seeds)}
        single = {name: 1 for name in parameters if last(name) in THREADS and not _single(model, parameters, name)}
        model.set_params(**{**silent, **fresh, **single})
        arguments = {**_fit_arguments(data), **weights}
        check_arguments(model, arguments)
        model.fit(data.x, data.y, **arguments)
        return model


def _fit_arguments(data: Data) -> Mapping[str, Any]:
    """Return the arguments for ``fit`` that belong to the records."""
    if data.fit_params is None:
        return {}
    return data.fit_params.arguments


def check_arguments(model, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that ``fit`` does not accept, and models whose ``fit`` needs others."""
    try:
        inspect.signature(model.fit).bind(None, None, **arguments)
    except TypeError as error:
        raise InputError(
            f"{type(model).__name__}.fit cannot be called with {', '.join(['x', 'y', *arguments])}: {error}. Pass other "
            f"arguments of fit with {EXAMPLE}; names are those of fit, in a pipeline with the step before them "
            "(step__sample_weight)."
        ) from error
    except ValueError:  # compiled code has no signature
        return


# Options that silence CatBoost: it accepts only one of them.
SILENT = {"verbose": False, "logging_level": "Silent", "silent": True, "verbose_eval": False}


def _silent(model, parameters) -> dict[str, Any]:
    """Return settings for CatBoost, which lists only parameters that were set: one thread, no files, silence, a seed."""
    settings: dict[str, Any] = {}
    for name, part in {"": model, **parameters}.items():
        if package_of(part) == "catboost" and hasattr(part, "get_params"):
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


def _check_rounds(model, parameters) -> None:
    """Refuse models that stop early with validation records: references have none."""
    stopping = [name for name in parameters if last(name).startswith("early_stopping_round") and parameters[name]]
    parts = [parameters[name.rpartition("__")[0]] if "__" in name else model for name in stopping]
    for name, part in zip(stopping, parts, strict=True):
        if package_of(part) in ("xgboost", "lightgbm"):
            raise InputError(
                f"{type(part).__name__} stops early ({name}={parameters[name]}) by records that are given to fit, and here "
                "there are none. Leave that out and set n_estimators to the rounds you want, as gl.audit does of a fitted model."
            )


def _single(model, parameters, name: str) -> bool:
    """Return whether an unset number of threads means one, as in scikit-learn, which may warn if it is set."""
    owner = parameters[name.rpartition("__")[0]] if "__" in name else model
    return parameters[name] is None and type(owner).__module__.partition(".")[0] == "sklearn"


def weight_parameter(model) -> str | None:
    """Return the name of the weights of records in ``fit``, also through a pipeline; None if it takes none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        name, final = model.steps[-1]
        inner = weight_parameter(final)
        return inner and f"{name}__{inner}"
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    return None
