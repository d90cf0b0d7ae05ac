"""Plain training of a torch module: no defence, and the measure of all others.

Torch is imported only when something is trained.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from guestlist.arguments import integer, number
from guestlist.data import Data
from guestlist.defences.objective import Batch, Objective, Start
from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class Fit:
    """How a module is trained: with AdamW or SGD, from freshly drawn parameters.

    Every submodule that has parameters must have ``reset_parameters``, as torch's own layers do.

    Args:
        weight_decay: with SGD, the gradient of an L2 penalty of half this weight.
        momentum: of SGD; AdamW has its own.
        loss: ``cross_entropy`` for classes; ``squared`` for a module with one output that predicts numbers.
        objective: what is minimised in the place of the loss, such as ``LabelSmoothing(0.1)``.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: str = "adamw"
    momentum: float = 0.0
    loss: Literal["cross_entropy", "squared"] = "cross_entropy"
    objective: Objective | None = None

    def __post_init__(self):
        if self.optimizer not in ("adamw", "sgd"):
            raise ValueError(f"Expected optimizer={self.optimizer!r} to be 'adamw' or 'sgd'.")
        if self.loss not in ("cross_entropy", "squared"):
            raise ValueError(f"Expected loss={self.loss!r} to be 'cross_entropy' or 'squared'.")
        for name in ("epochs", "batch_size"):
            integer(name, getattr(self, name), 1)
        number("learning_rate", self.learning_rate, 0)
        number("weight_decay", self.weight_decay, 0, ends="[)")
        if not 0 <= self.momentum < 1 or (self.momentum and self.optimizer != "sgd"):
            raise ValueError(f"Expected momentum={self.momentum} in [0, 1), and only with optimizer='sgd'.")
        if self.objective is not None and not isinstance(self.objective, Objective):
            raise ValueError(f"Expected objective={self.objective!r} to be one such as LabelSmoothing(0.1).")
        if self.loss == "squared" and not getattr(self.objective, "for_values", True):
            raise ValueError(
                f"{type(self.objective).__name__} changes answers about classes, and loss='squared' has none."
            )

    def __call__(self, module, data: Data, rng: np.random.Generator):
        """A copy of ``module`` with fresh parameters, trained on ``data.x`` and ``data.y``.

        Args:
            data: its labels are positions of the classes, or numbers where the loss is squared.
        """
        return self._trained(module, data.x, data.y, rng)

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """The same with (records, classes) probabilities in the place of labels."""
        return self._trained(module, data.x, soft, rng)

    def checkpoints(self, module, data: Data, rng: np.random.Generator, *, every: int = 1) -> list:
        """The module as it was after every so many epochs; the last is what a call returns, to the bit.

        Args:
            every: epochs from one to the next, counted from the last.
        """
        if every < 1:
            raise ValueError(f"Expected every={every} to be 1 or more.")
        epochs = enumerate(self.epochs_of(module, data, rng), start=1)
        return [copy.deepcopy(trained).eval() for epoch, trained in epochs if (self.epochs - epoch) % every == 0]

    def epochs_of(self, module, data: Data, rng: np.random.Generator) -> Iterator:
        """The one module that is trained, after each epoch: copy it to keep it."""
        return self._epochs(module, data.x, data.y, rng)

    def plain(self) -> Fit:
        """The same training with the loss for its objective."""
        return replace(self, objective=None)

    def describe(self) -> str:
        return described(self)

    def _trained(self, module, x, y, rng: np.random.Generator):
        (trained,) = deque(self._epochs(module, x, y, rng), maxlen=1)
        return trained.eval()

    def _epochs(self, module, x, y, rng: np.random.Generator) -> Iterator:
        """The one module that is trained, after each epoch."""
        import torch

        torch.manual_seed(int(rng.integers(2**63)))
        module = fresh(module)
        x, y = tensor(x, module), self._labels(y, module)
        if x.ndim == 4:  # images: convolutions are about twice as fast when channels lie together in memory
            module = module.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer = self._optimizer(module)
        # An objective has chances of its own, so that one that weighs nothing leaves plain training as it is, bit for bit.
        loss = (
            self._loss
            if self.objective is None
            else self.objective.begin(Start(module, x, y, self._loss, rng.spawn(1)[0]))
        )
        module.train()
        for epoch in range(self.epochs):
            order = torch.as_tensor(rng.permutation(len(y)))
            for rows in order.tensor_split(max(1, round(len(y) / self.batch_size))):
                optimizer.zero_grad()
                batch = Batch(taken(x, rows), taken(y, rows), epoch)
                loss(module(taken(x, rows)), batch).backward()  # of its own: a module may work in place
                optimizer.step()
            yield module

    def _loss(self, answers, batch: Batch):
        import torch

        if self.loss == "squared":
            return torch.nn.functional.mse_loss(answers.flatten(), batch.y)
        return torch.nn.functional.cross_entropy(answers, batch.y)

    def _labels(self, y, module):
        return tensor(y, module).flatten() if self.loss == "squared" else labels_tensor(y, module)

    def _optimizer(self, module):
        import torch

        parameters, rate, decay = trained_parameters(module), self.learning_rate, self.weight_decay
        if self.optimizer == "sgd":
            return torch.optim.SGD(parameters, lr=rate, weight_decay=decay, momentum=self.momentum)
        # In one pass over the parameters, where a dozen small ones take a third of the whole training. SGD is one pass anyway.
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)


def probabilities(module, x, temperature: float = 1.0) -> np.ndarray:
    """(records, classes) what a trained module answers."""
    return (answered(module, tensor(x, module)).double() / temperature).softmax(dim=1).numpy()


def goodness(module, x, y, loss: str = "cross_entropy") -> float:
    """Share of records that a module is right about; minus the mean squared error where it predicts numbers."""
    answers = answered(module, tensor(x, module))
    if loss == "squared":
        return -float(np.square(answers.flatten().numpy() - np.asarray(y, dtype=np.float64)).mean())
    return float((answers.argmax(dim=1).numpy() == np.asarray(y)).mean())


def answered(module, x):
    """What a module answers to someone who asks: without dropout, and without a trace in gradients or statistics of batches."""
    import torch

    training = module.training
    module.eval()
    with torch.no_grad():
        found = module(x)
    module.train(training)
    return found


def fresh(module):
    """A copy with parameters drawn anew, a module's after those of its parts: it may draw theirs in another way."""
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
            f"{type(module).__name__} has parameters but no reset_parameters(): references would start from the "
            "target's own. Add that method, or give train=(data, rng) -> module."
        )


def trained_parameters(module) -> list:
    return [p for p in module.parameters() if p.requires_grad]


def taken(x, rows):
    """``x[rows]``, in a tenth of the time where records are long, and lying in memory as ``x`` does."""
    import torch

    if x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x.movedim(1, 3).index_select(0, rows).movedim(3, 1)
    return x.index_select(0, rows)


def tensor(x, module):
    """The records in the module's own floating-point type, as a copy: they may be mapped from a file."""
    import torch

    return torch.as_tensor(np.array(x)).to(_kind(module))


def labels_tensor(y, module):
    """Positions of classes as integers, soft labels in the module's own type."""
    import torch

    y = np.array(y)
    return torch.as_tensor(y).to(_kind(module)) if y.ndim == 2 else torch.as_tensor(y.astype(np.int64))


def _kind(module):
    import torch

    first = next((p for p in module.parameters() if p.is_floating_point()), None)
    return torch.float32 if first is None else first.dtype
