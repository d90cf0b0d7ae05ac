"""Torch modules as targets. Torch is imported only when used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from guestlist.data import Data, encode
from guestlist.defences.plain import Fit, tensor
from guestlist.errors import InputError
from guestlist.fingerprints import describe
from guestlist.targets.target import Predict, Target
from guestlist.targets.white_box import Inner


def torch_target(
    module,
    *,
    classes=None,
    train: Fit | Callable | None = None,
    distil: Callable | None = None,
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
        distil: ``(data, soft, rng) -> module``, the same with (records, classes) probabilities in the place of labels;
            ``Fit`` needs none.
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
        distil=_distil(module, labels, train, distil, batch_size),
        recipe=_recipe(module, train, distil) if recipe is None else recipe,
        name=name or type(module).__name__,
        arrays=True,
        inner=Inner(module),
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
                self.module(tensor(x[i : i + self.batch_size], self.module)) for i in range(0, len(x), self.batch_size)
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
        return _asked(self.train(data, rng), self.batch_size)


@dataclass(frozen=True)
class _Distil:
    """Train one model on soft labels, by a recipe or by the user's own function."""

    module: object
    train: Fit | Callable
    batch_size: int

    def __call__(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        if isinstance(self.train, Fit):
            return _Logits(self.train(self.module, data.x, soft, rng), self.batch_size)
        return _asked(self.train(data, soft, rng), self.batch_size)


def _distil(module, labels, train, distil, batch_size) -> _Distil | None:
    how = train if distil is None and isinstance(train, Fit) else distil
    return None if how is None else _Distil(module, how, batch_size)


def _asked(trained, batch_size: int) -> Predict:
    return _Logits(trained, batch_size) if hasattr(trained, "state_dict") else trained


def _outputs(module) -> int:
    sizes = [part.out_features for part in module.modules() if hasattr(part, "out_features")]
    if not sizes:
        raise InputError("How many classes does the module answer for? Give classes=[...].")
    return sizes[-1]


def _recipe(module, train, distil) -> str:
    how = repr(asdict(train)) if isinstance(train, Fit) else describe(train)
    return f"{module}\n{how}" + (f"\n{describe(distil)}" if distil else "")
