"""Torch modules as targets. Torch is imported only when used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from guestlist._util import choice, describe, extra, torch
from guestlist.data import Data
from guestlist.defences import (
    ATTACKERS,
    AUTO,
    Batches,
    Recipe,
    accelerators,
    as_recipe,
    deterministic_algorithms,
    device_of,
    evaluation_mode,
    note_device,
    on_cpu,
    on_device,
    prefer_device,
    tensor,
    torch_device,
    training_of,
    without_defence,
)
from guestlist.defences.torch_training import SLOTS
from guestlist.errors import InputError
from guestlist.models.frameworks import FRAMEWORKS
from guestlist.models.input_checks import check_sides
from guestlist.models.leverage import LastLayer
from guestlist.models.scales import Scale, as_scale
from guestlist.models.target import (
    Predict,
    Reads,
    Retraining,
    Target,
    WrappedTrainer,
    train_on_values,
    with_positions,
)
from guestlist.models.torch_data import input_parts, load_weights, torch_layers
from guestlist.models.white_box import layer_activations, white_box_features


def torch_target(
    module,
    *,
    classes=None,
    train: Recipe | Callable | None = None,
    distil: Callable | None = None,
    scale: Scale | str = "logits",
    untrained=None,
    checkpoints: Sequence[Any] = (),
    batch_size: int = 1024,
    recipe: str | None = None,
    name: str | None = None,
    attacker: str = "adaptive",
    device: str = AUTO,
    weights: str | Path | None = None,
    example: Any = None,
) -> Target:
    """Return a target from a torch module that outputs logits, or that predicts one number. It needs the extra ``torch``.

    Args:
        module: Takes a float tensor (records, …), returns logits (records, classes); with two classes, one logit for the
            second class suffices. Probabilities are refused: omit the softmax. For regression, (records,) or (records, 1)
            values.
        classes: Labels, one per logit; by default 0, 1, …; None for regression.
        train: Recipe such as ``Fit(...)``, which draws fresh parameters and trains them; or a function
            ``(data, rng) -> module`` that trains one reference on ``data.x`` and ``data.y``. Without it, only the
            attacks that need no references run.
        distil: ``(data, soft, rng) -> module``, the same with (records, classes) probabilities instead of labels; not needed
            for a recipe with this method, such as ``Fit``.
        scale: ``logits``, or ``values`` for regression: then train with ``Fit(loss="squared")``.
        untrained: Module that the recipe trains copies of; by default ``module``, of which a recipe that draws fresh
            parameters uses only the structure.
        checkpoints: Copies of the module during training, for example from ``Fit().checkpoints(module, data, rng)``, or files
            with their weights; some risks read the course of the losses.
        batch_size: Number of records in one query.
        recipe: Text that identifies ``train`` across runs; by default its settings or its source code.
        name: Name in reports; by default that of the module's class.
        attacker: ``adaptive`` trains references with ``train``, since an attacker may know the defence; ``naive`` does not
            know it, and trains with ``train.plain()``.
        device: Device that queries the module and trains references, such as ``cuda:1``. By default the module is queried on
            its own device, and ``Fit`` and other recipes train references on an accelerator if there is one.
        weights: File with the trained weights of the module, opened with ``weights_only=True``, so that none of its code runs.
        example: Item of your ``Dataset``, such as ``dataset[0]``, if the module reads several inputs or a dictionary.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If ``module`` is not a torch module, or torch is not installed.
        ValueError: If the scale is not ``logits`` or ``values``, or there is no such device.

    Examples:
        >>> import torch
        >>> _, members, nonmembers = gl.testing.small_model()
        >>> fit = gl.defences.Fit(epochs=2)
        >>> module = fit(torch.nn.Linear(20, 2), gl.Data(*members), np.random.default_rng(0))
        >>> target = gl.torch_target(module, train=fit)
        >>> results = gl.audit(target, members, nonmembers, references=4, attacks=["reference"], baseline=False, jobs=1)
        >>> results.references.count
        4
    """
    torch = extra("torch", "gl.torch_target")
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"Expected a torch.nn.Module, found {type(module).__name__}.")
    checkpoints = [
        load_weights(module, checkpoint) if isinstance(checkpoint, str | Path) else checkpoint
        for checkpoint in checkpoints
    ]
    if len(checkpoints) == 1 or not all(hasattr(checkpoint, "state_dict") for checkpoint in checkpoints):
        raise InputError(
            "checkpoints must be at least two modules; found "
            f"{', '.join(type(checkpoint).__name__ for checkpoint in checkpoints)}."
        )
    if weights is not None:
        module = load_weights(module, weights)
    scale = as_scale(scale)
    if scale.name not in ("logits", "values"):
        raise ValueError(
            f"scale={scale.name!r} is not supported for a torch module. Use 'logits' (without a softmax) or 'values'."
        )
    target_recipe = None if train is None else as_recipe(train)
    _check_loss(target_recipe, scale)
    reference_recipe = _reference_recipe(attacker, target_recipe)
    labels = _labels(module, classes) if scale.has_classes else classes
    parts = None if example is None else input_parts(example)
    # References are trained from a copy on the CPU, which is sent to every worker.
    originals = [module, on_cpu(module if untrained is None else untrained), *checkpoints]
    module, untrained, *checkpoints = [_adapted(original, labels, parts) for original in originals]
    if device != AUTO and torch_device(device) != device_of(module):
        module = on_device(module, torch_device(device))
    predict_function = partial(_predict_function, classes=labels, batch_size=batch_size, parts=parts)
    trainer = None
    if reference_recipe is not None:
        trainer = _Train(
            module=untrained,
            classes=labels,
            recipe=reference_recipe,
            device=device,
            predict_function=predict_function,
        )
    can, cannot = _capabilities(module, trainer, labels, batch_size)
    if distil is not None:
        can["distil"] = WrappedTrainer(distil, predict_function)
    if checkpoints:
        can["checkpoints"] = partial(_checkpoint_outputs, checkpoints, batch_size)
    if target_recipe is not None:
        can["retrain"] = Retraining(
            trains="torch module",
            model=untrained,
            recipe=target_recipe,
            classes=labels,
            device=device,
            distil=distil,
            text=recipe,
            wrap=partial(
                torch_target,
                classes=labels,
                scale=scale,
                untrained=untrained,
                batch_size=batch_size,
                name=name,
                device=device,
                example=example,
            ),
        )
    if recipe is None and reference_recipe is None and distil is None:
        recipe = str(untrained)  # no references are trained
    elif recipe is None:
        recipe = f"{FRAMEWORKS['torch'].describe(untrained)}\n{describe(reference_recipe)}"
        if distil:
            recipe += f"\n{describe(distil)}"
    if attacker == "naive":
        recipe += "\nnaive"
    return Target(
        predict=_Outputs(module, batch_size),
        classes=np.asarray([] if labels is None else labels),
        scale=scale,
        recipe=recipe,
        name=name or type(torch_layers.unwrapped(module)).__name__,
        reads=Reads(arrays=True),
        can=can,
        cannot=cannot,
        training=None if target_recipe is None else training_of(target_recipe, attacker),
    )


def retrain_module(
    module,
    recipe: Recipe,
    data: Data,
    members: np.ndarray,
    fit: Callable,
    *,
    classes=None,
    scale: Scale | str = "logits",
    checkpoints: bool = False,
) -> Target:
    """Train a target on the members among some records; see :class:`guestlist.models.frameworks.Framework`."""
    untrained = torch_target(module, train=recipe, classes=classes, scale=scale)
    pool = untrained.fitting(data, "data")
    check_sides({"members": pool}, untrained.classes)
    records = with_positions(pool, untrained.classes, recipe).copied(members)
    if checkpoints and hasattr(recipe, "checkpoints"):
        modules = fit(recipe.checkpoints, module, records)
        trained = modules[-1]
    else:
        modules = ()
        trained = fit(recipe, module, records)
    return torch_target(trained, train=recipe, untrained=module, checkpoints=modules, classes=classes, scale=scale)


@contextmanager
def seed_torch(seed: int) -> Iterator[None]:
    """Seed torch's global generators, and restore those of the CPU and of CUDA afterwards."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread, and deterministic algorithms on accelerators."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with deterministic_algorithms():
            yield
    finally:
        torch.set_num_threads(threads)


