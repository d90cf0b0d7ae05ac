"""Recipes that train torch modules with the trainers of Lightning and of Hugging Face transformers."""

import copy
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from guestlist._util import DescribedRecipe, extra, integer, number, torch
from guestlist.data import Data
from guestlist.defences import AUTO, labels_tensor, note_device, on_cpu, tensor, torch_device
from guestlist.defences.torch_training import fresh
from guestlist.errors import InputError
from guestlist.models.torch_data import torch_layers

ACCELERATORS = {"cpu": "cpu", "cuda": "gpu", "mps": "mps"}  # device types of torch to the names of Lightning


def pair(inputs: Any, labels: Any) -> Any:
    """Return a batch ``(inputs, labels)``."""
    return inputs, labels


@dataclass(frozen=True)
class LightningFit(DescribedRecipe):
    """Recipe that trains a ``LightningModule`` with its own ``training_step`` and optimisers, from new random parameters.

    It needs the extra ``lightning``. Every submodule with parameters must have ``reset_parameters``, as torch's own layers do.

    Args:
        epochs: Passes over the records.
        batch_size: Number of records in a batch.
        batch: Function from inputs and labels to the batch that ``training_step`` reads; by default the pair of both.
        arguments: Other arguments of ``lightning.Trainer``, such as ``{"gradient_clip_val": 1.0}``.
        device: Device that trains, as for ``Fit``.

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> recipe = gl.models.LightningFit(epochs=5, arguments={"gradient_clip_val": 1.0})
        >>> recipe.epochs, recipe.batch_size
        (5, 64)
    """

    epochs: int = 20
    batch_size: int = 64
    batch: Callable[[Any, Any], Any] = pair
    arguments: Mapping[str, Any] = field(default_factory=dict)
    device: str = field(default=AUTO, compare=False)

    def __post_init__(self):
        integer("epochs", self.epochs, 1)
        integer("batch_size", self.batch_size, 1)

    def __call__(self, module, data: Data, rng: np.random.Generator) -> Any:
        with _quietly("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
            lightning = extra("lightning", "gl.models.LightningFit")
            generator = _seed_torch(rng)
            trained = fresh(on_cpu(module))
            inside = torch_layers.unwrapped(trained)
            if not hasattr(inside, "training_step"):
                raise InputError(
                    f"LightningFit trains a LightningModule with its training_step; found {type(inside).__name__}. Use "
                    "gl.defences.Fit for other modules."
                )
            records = torch.utils.data.DataLoader(
                _Records(trained, data),
                batch_size=self.batch_size,
                shuffle=True,
                generator=generator,
                collate_fn=partial(_collate, self.batch),
            )
            trainer = lightning.Trainer(
                **{
                    "max_epochs": self.epochs,
                    "logger": False,
                    "enable_checkpointing": False,
                    "enable_progress_bar": False,
                    "enable_model_summary": False,
                    **_lightning_device(torch_device(self.device)),
                    **self.arguments,
                }
            )
            inside.train()
            trainer.fit(inside, records)
            inside.trainer = None  # It holds the records.
        return trained.eval()


@dataclass(frozen=True)
class HuggingFaceFit(DescribedRecipe):
    """Recipe that trains a new model of a configuration with ``transformers.Trainer``.

    It needs the extra ``transformers``. The model is built from its configuration with new random parameters, and is trained on
    its inputs and ``labels``. Nothing is downloaded or uploaded.

    Args:
        epochs: Passes over the records.
        batch_size: Number of records in a batch.
        learning_rate: Learning rate of AdamW.
        arguments: Other arguments of ``TrainingArguments``, such as ``{"warmup_steps": 100}``.
        device: ``cpu``, or ``auto`` for the devices that ``transformers`` chooses; ``CUDA_VISIBLE_DEVICES`` restricts them.

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> gl.models.HuggingFaceFit(epochs=2).learning_rate
        5e-05
    """

    epochs: int = 3
    batch_size: int = 8
    learning_rate: float = 5e-5
    arguments: Mapping[str, Any] = field(default_factory=dict)
    device: str = field(default=AUTO, compare=False)

    def __post_init__(self):
        integer("epochs", self.epochs, 1)
        integer("batch_size", self.batch_size, 1)
        number("learning_rate", self.learning_rate, 0)

    def __call__(self, module, data: Data, rng: np.random.Generator) -> Any:
        with _quietly("transformers", "accelerate"), TemporaryDirectory(prefix="guestlist-") as folder:
            transformers = extra("transformers", "gl.models.HuggingFaceFit")
            generator = _seed_torch(rng)
            structure = torch_layers.unwrapped(module)
            if not hasattr(structure, "config"):
                raise InputError(
                    f"HuggingFaceFit builds a model from its config, and {type(structure).__name__} has none. Use "
                    "gl.defences.Fit for other modules."
                )
            model = type(structure)(copy.deepcopy(structure.config))
            device = torch_device(self.device)
            seed = int(generator.initial_seed() % 2**31)
            options = {
                "output_dir": folder,
                "num_train_epochs": self.epochs,
                "per_device_train_batch_size": self.batch_size,
                "learning_rate": self.learning_rate,
                "seed": seed,
                "data_seed": seed,
                "use_cpu": device.type == "cpu",
                "report_to": [],
                "save_strategy": "no",
                "logging_strategy": "no",
                "disable_tqdm": True,
                "dataloader_pin_memory": device.type == "cuda",
                **self.arguments,
            }
            trainer = transformers.Trainer(
                model=model,
                args=transformers.TrainingArguments(**options),
                train_dataset=_Records(module, data),
                data_collator=partial(_collate, _with_labels),
            )
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.train()
            note_device(device)
        return _rewrapped(module, model).eval()


def _with_labels(inputs: Any, labels: Any) -> dict[str, Any]:
    if not isinstance(inputs, dict):
        raise InputError(
            "HuggingFaceFit trains a model with named inputs, such as input_ids. Pass an item of your dataset with these names: "
            "gl.torch_target(model, example=dataset[0], train=…)."
        )
    return {**inputs, "labels": labels}


def _collate(batch: Callable[[Any, Any], Any], items: list) -> Any:
    """Form a batch from the inputs and labels that ``_Records`` returns for some rows."""
    ((inputs, labels),) = items
    return batch(inputs, labels)


class _Records:
    """Dataset of the inputs and labels of records; several rows are read at once, in one batch."""

    def __init__(self, module: Any, data: Data) -> None:
        self.x = tensor(data.x, module)
        wrappers = [module, getattr(module, "module", None)]
        self.split = next((part.split for part in wrappers if isinstance(part, torch_layers.SeveralInputs)), None)
        as_tensor = labels_tensor if np.asarray(data.y).dtype.kind in "iub" else tensor
        self.y = as_tensor(data.y, module)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, row: int) -> Any:
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: list[int]) -> list:
        x = self.x[rows]
        return [(x if self.split is None else self.split(x), self.y[rows])]


def _rewrapped(module: Any, inside: Any) -> Any:
    """Return a new module in the same wrappers as another: those for several inputs and for one logit."""
    if isinstance(module, torch_layers.TwoLogits):
        return torch_layers.TwoLogits(_rewrapped(module.module, inside))
    if isinstance(module, torch_layers.SeveralInputs):
        return torch_layers.SeveralInputs(inside, module.parts)
    return inside


def _seed_torch(rng: np.random.Generator) -> Any:
    """Seed torch's global generators, and return a generator for the order of the records."""
    torch.manual_seed(int(rng.integers(2**63)))
    return torch.Generator().manual_seed(int(rng.integers(2**63)))


def _lightning_device(device: Any) -> dict[str, Any]:
    """Return the arguments of a Lightning trainer for a device."""
    note_device(device)
    if device.type not in ACCELERATORS:
        raise InputError(f"Lightning does not train on the device {device}. Use LightningFit(device='cpu').")
    return {
        "accelerator": ACCELERATORS[device.type],
        "devices": [device.index or 0] if device.type == "cuda" else 1,
    }


@contextmanager
def _quietly(*names: str) -> Iterator[None]:
    """Silence the messages and warnings of a trainer: reports of the audit follow for every reference."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
