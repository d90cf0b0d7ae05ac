"""Training an estimator as it is: no defence. ``clone(model).fit`` on other records."""

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

    Fresh seeds, even where the user fixed one: an attacker does not know the target's. One thread, because
    models are trained side by side, and so that the bits do not depend on how many there are.
    """

    def __call__(self, model, data: Data, rng: np.random.Generator):
        return self._fitted(model, data, rng)

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """The same with a weight per record."""
        name = weight_parameter(model)
        if name is None:
            raise InputError(f"{type(model).__name__} takes no sample_weight in fit.")
        own = {} if data.fit_params is None else data.fit_params.arguments
        return self._fitted(model, data, rng, **{name: weight * own[name] if name in own else weight})

    def plain(self) -> Refit:
        """Itself: there is no defence in it."""
        return self

    def describe(self) -> str:
        return described(self)

    def _fitted(self, model, data: Data, rng: np.random.Generator, **more):
        model = unfitted(model)
        parameters = model.get_params(deep=True)
        _check_rounds(model, parameters)
        silent = _silent(model, parameters)
        seeds = [name for name in (*parameters, *silent) if last(name) in SEEDS]
        fresh = {name: int(rng.integers(2**31 - 1)) for name in sorted(seeds)}
        single = {name: 1 for name in parameters if last(name) in THREADS and not _single(model, parameters, name)}
        model.set_params(**{**silent, **fresh, **single})
        given = {**({} if data.fit_params is None else data.fit_params.arguments), **more}
        check_arguments(model, given)
        model.fit(data.x, data.y, **given)
        return model


def check_arguments(model, given: Mapping[str, Any]) -> None:
    """Refuse arguments that ``fit`` does not accept, and models whose ``fit`` needs others."""
    try:
        inspect.signature(model.fit).bind(None, None, **given)
    except TypeError as error:
        raise InputError(
            f"{type(model).__name__}.fit cannot be called with {', '.join(['x', 'y', *given])}: {error}. Pass other arguments of "
            f"fit with {EXAMPLE}; names are those of fit, in a pipeline with the step before them (step__sample_weight)."
        ) from error
    except ValueError:  # compiled code: nothing is known of its arguments
        return


# How CatBoost is told to print nothing: it takes one of these alone.
SILENT = {"verbose": False, "logging_level": "Silent", "silent": True, "verbose_eval": False}


def _silent(model, parameters) -> dict[str, Any]:
    """What CatBoost is told, which lists only what somebody set: one thread, no files of its own, not a word, and some seed."""
    told: dict[str, Any] = {}
    for name, part in {"": model, **parameters}.items():
        if package_of(part) == "catboost" and hasattr(part, "get_params"):
            given = part.get_params()
            said = next((one for one in SILENT if one in given), "verbose")
            own = {said: SILENT[said], "allow_writing_files": False, "thread_count": 1}
            # It has two names for its seed, and takes only one of them.
            own |= {} if set(SEEDS) & set(given) else {"random_seed": 0}
            told |= {f"{name}__{option}" if name else option: value for option, value in own.items()}
    return told


def _check_rounds(model, parameters) -> None:
    """Models that stop early by records which are given to ``fit``: there are none here."""
    stopping = [name for name in parameters if last(name).startswith("early_stopping_round") and parameters[name]]
    parts = [parameters[name.rpartition("__")[0]] if "__" in name else model for name in stopping]
    for name, part in zip(stopping, parts, strict=True):
        if package_of(part) in ("xgboost", "lightgbm"):
            raise InputError(
                f"{type(part).__name__} stops early ({name}={parameters[name]}) by records that are given to fit, and here "
                "there are none. Leave that out and set n_estimators to the rounds you want, as gl.audit does of a fitted model."
            )


def _single(model, parameters, name: str) -> bool:
    """Whether a number of threads that nobody set is one already, as in scikit-learn, which warns where it means nothing."""
    owner = parameters[name.rpartition("__")[0]] if "__" in name else model
    return parameters[name] is None and type(owner).__module__.partition(".")[0] == "sklearn"


def weight_parameter(model) -> str | None:
    """The name under which ``fit`` takes weights of records, through a pipeline if it is one; None if it takes none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        name, final = model.steps[-1]
        inner = weight_parameter(final)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None
