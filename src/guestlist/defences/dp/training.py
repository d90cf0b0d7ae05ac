"""DP-SGD and DP-Adam (Abadi et al. 2016): clipped gradients of Poisson batches, plus noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from guestlist.data import Data
from guestlist.defences.dp.accounting import Privacy, epsilon_of, noise_for
from guestlist.defences.dp.clipping import check_clippable, clipped_sums, trusted
from guestlist.defences.plain import (
    fresh,
    labels_for,
    last_module,
    loss_of,
    take_rows,
    tensor,
    trained_parameters,
)
from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class DpSgd:
    """Train with differential privacy: each record's gradient is clipped, and noise is added to the sum.

    Each step draws a new batch, every record independently with probability ``rate``, as the accountant assumes. A batch may be
    empty, and its step is noise. The sum is divided by the *expected* size of a batch, because the actual size would reveal
    who is in it. The guarantee is the same for any number of records, so references have the guarantee of the target.

    Args:
        noise: Standard deviation in multiples of ``clip``; 0 only clips, without a guarantee. ``dp_sgd_for`` computes it.
        clip: Maximum norm of one record's gradient, over all parameters.
        rate: Probability that a record is in a batch.
        epochs: Number of steps times ``rate``.
        learning_rate: Learning rate of the optimizer.
        weight_decay: Weight of an L2 penalty, whose gradient depends on no record.
        optimizer: ``sgd`` or ``adam``.
        momentum: Momentum of SGD.
        loss: ``cross_entropy`` for classes; ``squared`` for a module with one output that predicts numbers.
    """

    noise: float = 1.0
    clip: float = 1.0
    rate: float = 0.05
    epochs: float = 20
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: float = 0.0
    loss: Literal["cross_entropy", "squared"] = "cross_entropy"

    def __post_init__(self):
        if self.optimizer not in ("adam", "sgd"):
            raise ValueError(f"Expected optimizer={self.optimizer!r} to be 'adam' or 'sgd'.")
        if self.loss not in ("cross_entropy", "squared"):
            raise ValueError(f"Expected loss={self.loss!r} to be 'cross_entropy' or 'squared'.")
        for name in ("clip", "epochs", "learning_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Expected {name}={getattr(self, name)} above 0.")
        for name in ("noise", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"Expected {name}={getattr(self, name)} to be 0 or more.")
        if self.noise and self.clip == inf:
            raise ValueError(f"Expected clip={self.clip} to be a number: noise={self.noise} is in multiples of it.")
        if not 0 < self.rate <= 1:
            raise ValueError(f"Expected rate={self.rate} in (0, 1].")
        if not 0 <= self.momentum < 1 or (self.momentum and self.optimizer != "sgd"):
            raise ValueError(f"Expected momentum={self.momentum} in [0, 1), and only with optimizer='sgd'.")

    @property
    def steps(self) -> int:
        return max(1, round(self.epochs / self.rate))

    def privacy(self, delta: float = 1e-5) -> Privacy:
        """Return the guarantee for each record, and its assumptions."""
        return Privacy(
            epsilon=epsilon_of(self.noise, rate=self.rate, steps=self.steps, delta=delta),
            delta=delta,
            accountant="prv",
            noise=self.noise,
            clip=self.clip,
            rate=self.rate,
            steps=self.steps,
        )

    def __call__(self, module, data: Data, rng: np.random.Generator):
        return last_module(self._steps(module, data.x, data.y, rng))

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """Train on (records, classes) probabilities instead of labels."""
        return last_module(self._steps(module, data.x, soft, rng))

    def plain(self) -> DpSgd:
        """Return the same steps on the same batches, without clipping and noise."""
        return replace(self, noise=0.0, clip=inf)

    def describe(self) -> str:
        return described(self)

    def _steps(self, module, x, y, rng: np.random.Generator) -> Iterator:
        """Yield the module after each step."""
        import torch

        check_clippable(module)
        torch.manual_seed(int(rng.integers(2**63)))
        module = fresh(module)
        x = tensor(x, module)
        y = labels_for(self.loss, y, module)
        if not _all_finite(x):
            raise InputError(
                "Some features are not finite numbers: the gradient of such a record cannot be cut to a norm."
            )
        optimizer = self._optimizer(module)
        expected = self.rate * len(y)
        deviation = self.noise * self.clip if self.noise else 0.0  # an infinite clip times 0 would be NaN
        parameters = trained_parameters(module)
        for parameter in parameters:  # a fused optimizer needs the memory layout of the parameter
            parameter.grad = torch.empty_like(parameter)
        fast = trusted(module, self._losses, x, y)
        module.train()
        for drawn in poisson_batches(len(y), self.rate, self.steps, rng):
            rows = torch.as_tensor(drawn)
            sums = clipped_sums(module, self._losses, take_rows(x, rows), take_rows(y, rows), self.clip, fast=fast).sums
            for parameter, total in zip(parameters, sums, strict=True):
                _fill_with_noise(parameter.grad, deviation / expected).add_(total, alpha=1 / expected)
            optimizer.step()
            yield module

    def _losses(self, answers, y):
        """Return (records,) losses."""
        return loss_of(self.loss, answers, y, reduction="none")

    def _optimizer(self, module):
        import torch

        options: dict[str, Any] = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        if self.optimizer == "sgd":
            return torch.optim.SGD(trained_parameters(module), momentum=self.momentum, **options)
        return torch.optim.Adam(trained_parameters(module), fused=True, **options)


def _fill_with_noise(gradient, deviation: float):
    """Fill a tensor with normal noise, or with zeros for a deviation of 0."""
    if deviation:
        return gradient.normal_(0.0, deviation)
    return gradient.zero_()


def _all_finite(x) -> bool:
    """Return whether all values are finite. The sum takes a quarter of the time, but may overflow."""
    import torch

    return bool(torch.isfinite(x.sum(dtype=torch.float64))) or bool(torch.isfinite(x).all())


def poisson_batches(records: int, rate: float, steps: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the rows of each batch: every record independently with probability ``rate``."""
    for _ in range(steps):
        yield np.flatnonzero(rng.random(records) < rate)


def dp_sgd_for(
    epsilon: float, *, delta: float = 1e-5, progress: Callable[..., Iterable] | None = None, **options
) -> DpSgd:
    """Return the recipe with the least noise that guarantees ``epsilon``; ``options`` as for :class:`DpSgd`.

    The guarantee is for one training. Keeping the best of several recipes spends more, which is not accounted for.
    """
    plain = DpSgd(noise=0.0, **options)
    noise = noise_for(epsilon, rate=plain.rate, steps=plain.steps, delta=delta, progress=progress)
    return DpSgd(noise=noise, **options)