def _reference_recipe(attacker: str, recipe: Recipe | None) -> Recipe | None:
    """Return the recipe with which an attacker trains references."""
    choice("attacker", attacker, ATTACKERS)
    if attacker == "adaptive":
        return recipe
    if recipe is None:
        raise InputError(
            "attacker='naive' trains reference models without the defence. Pass train=, the recipe with the defence."
        )
    return without_defence(recipe)


def _capabilities(
    module, trainer: _Train | None, labels, batch_size: int
) -> tuple[dict[str, Callable], dict[str, str]]:
    """Return the capabilities of a target, and the reasons for those that it lacks."""
    can: dict[str, Callable] = {
        "layers": partial(layer_activations, module, batch_size=batch_size),
        "leverage": LastLayer(module, _Outputs(module, batch_size), batch_size, labels is not None),
    }
    cannot: dict[str, str] = {}
    if trainer is not None:
        can["train"] = trainer
        if labels is None:
            can["distil"] = partial(train_on_values, trainer)
        elif hasattr(trainer.recipe, "distil"):
            can["distil"] = trainer.distil
        else:
            cannot["distil"] = "its recipe has no method distil()"
    if labels is None:
        cannot["white_box"] = "it predicts values, and the white box reads losses of classes"
    else:
        can["white_box"] = partial(white_box_features, module)
    return can, cannot


