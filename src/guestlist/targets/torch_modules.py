"""Torch modules as targets, and a recipe that trains more like them. Torch is imported only when used."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from guestlist.data import Data, encode
from guestlist.errors import InputError
from guestlist.recipes import describe
from guestlist.targets.target import Predict, Target


@dataclass(frozen=True)
class Fit:
    """How a module is trained: cross-entropy, with AdamW or SGD, from freshly drawn parameters.

    Every submodule that has parameters must have ``reset_parameters``, as torch's own layers do.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: str = "adamw"

    def __post_init__(self):
        if self.optimizer not in ("adamw", "sgd"):
            raise ValueError(f"Expected optimizer={self.optimizer!r} to be 'adamw' or 'sgd'.")
        for name in ("epochs", "batch_size", "learning_rate"):
            if getattr(self, name) <= 0:
                raise ValueError(f"Expected {name}={getattr(self, name)} above 0.")

    def __call__(self, module, x, y, rng: np.random.Generator):
        """A copy of ``module`` with fresh parameters, trained on ``x`` and the class positions ``y``."""
        import torch

        torch.manual_seed(int(rng.integers(2**63)))
        module = _fresh(module)
        x, y = _tensor(x, module), torch.as_tensor(np.array(y, dtype=np.int64))
        optimizer = self._optimizer(module)
        module.train()
        for _ in range(self.epochs):
            for batch in np.array_split(rng.permutation(len(y)), max(1, round(len(y) / self.batch_size))):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(module(x[batch]), y[batch]).backward()
                optimizer.step()
        return module.eval()

    def _optimizer(self, module):
        import torch

        kind = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[self.optimizer]
        return kind(module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)


def torch_target(
    module,
    *,
    classes=None,
    train: Fit | Callable | None = None,
    batch_size: int = 1024,
    recipe: str | None = None,
    name: str | None = None,
) -> Target:
    """A target from a torch module that answers with logits.

    Args:
        module: takes a float tensor (records, …), returns logits (records, classes). Probabilities are refused
            nowhere and hide the tail: leave the softmax out.
        classes: the labels, one per logit; by default 0, 1, ….
        train: ``Fit(...)``, which draws fresh parameters and trains as it says; or a function
            ``(data, rng) -> module`` that trains one reference on ``data.x`` and ``data.y``. Without it, only the
            attacks that need no references run.
        batch_size: how many records are asked about at once.
        recipe: text that identifies ``train`` across runs; by default its settings or its source code.
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise InputError(f"Expected a torch.nn.Module, found {type(module).__name__}.")
    labels = np.arange(_outputs(module)) if classes is None else np.asarray(classes)
    return Target(
        predict=_Logits(module, batch_size),
        classes=labels,
        scale="logits",
        train=None if train is None else _Train(module, labels, train, batch_size),
        recipe=_recipe(module, train) if recipe is None else recipe,
        name=name or type(module).__name__,
        arrays=True,
    )


@dataclass(frozen=True)
class _Logits:
    """A module's logits, in batches, in evaluation mode."""

    module: object
    batch_size: int

    def __call__(self, x) -> np.ndarray:
        import torch

        training = self.module.training
        self.module.eval()
        with torch.no_grad():
            parts = [
                self.module(_tensor(x[i : i + self.batch_size], self.module)) for i in range(0, len(x), self.batch_size)
            ]
        self.module.train(training)  # the user's module is left as it was
        return torch.cat(parts).to(torch.float64).cpu().numpy()


@dataclass(frozen=True)
class _Train:
    """Train one reference, by a recipe or by the user's own function."""

    module: object
    classes: np.ndarray
    train: Fit | Callable
    batch_size: int

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        if isinstance(self.train, Fit):
            return _Logits(self.train(self.module, data.x, encode(data.y, self.classes), rng), self.batch_size)
        trained = self.train(data, rng)
        return _Logits(trained, self.batch_size) if hasattr(trained, "state_dict") else trained


def _fresh(module):
    """A copy with parameters drawn anew."""
    module = copy.deepcopy(module)
    for part in module.modules():
        own = list(part.parameters(recurse=False))
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
        elif own:
            raise InputError(
                f"{type(part).__name__} has parameters but no reset_parameters(): references would start from the "
                "target's own. Add that method, or give train=(data, rng) -> module."
            )
    return module


def _tensor(x, module):
    """The records in the module's own floating-point type, as a copy: they may be mapped from a file."""
    import torch

    first = next((p for p in module.parameters() if p.is_floating_point()), None)
    return torch.as_tensor(np.array(x)).to(torch.float32 if first is None else first.dtype)


def _outputs(module) -> int:
    sizes = [part.out_features for part in module.modules() if hasattr(part, "out_features")]
    if not sizes:
        raise InputError("How many classes does the module answer for? Give classes=[...].")
    return sizes[-1]


def _recipe(module, train) -> str:
    how = repr(asdict(train)) if isinstance(train, Fit) else describe(train)
    return f"{module}\n{how}"
