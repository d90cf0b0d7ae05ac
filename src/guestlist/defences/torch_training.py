"""Plain training of torch modules: networks, objectives and the training loop."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from guestlist._util import DescribedRecipe, LazyModule, choice, extra, integer, number, torch
from guestlist.data import Data
from guestlist.defences.torch_devices import AUTO, FUSED, Batches, device_of, note_device, on_cpu, torch_device
from guestlist.errors import InputError

# Importing these modules imports torch.
torch_layers: Any = LazyModule("guestlist.defences.torch_layers")
torch_stacks: Any = LazyModule("guestlist.defences.torch_stacks")
SLOTS = 16  # networks of a stack; see torch_stacks


def mlp(features: int, classes: int, *, hidden: Sequence[int] = (512, 256, 128, 64), activation: str = "ReLU"):
    """Return a multi-layer perceptron; by default that of Ye et al. (2022).

    Args:
        features: Number of features.
        classes: Number of classes.
        hidden: Number of units of each hidden layer.
        activation: Name of a module of ``torch.nn``, such as ``ReLU`` or ``Tanh``.

    Returns:
        A torch module that returns logits.

    Raises:
        ValueError: If the activation is unknown.
    """
    nn = extra("torch.nn", "A network (gl.defences.mlp)")
    if not hasattr(nn, activation):
        raise ValueError(f"activation={activation!r} is not a module of torch.nn, such as 'ReLU'.")
    sizes = [features, *hidden]
    layers = [
        part for before, after in pairwise(sizes) for part in (nn.Linear(before, after), getattr(nn, activation)())
    ]
    return torch_layers.initialised(*layers, nn.Linear(sizes[-1], classes))


def cnn(side: int, classes: int, *, channels: int = 1, filters: Sequence[int] = (32, 64)):
    """Return a small convolutional network of 3 x 3 filters with 2 x 2 max pooling (Ye et al. 2022).

    Args:
        side: Height and width of the images, (records, channels, side, side).
        classes: Number of classes.
        channels: Number of channels of the images.
        filters: Number of filters of each layer.

    Returns:
        A torch module that returns logits.

    Raises:
        ValueError: If there are no filters, or the images are too small for the layers.
    """
    nn = extra("torch.nn", "A network (gl.defences.cnn)")
    if not filters:
        raise ValueError("filters=() is empty. Pass the number of filters of at least one layer.")
    layers = []
    width = side
    for before, after in zip([channels, *filters[:-1]], filters, strict=True):
        layers += [nn.Conv2d(before, after, 3), nn.ReLU(), nn.MaxPool2d(2)]
        width = (width - 2) // 2
    if width < 1:
        raise ValueError(f"side={side} is too small for {len(filters)} layers. Use fewer filters, or larger images.")
    return torch_layers.initialised(*layers, nn.Flatten(), nn.Linear(filters[-1] * width * width, classes))


class Batch(NamedTuple):
    """Records, labels (positions of classes, probabilities of classes, or numbers), and the epoch, from 0."""

    x: Any
    y: Any
    epoch: int


Loss = Callable[[Any, Batch], Any]  # outputs for a batch, and the batch, to the tensor that is minimised


class Start(NamedTuple):
    """State at the start of a training, from which an objective is prepared.

    Args:
        module: Module to train, with fresh parameters.
        x, y: All records and labels, as tensors.
        loss: The plain loss.
        rng: Random stream of the objective.
    """

    module: Any
    x: Any
    y: Any
    loss: Loss
    rng: np.random.Generator


@runtime_checkable
class Objective(Protocol):
    """Function that training minimises instead of the loss.

    An objective that also serves regression has ``for_values = True``.
    """

    for_values: ClassVar[bool]

    def begin(self, start: Start) -> Loss:
        """Return the loss function of one training."""


class BatchObjective(ABC):
    """Base of objectives that keep no state during a training."""

    for_values: ClassVar[bool] = False

    def begin(self, start: Start) -> Loss:
        return partial(self.loss, start)

    @abstractmethod
    def loss(self, start: Start, outputs, batch: Batch) -> Any:
        """Return the tensor to minimise, from the outputs for one batch."""


def soft(y, classes: int, like):
    """Return (records, classes) probabilities: hard labels as ones and zeros, soft labels unchanged."""
    if y.ndim == 2:
        return y
    return torch.nn.functional.one_hot(y, classes).to(like.dtype)


@dataclass(frozen=True)
class Fit(DescribedRecipe):
    """Train a module with AdamW or SGD, from freshly initialised parameters.

    Every submodule that has parameters must have ``reset_parameters``, as torch's own layers do.

    Args:
        epochs: Passes over the records.
        batch_size: Approximate number of records in a batch.
        learning_rate: Learning rate of the optimizer.
        weight_decay: Weight decay; with SGD, the gradient of an L2 penalty of half this weight.
        optimizer: ``adamw`` or ``sgd``.
        momentum: Momentum of SGD; AdamW has its own.
        loss: ``cross_entropy`` for classes; ``squared`` for a module with one output that predicts numbers.
        objective: Objective to minimise instead of the loss, such as ``LabelSmoothing(0.1)``.
        device: Device that trains, such as ``cuda:1``; ``auto`` is an accelerator if there is one, see
            :func:`torch_device`. It is not part of the recipe's identity.

    Raises:
        ValueError: If an option is unknown or out of range, or the objective does not fit the loss.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: str = "adamw"
    momentum: float = 0.0
    loss: Literal["cross_entropy", "squared"] = "cross_entropy"
    objective: Objective | None = None
    device: str = field(default=AUTO, compare=False)

    def __post_init__(self):
        check_options(self, optimizers=("adamw", "sgd"))
        integer("epochs", self.epochs, 1)
        integer("batch_size", self.batch_size, 1)
        if self.objective is not None and not isinstance(self.objective, Objective):
            raise ValueError(
                f"objective={self.objective!r} is not an objective. Pass for example gl.defences.LabelSmoothing(0.1)."
            )
        if self.loss == "squared" and not getattr(self.objective, "for_values", True):
            raise ValueError(
                f"{type(self.objective).__name__} changes probabilities of classes, which loss='squared' does not have. "
                "Use loss='cross_entropy'."
            )

    def __call__(self, module, data: Data, rng: np.random.Generator):
        """Return a copy of ``module`` with fresh parameters, trained on ``data.x`` and ``data.y``.

        Args:
            data: Records; labels are positions of the classes, or numbers for a squared loss.
        """
        return last_module(self.epochs_of(module, data, rng))

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """Train on (records, classes) probabilities instead of labels."""
        return last_module(self.epochs_of(module, data.changed(y=soft), rng))

    def checkpoints(self, module, data: Data, rng: np.random.Generator, *, every: int = 1) -> list:
        """Return copies of the module during training; the last is identical to the result of a call.

        Args:
            every: Epochs between copies, counted from the last.
        """
        integer("every", every, 1)
        return [
            copy.deepcopy(trained).eval()
            for epoch, trained in enumerate(self.epochs_of(module, data, rng), start=1)
            if (self.epochs - epoch) % every == 0
        ]

    def can_stack(self, module, data: Data) -> bool:
        """Return whether :meth:`train_together` trains such modules: small networks of simple layers, on the CPU."""
        if type(self) is not Fit or torch_device(self.device).type != "cpu":
            return False
        return torch_stacks.can_stack(self, module, data)

    def train_together(
        self, module, data: Data, training_sets: Sequence[np.ndarray], rngs: Sequence[np.random.Generator]
    ) -> list:
        """Return modules as from calls with some of the records each, up to rounding; see ``torch_stacks``.

        Args:
            module: Module for which :meth:`can_stack` is true.
            data: All records.
            training_sets: (records,) true for the records of each module; at most 16.
            rngs: Random stream of each module.
        """
        return torch_stacks.train_together(self, module, data, training_sets, rngs)

    def plain(self) -> Fit:
        """Return the same training without an objective."""
        return replace(self, objective=None)

    def epochs_of(self, module, data: Data, rng: np.random.Generator) -> Iterator:
        """Yield the module after each epoch: always the same object, copy it to keep it."""
        module, device = begin_training(module, self.device, rng)
        x = tensor(data.x, module)
        y = labels_for(self.loss, data.y, module)
        if x.ndim == 4 and device.type in FUSED:
            # Convolutions are about twice as fast if the channels of an image are adjacent in memory.
            module = module.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer = optimizer_of(self, trained_parameters(module))
        loss: Loss = self._loss
        if self.objective is not None:
            # An objective has its own random stream: one of weight 0 is identical to plain training.
            loss = self.objective.begin(Start(module=module, x=x, y=y, loss=self._loss, rng=rng.spawn(1)[0]))

        def add_gradients(rows, size: int, epoch: int) -> None:
            """Add the gradient of a batch, from parts of at most ``size`` records."""
            optimizer.zero_grad()
            for part in rows.split(size):
                batch = Batch(take_rows(x, part), take_rows(y, part), epoch)
                value = loss(module(take_rows(x, part)), batch)  # a second copy: a module may work in place
                if len(part) < len(rows):
                    value = value * (len(part) / len(rows))
                value.backward()

        module.train()
        n_batches = max(1, round(len(y) / self.batch_size))
        batches = Batches(device, size=-(-len(y) // n_batches))
        for epoch in range(self.epochs):
            for rows in torch.as_tensor(rng.permutation(len(y)), device=device).tensor_split(n_batches):
                while not batches.fits(partial(add_gradients, rows, batches.size, epoch), len(rows)):
                    pass
                optimizer.step()
            yield module

    def _loss(self, outputs, batch: Batch):
        return loss_of(self.loss, outputs, batch.y)


def check_options(recipe: Any, *, optimizers: Sequence[str]) -> None:
    """Raise a ValueError unless the loss and the options of the optimizer of a recipe are in range."""
    choice("optimizer", recipe.optimizer, optimizers)
    choice("loss", recipe.loss, ("cross_entropy", "squared"))
    number("learning_rate", recipe.learning_rate, 0)
    number("weight_decay", recipe.weight_decay, 0, ends="[)")
    if not 0 <= recipe.momentum < 1 or (recipe.momentum and recipe.optimizer != "sgd"):
        raise ValueError(f"Expected momentum={recipe.momentum} in [0, 1), and only with optimizer='sgd'.")


def optimizer_of(recipe: Any, parameters: list) -> Any:
    """Return the optimizer that a recipe names, of these parameters."""
    options: dict[str, Any] = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(parameters, momentum=recipe.momentum, **options)
    # The fused optimizer makes one pass; a dozen small passes would take a third of the training time.
    fused = all(parameter.device.type in FUSED for parameter in parameters)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[recipe.optimizer](parameters, fused=fused, **options)


def last_module(modules: Iterator) -> Any:
    """Return the last module that a training yields, in evaluation mode."""
    (trained,) = deque(modules, maxlen=1)
    return trained.eval()


def loss_of(name: str, outputs, y, reduction: str = "mean"):
    """Return the loss of outputs: ``squared`` or ``cross_entropy``."""
    if name == "squared":
        return torch.nn.functional.mse_loss(outputs.flatten(), y, reduction=reduction)
    return torch.nn.functional.cross_entropy(outputs, y, reduction=reduction)


def labels_for(loss: str, y, module):
    """Return labels as the tensor that a loss reads."""
    if loss == "squared":
        return tensor(y, module).flatten()
    return labels_tensor(y, module)


def probabilities(module, x, temperature: float = 1.0) -> np.ndarray:
    """Return (records, classes) the probabilities of a trained module."""
    return (module_outputs(module, tensor(x, module)).cpu().double() / temperature).softmax(dim=1).numpy()


def goodness(module, x, y, loss: str = "cross_entropy") -> float:
    """Return the accuracy of a module; minus the mean squared error if it predicts numbers."""
    outputs = module_outputs(module, tensor(x, module)).cpu()
    if loss == "squared":
        return -float(np.square(outputs.flatten().numpy() - np.asarray(y, dtype=np.float64)).mean())
    return float((outputs.argmax(dim=1).numpy() == np.asarray(y)).mean())


def module_outputs(module, x):
    """Return a module's outputs in evaluation mode, without gradients.

    Args:
        module: Torch module.
        x: Features, as a tensor.

    Returns:
        The outputs, as a tensor.
    """
    with evaluation_mode(module), torch.no_grad():
        return module(x)


@contextmanager
def evaluation_mode(module) -> Iterator[None]:
    """Put a module into evaluation mode, and restore the mode of each of its parts afterwards.

    Args:
        module: Torch module.

    Yields:
        Nothing.
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def begin_training(module, device, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a copy with fresh parameters on a device, and the device; the parameters are the same on every device."""
    chosen = torch_device(device)
    seed = int(rng.integers(2**63))
    if chosen.type == "cpu":
        torch.default_generator.manual_seed(
            seed
        )  # torch.manual_seed formats a stack trace for each type of accelerator
    else:
        torch.manual_seed(seed)
    note_device(chosen)
    return fresh(on_cpu(module)).to(chosen), chosen


def fresh(module):
    """Return a copy with freshly initialised parameters: parts first, since a module may initialise its parts."""
    module = copy.deepcopy(module)
    _draw(module)
    return module


def _draw(module) -> None:
    for part in module.children():
        _draw(part)
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
    elif list(module.parameters(recurse=False)):
        raise InputError(
            f"{type(module).__name__} has parameters but no reset_parameters(), so reference models would start from the "
            "target's parameters. Add that method, or pass train=(data, rng) -> module."
        )


def trained_parameters(module) -> list:
    return [p for p in module.parameters() if p.requires_grad]


def take_rows(x, rows):
    """Return ``x[rows]`` in the memory layout of ``x``, in a tenth of the time for long records."""
    if x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x.movedim(1, 3).index_select(0, rows).movedim(3, 1)
    return x.index_select(0, rows)


def tensor(x, module):
    """Return a copy of the records in the module's floating-point type, on its device: they may be mapped from a file.

    Args:
        x: (records, …) features.
        module: Torch module.

    Returns:
        The features, as a tensor.
    """
    dtype = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    return torch.as_tensor(np.array(x)).to(dtype).to(device_of(module))


def labels_tensor(y, module):
    """Return positions of classes as integers, soft labels in the module's floating-point type, on its device.

    Args:
        y: (records,) positions of classes, or (records, classes) soft labels.
        module: Torch module.

    Returns:
        The labels, as a tensor.
    """
    y = np.array(y)
    if y.ndim == 2:
        return tensor(y, module)
    return torch.as_tensor(y.astype(np.int64)).to(device_of(module))
