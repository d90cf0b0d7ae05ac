"""Keras 3 models as targets, with any backend: references are trained by ``clone_model`` and ``fit``."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from guestlist._util import DescribedRecipe, FitParams, LazyModule, describe, extra
from guestlist.data import Data
from guestlist.defences import Recipe, as_recipe, training_of
from guestlist.errors import InputError
from guestlist.models.scales import Scale, as_scale
from guestlist.models.target import (
    Predict,
    Reads,
    Retraining,
    Target,
    both_classes,
    several_outputs,
    train_on_values,
    with_positions,
)

keras: Any = LazyModule("keras")
PREDICT = "lambda x: model.predict(x, verbose=0)"  # in the advice about several outputs
EPOCHS = 'Pass the arguments of its training: fit_params={"epochs": 20, "batch_size": 32}.'


def keras_target(
    model,
    *,
    classes=None,
    train: Recipe | Callable | None = None,
    scale: Scale | str | None = None,
    batch_size: int = 1024,
    name: str | None = None,
) -> Target:
    """Return a target from a Keras 3 model. It needs the extra ``keras``.

    ``audit`` calls it for a Keras model; call it yourself if labels are not 0, 1, ….

    Args:
        model: Trained Keras model with one output.
        classes: Labels, one per column of the outputs; by default 0, 1, ….
        train: Training of references, if it is not ``fit`` of a clone: a function ``(data, rng) -> model``.
        scale: ``probabilities``, ``logits`` or ``values``; by default from the activation of the last layer and the loss.
        batch_size: Number of records in one query.
        name: Name in reports; by default that of the model's class.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the model has several outputs, or Keras is not installed.

    Examples:
        >>> import keras
        >>> _, members, nonmembers = gl.testing.small_model()
        >>> model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(2)])
        >>> model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        >>> history = model.fit(*members, epochs=2, verbose=0)
        >>> target = gl.models.keras_target(model, classes=[0, 1])
        >>> target.scale.name, target.can["retrain"].recipe.epochs
        ('logits', 2)
    """
    extra("keras", "gl.models.keras_target")
    columns = _columns(model)
    scale = _scale(model, columns) if scale is None else as_scale(scale)
    labels = None
    if scale.has_classes:
        labels = np.arange(max(columns, 2)) if classes is None else np.asarray(classes)
    recipe = KerasFit.from_model(model) if train is None else as_recipe(train)
    can: dict[str, Callable] = {}
    cannot = {}
    if train is None and not getattr(model, "compiled", False):
        cannot["train"] = "it is not compiled, so its loss and optimiser are not known"
    else:
        clone = _clone(model)
        trainer = _Train(model=clone, classes=labels, scale=scale, recipe=recipe, batch_size=batch_size)
        can["train"] = trainer
        can["retrain"] = Retraining(
            trains="Keras model",
            model=clone,
            recipe=recipe,
            wrap=partial(keras_target, classes=labels, scale=scale, batch_size=batch_size, name=name),
            classes=labels,
        )
        if labels is None:
            can["distil"] = partial(train_on_values, trainer)
    return Target(
        predict=_Outputs(model, scale, batch_size),
        classes=np.array([]) if labels is None else labels,
        scale=scale,
        recipe=f"{describe_keras(model)}\n{describe(recipe)}",
        name=name or type(model).__name__,
        reads=Reads(arrays=True),
        can=can,
        cannot=cannot,
        training=training_of(recipe, model=type(model).__name__),
    )


def retrain_keras(
    model, recipe: Recipe, data: Data, members: np.ndarray, fit: Callable, *, classes=None, **_options: Any
) -> Target:
    """Train a target on the members among some records; see :class:`guestlist.models.frameworks.Framework`."""
    target = keras_target(model, classes=classes, train=recipe)
    records = with_positions(target.fitting(data, "data").copied(members), target.classes, recipe)
    return keras_target(fit(recipe, model, records), classes=classes, train=recipe)


@dataclass(frozen=True)
class KerasFit(DescribedRecipe):
    """Recipe that trains a clone of a Keras model with ``fit``, from new random parameters.

    Arguments in ``fit_params`` take precedence.

    Args:
        epochs: Number of epochs.
        steps: Number of batches per epoch, from which the batch size follows; None for batches of 32 records.

    Examples:
        >>> gl.models.KerasFit(epochs=10)
        KerasFit(epochs=10, steps=None)
    """

    epochs: int | None = None
    steps: int | None = None

    @classmethod
    def from_model(cls, model) -> "KerasFit":
        """Return the training that a model stores; a model from a file stores none."""
        history = getattr(model, "history", None)
        if history is None or not getattr(history, "epoch", None):
            return cls()
        return cls(len(history.epoch), (history.params or {}).get("steps"))

    def __call__(self, model, data: Data, rng: np.random.Generator) -> Any:
        arguments: dict[str, Any] = {"epochs": self.epochs, "verbose": 0}
        if self.steps:
            arguments["batch_size"] = -(-len(data) // self.steps)
        if data.fit_params is not None:
            arguments |= data.fit_params.arguments
        self.check_fit_params(data.fit_params)
        with seed_keras(int(rng.integers(2**31))):
            trained = _clone(model)
            trained.fit(data.x, _labels(data.y, trained), **arguments)
        return trained

    def check_fit_params(self, params: FitParams | None) -> None:
        """Raise if the number of epochs is not known."""
        if self.epochs is None and "epochs" not in (params.arguments if params else {}):
            raise InputError(f"The model does not store its number of epochs. {EPOCHS}")


@contextmanager
def seed_keras(seed: int) -> Iterator[None]:
    """Seed Keras and its backend, and restore the generators of Keras and torch afterwards."""
    from keras.src.backend.common import global_state  # Keras has no public function that reads its generator.

    before = {name: global_state.get_global_attribute(name) for name in ("global_random_seed", "global_seed_generator")}
    with ExitStack() as stack:
        if keras.backend.backend() == "torch":
            from guestlist.models.torch_modules import seed_torch

            stack.enter_context(seed_torch(seed))
        keras.utils.set_random_seed(seed)
        try:
            yield
        finally:
            for name, value in before.items():
                global_state.set_global_attribute(name, value)


def describe_keras(model) -> str:
    """Identify an untrained model: its layers without the numbers in their names, its loss and its optimiser."""
    with _keras_warnings():
        text = model.to_json()
    for position, name in enumerate(dict.fromkeys(_part_names(json.loads(text)))):
        text = text.replace(f'"{name}"', f'"part {position}"')
    if not getattr(model, "compiled", False):
        return text
    with _keras_warnings():
        optimiser = {name: value for name, value in model.optimizer.get_config().items() if name != "name"}
    return f"{text}\n{type(model.optimizer).__name__}{optimiser}\n{_loss_name(model)}"


def _part_names(config: Any) -> Iterator[str]:
    """Yield the names of a model and its layers, which Keras numbers in each process."""
    if isinstance(config, dict):
        named = config.get("config")
        if isinstance(named, dict) and "name" in named and config.get("class_name") != "DTypePolicy":
            yield named["name"]
        for value in config.values():
            yield from _part_names(value)
    elif isinstance(config, list):
        for value in config:
            yield from _part_names(value)


def _clone(model) -> Any:
    """Return a clone with new random parameters, compiled like the model."""
    with _keras_warnings():
        clone = keras.models.clone_model(model)
        if getattr(model, "compiled", False):
            # A new optimiser, because an optimiser stores the course of the training.
            optimiser = type(model.optimizer).from_config(model.optimizer.get_config())
            clone.compile(optimizer=optimiser, loss=model.loss)
            if clone.built:  # otherwise Keras warns when a worker reads the model
                optimiser.build(clone.trainable_variables)
    return clone


@contextmanager
def _keras_warnings() -> Iterator[None]:
    """Ignore that Keras converts variables in a way that NumPy has deprecated."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="__array__ implementation", category=DeprecationWarning)
        yield


