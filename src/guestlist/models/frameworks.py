"""Table of frameworks: how guestlist recognises, loads, queries, trains, seeds and describes their models.

To add a framework, write one module with its functions and add one row to ``FRAMEWORKS``. This module imports neither a framework
nor another part of guestlist, so any module may read the table: functions of a row are imported when they are first called.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Lazy:
    """A function that is imported when it is called, given as ``"module:function"``.

    Attributes:
        path: Module and function, such as ``"guestlist.models.estimators:retrain_estimator"``.
    """

    path: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)(*args, **kwargs)


@dataclass(frozen=True)
class Framework:
    """A framework whose models can be audited. A model belongs to the first row that recognises it.

    Attributes:
        model_type: Noun for its models. A row of ``DEFENCES`` with this noun in ``trains`` can train them.
        packages: Top-level packages, one of which defines a class that the model's type inherits from. Empty for any.
        methods: Methods that the model must have.
        query: ``(model, *, train) -> Target`` that wraps a fitted model. None if more has to be known about the model.
        models: Models of the framework, for the docs.
        references: How references are trained, for the docs.
        first_audit: Python code of the first audit after ``import guestlist as gl``, which the docs count and the tests run.
        white_box: Whether attacks can read gradients and activations.
        advice: Error message of ``audit`` for a fitted model if ``query`` is None.
        retrain: ``(model, recipe, data, members, fit, **options) -> Target`` that trains a target on the members among the
            records. ``fit(train, model, records)`` calls ``train`` with a fixed seed and one thread. The options are those of
            ``play``: ``classes``, ``scale``, and ``checkpoints`` (keep the model after every epoch). The default is
            for recipes that return estimators.
        describe: ``(model) -> str`` that identifies an untrained model across processes, as part of the audit's fingerprint.
        seed: ``(seed) -> context`` that seeds the framework's global generator and restores it afterwards.
        limit_threads: ``() -> context`` in which the framework uses one thread, and deterministic algorithms.
        accelerators: ``() -> list[str]`` with the names of the accelerators that guestlist can train on.
        devices: Devices of queries and references, for the docs.
        suffixes: Suffixes of model files.
        records: ``(source, label) -> (x, y)`` that reads the framework's own collections of records.
        load: ``(path, *, trust, allow_pickle, scale, classes)`` that returns the model or target in such a file.
    """

    model_type: str
    packages: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    query: Callable[..., Any] | None = None
    models: str = ""
    references: str = "`clone(model).fit`"
    first_audit: str = "results = gl.audit(model, members, nonmembers)"
    white_box: bool = False
    advice: str = ""
    retrain: Callable[..., Any] = Lazy("guestlist.models.estimators:retrain_estimator")
    describe: Callable[[Any], str] = Lazy("guestlist._util.fingerprints:describe")
    seed: Callable[[int], AbstractContextManager] | None = None
    limit_threads: Callable[[], AbstractContextManager] | None = None
    accelerators: Callable[[], list[str]] | None = None
    devices: str = "CPU"
    suffixes: tuple[str, ...] = ()
    load: Callable[..., Any] | None = None
    records: Callable[..., Any] | None = None

    def recognises(self, model: Any) -> bool:
        """Return whether a model belongs to this framework, without importing the framework."""
        if self.packages and not packages_of(model) & set(self.packages):
            return False
        return all(hasattr(model, name) for name in self.methods)


FRAMEWORKS: dict[str, Framework] = {
    "boosters": Framework(
        model_type="estimator",
        models="`XGBClassifier`, `LGBMClassifier`, `CatBoostClassifier` and regressors",
        packages=("catboost", "lightgbm", "xgboost"),
        methods=("get_params", "fit"),
        query=Lazy("guestlist.models.estimators:estimator_target"),
    ),
    "native boosters": Framework(
        model_type="estimator",
        models="`xgboost.Booster`, `lightgbm.Booster`",
        references="library's `train` with stored parameters",
        packages=("lightgbm", "xgboost"),
        methods=("predict", "save_model"),
        query=Lazy("guestlist.models.estimators:estimator_target"),
    ),
    "scikit-learn": Framework(
        model_type="estimator",
        models="any estimator or pipeline",
        methods=("get_params", "fit"),
        query=Lazy("guestlist.models.estimators:estimator_target"),
        suffixes=(".skops", ".pkl", ".pickle", ".joblib"),
        load=Lazy("guestlist.models.files:load_estimator"),
    ),
    "keras": Framework(  # before torch: with its torch backend, Keras models are torch modules
        model_type="Keras model",
        models="any model with one output",
        references="`clone_model` and `fit`",
        devices="those of its backend",
        packages=("keras",),
        methods=("fit", "predict", "get_layer"),
        query=Lazy("guestlist.models.keras_models:keras_target"),
        retrain=Lazy("guestlist.models.keras_models:retrain_keras"),
        describe=Lazy("guestlist.models.keras_models:describe_keras"),
        seed=Lazy("guestlist.models.keras_models:seed_keras"),
    ),
    "torch": Framework(
        model_type="torch module",
        models="`gl.torch_target(module, …)`",
        references="`train=`, a recipe or function",
        first_audit="target = gl.torch_target(model, train=gl.defences.Fit())\nresults = gl.audit(target, members, nonmembers)",
        white_box=True,
        packages=("torch",),
        advice="Wrap a torch module, and state how it is trained, with gl.torch_target(module, classes=…, train=…).",
        retrain=Lazy("guestlist.models.torch_modules:retrain_module"),
        describe=Lazy("guestlist.models.torch_modules:describe_module"),
        seed=Lazy("guestlist.models.torch_modules:seed_torch"),
        limit_threads=Lazy("guestlist.models.torch_modules:one_torch_thread"),
        accelerators=Lazy("guestlist.defences.torch_devices:accelerators"),
        devices="CPU, CUDA, MPS, XPU",
        records=Lazy("guestlist.models.torch_data:read_dataset"),
    ),
    "onnx": Framework(
        model_type="ONNX file",
        models="path of an `.onnx` file",
        first_audit='results = gl.audit("model.onnx", members, nonmembers, train=train)',
        references="`train=`, a function",
        packages=("onnx", "onnxruntime"),
        advice="Save the ONNX model to a file and pass its path, or wrap it with gl.onnx_target(path, ...).",
        suffixes=(".onnx",),
        load=Lazy("guestlist.models.files:load_onnx"),
    ),
    "function": Framework(
        model_type="function",
        models="`gl.function_target(predict, …)`",
        first_audit=(
            "target = gl.function_target(predict, classes=classes, train=train)\n"
            "results = gl.audit(target, members, nonmembers)"
        ),
        references="`train=`, a function",
        devices="those of your function",
        methods=("__call__",),
        advice=(
            "Wrap a function, and name its columns, with gl.function_target(predict, classes=…, train=…); add params=… for a "
            "function (params, x), as in JAX."
        ),
    ),
}


def packages_of(model: Any) -> set[str]:
    """Return the top-level packages of the classes that a model's type inherits from.

    Args:
        model: Model of any type.

    Returns:
        Names of packages.
    """
    return {parent.__module__.partition(".")[0] for parent in type(model).__mro__}


def framework_of(model: Any) -> Framework | None:
    """Return the first framework that recognises a model.

    Args:
        model: Model of any type.

    Returns:
        The row of ``FRAMEWORKS``; None if there is none.
    """
    return next((row for row in FRAMEWORKS.values() if row.recognises(model)), None)


def loaded_frameworks() -> Iterator[Framework]:
    """Yield the frameworks of which a package has been imported in this process.

    Yields:
        Rows of ``FRAMEWORKS``.
    """
    yield from (row for row in FRAMEWORKS.values() if any(sys.modules.get(name) for name in row.packages))