def _check_loss(recipe: Recipe | None, scale: Scale) -> None:
    """Raise if a recipe minimises a loss that does not suit the outputs."""
    loss = getattr(recipe, "loss", None)
    suits = {"logits": "cross_entropy", "values": "squared"}[scale.name]
    if loss in ("cross_entropy", "squared") and loss != suits:
        raise InputError(
            f"{type(recipe).__name__} minimises loss={loss!r}, but the module outputs {scale.name}. Pass loss={suits!r}, "
            "or a different scale."
        )


@dataclass(frozen=True)
class _Outputs:
    """Logits or values of a module, in batches, in evaluation mode. Each batch is a copy of the records."""

    module: Any
    batch_size: int
    leaves_input: ClassVar[bool] = True
    unreadable: ClassVar[str] = (
        "Pass the columns that it was trained on. If the module reads several inputs or a dictionary, pass an item of your "
        "dataset: gl.torch_target(module, example=dataset[0], …)."
    )

    def __call__(self, x) -> np.ndarray:
        device = device_of(self.module)
        note_device(device)

        def outputs(rows: slice):
            return self.module(tensor(x[rows], self.module)).cpu()

        with evaluation_mode(self.module), torch.no_grad():
            parts = Batches(device, self.batch_size).map(outputs, len(x))
        return torch.cat(parts).to(torch.float64).numpy()


def _checkpoint_outputs(checkpoints: Sequence[Any], batch_size: int, x) -> Iterator[np.ndarray]:
    """Yield the outputs of the checkpoints of a module, in the order of training."""
    return (_Outputs(module, batch_size)(x) for module in checkpoints)


@dataclass(frozen=True)
class _Train:
    """Train one reference with a recipe, or several together; ``classes`` is None for regression."""

    module: Any
    classes: np.ndarray | None
    recipe: Any
    device: str
    predict_function: Callable[[Any], Predict]
    slots: ClassVar[int] = SLOTS

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        with prefer_device(self.device):
            return self.predict_function(self.recipe(self.module, self._records(data), rng))

    def can_stack(self, pool: Data) -> bool:
        """Return whether :meth:`train_together` trains these references."""
        with prefer_device(self.device):
            return hasattr(self.recipe, "can_stack") and self.recipe.can_stack(self.module, self._records(pool))

    def train_together(
        self, pool: Data, training_sets: Sequence[np.ndarray], rngs: Sequence[np.random.Generator]
    ) -> list[Predict]:
        """Train at most ``slots`` references, each on some records of the pool."""
        trained = self.recipe.train_together(self.module, self._records(pool), training_sets, rngs)
        return [self.predict_function(module) for module in trained]

    def _records(self, data: Data) -> Data:
        return with_positions(data, self.classes, self.recipe)

    def distil(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        """Train one model on soft labels, with a recipe that supports them."""
        with prefer_device(self.device):
            return self.predict_function(self.recipe.distil(self.module, data, soft, rng))

    @property
    def uses_accelerator(self) -> bool:
        """True if references may be trained on an accelerator of this machine, so that few of them fit at once."""
        return self.device != "cpu" and bool(accelerators())


def _adapted(module, classes: np.ndarray | None, parts: tuple[Any, ...] | None) -> Any:
    """Return a module that reads its several inputs from one array, and outputs one logit for each of two classes."""
    if parts is not None and not isinstance(module, torch_layers.SeveralInputs | torch_layers.TwoLogits):
        module = torch_layers.SeveralInputs(module, parts)
    if classes is not None and len(classes) == 2:
        module = torch_layers.two_logits(module)
    return module


def _predict_function(trained, classes: np.ndarray | None, batch_size: int, parts: tuple[Any, ...] | None) -> Predict:
    """Return the function that queries a trained module; any other object is such a function itself."""
    if not hasattr(trained, "state_dict"):
        return trained
    return _Outputs(_adapted(trained, classes, parts), batch_size)


def _labels(module, classes) -> np.ndarray:
    if classes is not None:
        return np.asarray(classes)
    outputs = torch_layers.outputs_of(module)
    if outputs is None:
        raise InputError("The number of classes of the module is unknown. Pass classes=[...].")
    return np.arange(max(outputs, 2))  # one output is the logit of the second of two classes


def describe_module(module) -> str:
    """Identify an untrained module: the text that it prints, and the classes and settings of its parts.

    Settings are plain attributes, which ``forward`` may use and the printed text may omit.
    """
    parts = set()
    for part in module.modules():
        settings = {
            name: value
            for name, value in sorted(vars(part).items())
            if not name.startswith("_") and name != "training" and isinstance(value, int | float | str | tuple)
        }
        parts.add(f"{describe(type(part))}{settings!r}")
    return f"{module}\n" + "\n".join(sorted(parts))
