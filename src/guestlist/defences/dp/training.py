"""DP-SGD and DP-Adam (Abadi et al. 2016): clipped gradients of Poisson batches, and noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np

from guestlist.data import Data
from guestlist.defences.dp.accounting import Privacy, epsilon_of, noise_for
from guestlist.defences.dp.clipping import check_clippable, clipped_sums, trusted
from guestlist.defences.plain import fresh, labels_tensor, taken, tensor, trained_parameters
from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class DpSgd:
    """Training in which no record counts for much: each record's gradient is cut, and noise is added to the sum.

    Batches are drawn anew at each step, every record by itself with probability ``rate``, as the accountant assumes; a batch
    may be empty, and its step is noise. The sum is divided by the *expected* size of a batch: its own would tell who is in it.
    What is promised is the same for any number of records, so that references promise what the target does.

    Args:
        noise: standard deviation in multiples of ``clip``; 0 only clips, and promises nothing. ``dp_sgd_for`` finds it.
        clip: the largest norm of one record's gradient, over all parameters.
        rate: probability with which a record is in a batch.
        epochs: times ``1 / rate`` is the number of steps.
        weight_decay: an L2 penalty's gradient, which sees no record.
        momentum: of SGD.
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
        """What is promised about each record, and all that it rests on."""
        epsilon = epsilon_of(self.noise, rate=self.rate, steps=self.steps, delta=delta)
        return Privacy(epsilon, delta, "prv", self.noise, self.clip, self.rate, self.steps)

    def __call__(self, module, data: Data, rng: np.random.Generator):
        (trained,) = deque(self._steps(module, data.x, data.y, rng), maxlen=1)
        return trained.eval()

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """The same with (records, classes) probabilities in the place of labels."""
        (trained,) = deque(self._steps(module, data.x, soft, rng), maxlen=1)
        return trained.eval()

    def plain(self) -> DpSgd:
        """The same steps on the same batches, with nothing cut and no noise."""
        return replace(self, noise=0.0, clip=inf)

    def describe(self) -> str:
        return described(self)

    def _steps(self, module, x, y, rng: np.random.Generator) -> Iterator:
        """The one module that is trained, after each step."""
        import torch

        check_clippable(module)
        torch.manual_seed(int(rng.integers(2**63)))
        module = fresh(module)
        x = tensor(x, module)
        y = tensor(y, module).flatten() if self.loss == "squared" else labels_tensor(y, module)
        if not _all_finite(x):
            raise InputError(
                "Some features are not finite numbers: the gradient of such a record cannot be cut to a norm."
            )
        optimizer, expected = self._optimizer(module), self.rate * len(y)
        deviation = self.noise * self.clip if self.noise else 0.0  # a clip without end times no noise is none
        parameters = trained_parameters(module)
        for parameter in parameters:  # lies in memory as its parameter does, which a fused optimiser relies on
            parameter.grad = torch.empty_like(parameter)
        fast = trusted(module, self._losses, x, y)
        module.train()
        for drawn in poisson_batches(len(y), self.rate, self.steps, rng):
            rows = torch.as_tensor(drawn)
            sums = clipped_sums(module, self._losses, taken(x, rows), taken(y, rows), self.clip, fast=fast).sums
            for parameter, total in zip(parameters, sums, strict=True):
                _fill_with_noise(parameter.grad, deviation / expected).add_(total, alpha=1 / expected)
            optimizer.step()
            yield module

    def _losses(self, answers, y):
        """(records,) the loss of each."""
        import torch

        if self.loss == "squared":
            return torch.nn.functional.mse_loss(answers.flatten(), y, reduction="none")
        return torch.nn.functional.cross_entropy(answers, y, reduction="none")

    def _optimizer(self, module):
        import torch

        parameters = trained_parameters(module)
        if self.optimizer == "sgd":
            return torch.optim.SGD(
                parameters, lr=self.learning_rate, weight_decay=self.weight_decay, momentum=self.momentum
            )
        return torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)


def _fill_with_noise(gradient, deviation: float):
    """Normal noise, or zeros for a deviation of 0."""
    return gradient.normal_(0.0, deviation) if deviation else gradient.zero_()


def _all_finite(x) -> bool:
    """Most often told by the sum alone, which takes a quarter of the time; a sum may also be too large."""
    import torch

    return bool(torch.isfinite(x.sum(dtype=torch.float64))) or bool(torch.isfinite(x).all())


def poisson_batches(records: int, rate: float, steps: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows of each batch: every record by itself with probability ``rate``."""
    for _ in range(steps):
        yield np.flatnonzero(rng.random(records) < rate)


def dp_sgd_for(
    epsilon: float, *, delta: float = 1e-5, progress: Callable[..., Iterable] | None = None, **options
) -> DpSgd:
    """The recipe with the least noise that promises ``epsilon``; ``options`` are those of :class:`DpSgd`.

    One promise of one training: trying several recipes and keeping the best spends more, which nobody counts here.
    """
    plain = DpSgd(noise=0.0, **options)
    noise = noise_for(epsilon, rate=plain.rate, steps=plain.steps, delta=delta, progress=progress)
    return DpSgd(noise=noise, **options)
