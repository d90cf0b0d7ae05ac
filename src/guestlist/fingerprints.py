"""Text that identifies how a model is trained, equal for equal recipes in every process."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect

import joblib

from guestlist.errors import InputError

# Parameters that hold a seed, and parameters that ask for threads, in scikit-learn, XGBoost, LightGBM, CatBoost.
SEEDS = ("random_state", "random_seed")
THREADS = ("n_jobs", "nthread", "thread_count")


def describe(value) -> str:
    """Text for any part of a recipe: class, package version and parameters, or source code and what it closes over.

    Seeds and threads of estimators are left out: references get their own.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _estimator(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{describe(k)}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, type):
        return _qualified(value)
    if isinstance(value, functools.partial):
        return f"partial({describe(value.func)}, {describe(value.args)}, {describe(value.keywords)})"
    if inspect.isfunction(value):
        return _function(value)
    return _anything(value)


def last(name: str) -> str:
    """The parameter's own name, without the parts of a pipeline before it."""
    return name.rsplit("__", 1)[-1]


def _estimator(value) -> str:
    parameters = value.get_params(deep=False)
    kept = sorted(name for name in parameters if last(name) not in SEEDS + THREADS)
    inside = ", ".join(f"{name}={describe(parameters[name])}" for name in kept)
    return f"{_qualified(type(value))}=={_version(type(value))}({inside})"


def _function(value) -> str:
    """Source, defaults and closure: two functions made by one factory with other settings are two recipes."""
    source = _code(value)
    if value.__name__ != "<lambda>":  # the source of a lambda is its whole line, which may hold others
        with contextlib.suppress(OSError, TypeError):
            source = inspect.getsource(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return f"{source}{describe(value.__defaults__)}{describe(value.__kwdefaults__)}{describe(cells)}"


def _code(value) -> str:
    code = value.__code__
    constants = [constant for constant in code.co_consts if not inspect.iscode(constant)]
    return f"{code.co_code.hex()} {constants!r} {code.co_names!r}"


def _anything(value) -> str:
    try:
        return f"{_qualified(type(value))}#{joblib.hash(value)}"
    except Exception as error:  # whatever pickling it raises
        raise InputError(
            f"What trains the references holds a {type(value).__name__} that cannot be told from another across runs "
            f"({error}). Give recipe='…', a text that you change whenever the training changes."
        ) from error


def _qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _version(cls: type) -> str:
    package = importlib.import_module(cls.__module__.split(".")[0])
    return getattr(package, "__version__", "?")
