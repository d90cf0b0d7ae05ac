"""Text that identifies how a model is trained, equal for equal recipes in every process."""

import contextlib
import functools
import importlib
import importlib.metadata
import inspect
import sys
import tokenize
import types
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

import joblib

from guestlist.errors import InputError

# Names of parameters for seeds and for numbers of threads, in scikit-learn, XGBoost, LightGBM, CatBoost.
SEEDS = ("random_state", "random_seed")
THREADS = ("n_jobs", "nthread", "thread_count")


def describe(value) -> str:
    """Describe any part of a recipe: class, package version and parameters, or source code and closure.

    A value's own ``describe()`` is used if it has one. Seeds and threads of estimators are omitted, because each reference
    model gets its own.
    """
    if isinstance(value, type):
        return _class(value)
    if callable(value) and callable(getattr(type(value), "describe", None)):
        description = str(value.describe())
        if description.startswith(_qualified(type(value))):
            return description
        return f"{_class(type(value))}: {description}"
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        names = sorted(set(parameters).difference(names_ending(parameters, SEEDS + THREADS)))
        return f"{_class(type(value))}({', '.join(f'{name}={describe(parameters[name])}' for name in names)})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{describe(k)}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, functools.partial):
        return f"partial({describe(value.func)}, {describe(value.args)}, {describe(value.keywords)})"
    if inspect.isfunction(value):
        return _function(value)
    if inspect.ismodule(value):
        return f"{value.__name__}=={_version_of(value.__name__)}"
    if inspect.ismethod(value):
        return f"{describe(value.__self__)}.{_function(value.__func__)}"
    if is_dataclass(value):
        return described(value)
    if inspect.isfunction(getattr(value, "__wrapped__", None)):  # for example compiled by jax.jit
        return f"{_class(type(value))}({_function(value.__wrapped__)})"
    try:
        return f"{_class(type(value))}#{joblib.hash(value)}"
    except Exception as error:  # pickling may raise any exception
        raise InputError(
            f"The training recipe holds a {type(value).__name__} that guestlist cannot identify across runs ({error}). "
            "Pass recipe='…', a text that you change whenever the training changes."
        ) from error


def described(recipe) -> str:
    """Return the identity of a dataclass: its class with module and version (and source, if user-defined), and every option.

    A recipe that is a frozen dataclass may define ``def describe(self): return described(self)``. Fields with ``compare=False``,
    such as the device that trains, are not part of the identity.
    """
    names = [field.name for field in fields(recipe) if field.compare]
    # Attributes that were set in addition to the fields.
    extra = set(getattr(recipe, "__dict__", ())) - {field.name for field in fields(recipe)}
    names += sorted(name for name in extra if not _is_remembered(recipe, name))
    options = ", ".join(f"{name}={describe(getattr(recipe, name))}" for name in names)
    return f"{_class(type(recipe))}({options})"


class DescribedRecipe:
    """Base class of recipes that are frozen dataclasses: their options are their identity."""

    def describe(self) -> str:
        return described(self)


def _is_remembered(value, name: str) -> bool:
    """Return whether an attribute is a cached property of a guestlist class; other attributes may be settings."""
    owner = next((part for part in type(value).__mro__ if name in vars(part)), object)
    in_package = owner.__module__.partition(".")[0] == __name__.partition(".")[0]
    return in_package and isinstance(vars(owner).get(name), functools.cached_property)


def names_ending(parameters: Iterable[str], endings: Sequence[str]) -> list[str]:
    """Return the parameters whose name, without the steps of a pipeline before it, is one of ``endings``."""
    return [name for name in parameters if name.rpartition("__")[2] in endings]


def _class(cls: type) -> str:
    """Return module, name and version; for a class outside installed packages, which has no version, also its source."""
    sources = "".join(_class_source(part) for part in cls.__mro__ if _version_of(part.__module__) is None)
    return f"{_qualified(cls)}=={_version_of(cls.__module__) or '?'}{sources}"


def _class_source(cls: type) -> str:
    """Return the source of a user-defined class and of its methods, with the values they close over.

    ``inspect`` finds the source of a class by name, and it may be newer than the class; that of a method is not.
    """
    source = ""
    # A class typed into an interpreter has no file; a file that was changed since may end inside a statement.
    with contextlib.suppress(OSError, TypeError, SyntaxError, tokenize.TokenError):
        source = inspect.getsource(cls)
    for _, value in sorted(vars(cls).items()):
        method = getattr(value, "__func__", getattr(value, "fget", value))  # static and class methods, properties
        generated = is_dataclass(cls) and inspect.isfunction(method) and method.__code__.co_filename == "<string>"
        if inspect.isfunction(method) and not generated:
            source += _function(method)
    return f"\n{_qualified(cls)}:\n{source}"


def _function(value) -> str:
    """Return source, defaults and closure: functions of one factory with different settings are different recipes."""
    source = _bytes(value.__code__)
    if value.__name__ != "<lambda>":  # the source of a lambda is its whole line, which may contain others
        with contextlib.suppress(OSError, TypeError, SyntaxError, tokenize.TokenError):  # or the file has changed since
            source = inspect.getsource(value)
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    # A method's own class (for ``super()``) is described by its name.
    closed = [
        _qualified(cell.cell_contents) if name == "__class__" else _once(cell.cell_contents) for name, cell in cells
    ]
    return f"{source}{describe(value.__defaults__)}{describe(value.__kwdefaults__)}[{', '.join(closed)}]"


def _once(value) -> str:
    """Describe a value of a closure; only by its name if it contains itself."""
    if id(value) in _OPEN:
        return getattr(value, "__qualname__", type(value).__qualname__)
    _OPEN.add(id(value))
    try:
        return describe(value)
    finally:
        _OPEN.discard(id(value))


# Values that are being described, so that a class or function that contains itself does not recurse forever.
_OPEN: set[int] = set()


def _bytes(code: types.CodeType) -> str:
    """Return the bytecode of a function without source, including inner functions."""
    constants = [_bytes(part) if inspect.iscode(part) else repr(part) for part in code.co_consts]
    return f"{code.co_code.hex()} {constants!r} {code.co_names!r}"


def _qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@functools.cache
def _version_of(module: str) -> str | None:
    """Return the version of the package that a module belongs to; None if it is not installed."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return "python"
    package = importlib.import_module(top)
    # A package in development keeps its version while its source changes, so its source identifies it.
    where = getattr(package, "__file__", None) or next(iter(getattr(package, "__path__", ())), "")
    if not {"site-packages", "dist-packages"} & set(Path(where).parts) and top != "guestlist":
        return None
    version = getattr(package, "__version__", None)
    if version is not None:
        return str(version)
    names = importlib.metadata.packages_distributions().get(top)
    if not names:
        return None
    return importlib.metadata.version(names[0])
