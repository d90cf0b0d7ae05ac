"""Defences that regularise training: L2, dropout, early stopping, RelaxLoss, smoothing, HAMP, noise."""

import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from guestlist._util import DescribedRecipe, integer, number, torch
from guestlist.data import Data
from guestlist.defences.torch_training import Batch, BatchObjective, Fit, Start, goodness, labels_tensor, soft, tensor
from guestlist.errors import InputError


@dataclass(frozen=True)
class L2(BatchObjective):
    """Add ``weight`` times the sum of all squared parameters to the loss: the gradient is 2 weight w.

    This is a penalty in the loss, unlike AdamW's ``weight_decay``: Adam divides the gradient of a penalty by the running size
    of gradients, and decays weights separately.

    Attributes:
        weight: Weight of the penalty; 0 or more.

    Raises:
        ValueError: If the weight is negative.
    """

    weight: float = 1e-3
    for_values: ClassVar[bool] = True

    def __post_init__(self):
        number("weight", self.weight, 0, ends="[)")

    def loss(self, start: Start, outputs, batch: Batch):
        squares = sum(parameter.square().sum() for parameter in start.module.parameters())
        return start.loss(outputs, batch) + self.weight * squares


@dataclass(frozen=True)
class Dropout(DescribedRecipe):
    """Train with dropout before every linear layer except the first layer (Srivastava et al. 2014).

    If the module already has dropout layers, this recipe adds more.

    Attributes:
        rate: Probability that a unit is dropped, in [0, 1).
        fit: Training.

    Raises:
        ValueError: If the rate is not in [0, 1).
    """

    rate: float = 0.5
    fit: Fit = field(default_factory=Fit)

    def __post_init__(self):
        number("rate", self.rate, 0, 1, ends="[)")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        return self.fit(dropping(module, self.rate), data, rng)

    def distil(self, module, data: Data, soft: np.ndarray, rng: np.random.Generator):
        """Train on (records, classes) probabilities instead of labels."""
        return self.fit.distil(dropping(module, self.rate), data, soft, rng)

    def plain(self) -> Fit:
        """Return the same training without dropout."""
        return self.fit.plain()


def dropping(module, rate: float):
    """Return a copy with dropout before every linear layer except the first layer."""
    nn = torch.nn
    module = copy.deepcopy(module)
    layers = [part for part in module.modules() if isinstance(part, nn.Linear | nn.Conv2d)]
    later = {part for part in layers[1:] if isinstance(part, nn.Linear)}
    if not later:
        raise InputError(
            "Dropout is applied to the inputs of linear layers after the first layer, and this module has none. Use another "
            "defence, such as gl.defences.L2(…)."
        )
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if child in later:
                setattr(parent, name, nn.Sequential(nn.Dropout(rate), child))
    return module


@dataclass(frozen=True)
class EarlyStopping(DescribedRecipe):
    """Train as ``fit`` does, and keep the epoch that performs best on held-out records.

    Args:
        fit: Training; its ``epochs`` are the maximum.
        share: Share of the records that is held out to choose the epoch.
        patience: Epochs without an improvement before training ends.

    Raises:
        ValueError: If a number is out of range.
    """

    fit: Fit = field(default_factory=Fit)
    share: float = 0.1
    patience: int = 5

    def __post_init__(self):
        number("share", self.share, 0, 1)
        integer("patience", self.patience, 1)

    def __call__(self, module, data: Data, rng: np.random.Generator):
        """Return the module after its best epoch (the first of ties)."""
        order = rng.spawn(1)[0].permutation(len(data))
        held_out, training_rows = np.split(order, [max(1, round(self.share * len(data)))])
        if not len(training_rows):
            raise ValueError(f"Early stopping needs at least two records, found {len(data)}. Provide more records.")
        best = -np.inf
        best_module = None
        epochs_waited = 0
        for trained in self.fit.epochs_of(module, data.take(np.sort(training_rows)), rng):
            reached = goodness(trained, data.x[held_out], data.y[held_out], self.fit.loss)
            epochs_waited += 1
            if best_module is None or reached > best:
                best = np.nan_to_num(reached, nan=-np.inf)  # of a training that diverges
                best_module = copy.deepcopy(trained)
                epochs_waited = 0
            if epochs_waited >= self.patience:
                break
        assert best_module is not None, "there is one epoch or more"
        return best_module.eval()

    def plain(self) -> Fit:
        """Return training for all epochs, on all records."""
        return self.fit.plain()


@dataclass(frozen=True)
class RelaxLoss(BatchObjective):
    """Keep the loss of members at ``level``, near that of non-members (Chen, Yu & Fritz 2022).

    Training descends the gradient while the loss of a batch is above the level. Below it, even epochs ascend the gradient. Odd
    epochs descend a loss whose labels keep the probability of the true class and divide the remainder equally: outputs
    flatten, and correct predictions stay correct.

    Attributes:
        level: Loss to keep, in nats; 0 or more.

    Raises:
        ValueError: If the level is negative.
    """

    level: float = 0.5

    def __post_init__(self):
        number("level", self.level, 0, ends="[)")

    def loss(self, start: Start, outputs, batch: Batch):
        plain = start.loss(outputs, batch)
        if plain.item() >= self.level:
            return plain
        if batch.epoch % 2 == 0:
            return -plain
        return start.loss(outputs, batch._replace(y=flat(outputs, batch.y)))