def _columns(model) -> int:
    shape = getattr(model, "output_shape", None)
    if shape is None:  # a subclass of keras.Model, which clone_model cannot clone, or a model without weights
        raise InputError(
            f"guestlist cannot read the outputs of the Keras model {type(model).__name__}. Train it first. If it is a subclass "
            f"of keras.Model, pass its predictions: gl.function_target({PREDICT}, classes=[…], train=train)."
        )
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise InputError(several_outputs(PREDICT))
    return int(shape[1])


def _scale(model, columns: int) -> Scale:
    """Return the scale of the outputs, from the activation of the last layer and the loss."""
    last = model.layers[-1]
    activation = getattr(getattr(last, "activation", None), "__name__", type(last).__name__.lower())
    if activation == "softmax" or (activation == "sigmoid" and columns == 1):
        return as_scale("probabilities")
    if activation == "sigmoid":
        raise InputError(several_outputs(PREDICT))
    if "crossentropy" in _loss_name(model):
        return as_scale("logits")
    if not _loss_name(model):
        raise InputError(
            "The model is not compiled, so guestlist does not know whether it outputs logits or values. Compile it with its "
            "loss, or pass gl.models.keras_target(model, scale='logits'), or scale='values' for a regression."
        )
    if columns > 1:
        raise InputError(several_outputs(PREDICT, "values"))
    return as_scale("values")


def _loss_name(model) -> str:
    """Return the name of the compiled loss; "" if the model is not compiled."""
    loss = getattr(model, "loss", None)
    if loss is None or isinstance(loss, str):
        return loss or ""
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__))


def _labels(y: np.ndarray, model) -> np.ndarray:
    """Return positions of classes, or values, in the form that the loss reads."""
    columns = _columns(model)
    if columns == 1:
        return np.asarray(y, dtype=np.float32)[:, None]
    if _loss_name(model).startswith("sparse"):
        return y
    return np.eye(columns, dtype=np.float32)[y]


@dataclass(frozen=True)
class _Outputs:
    """Outputs of a model on a scale, in batches. Two classes may have one column."""

    model: Any
    scale: Scale
    batch_size: int

    def __call__(self, x) -> np.ndarray:
        with _keras_warnings():
            outputs = np.asarray(self.model.predict(x, batch_size=self.batch_size, verbose=0), dtype=np.float64)
        if not self.scale.has_classes:
            return outputs.reshape(len(outputs))
        if outputs.shape[1] > 1:
            return outputs
        return both_classes(outputs, self.scale.name)


@dataclass(frozen=True)
class _Train:
    """Train one reference with a recipe; ``classes`` is None for regression."""

    model: Any
    classes: np.ndarray | None
    scale: Scale
    recipe: Any
    batch_size: int

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        trained = self.recipe(self.model, with_positions(data, self.classes, self.recipe), rng)
        if not hasattr(trained, "predict"):
            return trained
        return _Outputs(trained, self.scale, self.batch_size)