def flat(outputs, y):
    """Return (records, classes) labels: the predicted probability of the true class, the remainder divided equally."""
    truth = soft(y, outputs.shape[1], outputs)
    p_true = (outputs.detach().softmax(dim=1) * truth).sum(dim=1, keepdim=True)
    return truth * p_true + (1 - truth) * (1 - p_true) / (outputs.shape[1] - 1)


@dataclass(frozen=True)
class LabelSmoothing(BatchObjective):
    """Divide a share of every label equally among all classes (Szegedy et al. 2016).

    Attributes:
        share: Share of every label that is divided, in [0, 1).

    Raises:
        ValueError: If the share is not in [0, 1).
    """

    share: float = 0.1

    def __post_init__(self):
        number("share", self.share, 0, 1, ends="[)")

    def loss(self, start: Start, outputs, batch: Batch):
        classes = outputs.shape[1]
        labels = (1 - self.share) * soft(batch.y, classes, outputs) + self.share / classes
        return start.loss(outputs, batch._replace(y=labels))


@dataclass(frozen=True)
class ConfidencePenalty(BatchObjective):
    """Subtract ``weight`` times the entropy of the outputs from the loss (Pereyra et al. 2017).

    Attributes:
        weight: Weight of the entropy; 0 or more.

    Raises:
        ValueError: If the weight is negative.
    """

    weight: float = 0.1

    def __post_init__(self):
        number("weight", self.weight, 0, ends="[)")

    def loss(self, start: Start, outputs, batch: Batch):
        return start.loss(outputs, batch) - self.weight * output_entropy(outputs).mean()


def output_entropy(outputs):
    """Return (records,) the entropy of the softmax of logits."""
    log_p = outputs.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)


@dataclass(frozen=True)
class Hamp(BatchObjective):
    """Train on labels of high entropy with a penalty on confident outputs (Chen & Pattabiraman 2024).

    This is the training part of HAMP.

    Args:
        entropy: Entropy of the labels, as a share of the maximum, log(classes); the true class keeps the largest probability.
        weight: Weight of the entropy of the outputs.

    Raises:
        ValueError: If a number is out of range.
    """

    entropy: float = 0.5
    weight: float = 0.01

    def __post_init__(self):
        number("entropy", self.entropy, 0, 1, ends="[)")
        number("weight", self.weight, 0, ends="[)")

    def loss(self, start: Start, outputs, batch: Batch):
        smoothing = LabelSmoothing(smoothing_for(self.entropy, outputs.shape[1]))
        return smoothing.loss(start, outputs, batch) - self.weight * output_entropy(outputs).mean()


@lru_cache(maxsize=64)
def smoothing_for(share: float, classes: int) -> float:
    """Return the label smoothing for which the entropy of a label is a share of log(classes).

    >>> round(smoothing_for(0.5, 2), 4)
    0.2201
    """
    from scipy.optimize import brentq

    def beyond(smoothing: float) -> float:
        p = np.full(classes, smoothing / classes)
        p[0] += 1 - smoothing
        return float(-(p * np.log(np.maximum(p, 1e-300))).sum() / np.log(classes)) - share

    if share == 0:
        return 0.0
    return float(brentq(beyond, 0.0, 1.0, xtol=1e-12))


@dataclass(frozen=True)
class FgsmNoise(DescribedRecipe):
    """Perturb some records so that the loss of a first model rises, then train on them.

    Each feature changes by ``size`` in the direction of the sign of the loss's gradient (Goodfellow et al. 2015); Duddu et al.
    (2022) do so with half of the records.

    Attributes:
        size: Change of each feature.
        share: Share of the records that are perturbed.
        fit: Training of both models.

    Raises:
        ValueError: If a number is out of range, or the loss is not ``cross_entropy``.
    """

    size: float = 0.05
    share: float = 0.5
    fit: Fit = field(default_factory=Fit)

    def __post_init__(self):
        number("size", self.size, 0, ends="[)")
        number("share", self.share, 0, 1, ends="[]")
        if self.fit.loss != "cross_entropy":
            raise ValueError("FgsmNoise needs loss='cross_entropy': the gradient is that of a classifier.")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        data, _ = self.perturbed(self.fit(module, data, rng), data, rng)
        return self.fit(module, data, rng)

    def perturbed(self, first, data: Data, rng: np.random.Generator) -> tuple[Data, np.ndarray]:
        """Return the records to train on, and (records,) true for those that were perturbed.

        Args:
            first: Trained module; the perturbation raises its loss.
        """
        chosen = np.isin(np.arange(len(data)), rng.permutation(len(data))[: round(self.share * len(data))])
        x = np.array(data.x, dtype=np.float64)
        x[chosen] += self.size * np.sign(gradients(first, x[chosen], data.y[chosen]))
        return data.changed(x=x), chosen

    def plain(self) -> Fit:
        """Return the same training on unchanged records."""
        return self.fit.plain()


def gradients(module, x, y) -> np.ndarray:
    """Return (records, …) the gradient of each record's loss with respect to its features."""
    if not len(y):
        return np.zeros_like(x)
    features = tensor(x, module).requires_grad_()
    loss = torch.nn.functional.cross_entropy(module(features), labels_tensor(y, module), reduction="sum")
    (gradient,) = torch.autograd.grad(loss, features)
    return gradient.cpu().numpy()
