"""DP-SGD and DP-Adam (Abadi et al. 2016): per-record clipping, Poisson batches and noise."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isinf
from typing import Any, Literal

import numpy as np

from guestlist._util import DescribedRecipe, number, torch
from guestlist.data import Data
from guestlist.defences.torch_devices import AUTO, FUSED, Batches
from guestlist.defences.torch_training import (
    begin_training,
    check_options,
    evaluation_mode,
    labels_for,
    last_module,
    loss_of,
    module_outputs,
    optimizer_of,
    take_rows,
    tensor,
    trained_parameters,
)
from guestlist.errors import InputError
from guestlist.privacy import Privacy, epsilon_of, noise_for


@dataclass(frozen=True)
class Clipped:
    """Sums of clipped gradients, one per parameter, and (records,) norms before clipping."""

    sums: list
    norms: Any


def clipped_sums(module, losses: Callable, x, y, clip: float, *, fast: bool) -> Clipped:
    """Return the sums of per-record gradients, each scaled to a norm of at most ``clip``.

    Args:
        losses: Function from outputs and labels to (records,) losses.
        fast: True if :func:`trusted` accepts the fast method for this module.
    """
    if not len(y):
        return Clipped([torch.zeros_like(p) for p in trained_parameters(module)], torch.zeros(0))
    clipped = by_layers(module, losses, x, y, clip) if fast else None
    return clipped or by_records(module, losses, x, y, clip)


def trusted(module, losses: Callable, x, y) -> bool:
    """Return whether the fast method agrees with the slow one on a few records.

    A module may fold records into rows, swap axes, or use a layer's parameters outside the layer, which hooks cannot detect.
    Two numbers of records are tried, since an axis of positions may have the length of one of them. Dropout is off, because
    its draws would differ.
    """
    if not knows(module):
        return False
    with evaluation_mode(module):
        for records in (2, 3):
            fast = by_layers(module, losses, x[:records], y[:records], 1.0)
            slow = by_records(module, losses, x[:records], y[:records], 1.0)
            if fast is None:
                return False
            pairs = [(fast.norms, slow.norms), *zip(fast.sums, slow.sums, strict=True)]
            if any(a.shape != b.shape or not torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs):
                return False
    return True


def knows(module) -> bool:
    """Return whether all trained parameters are in layers with known per-record gradients."""
    parameters = [p for part in module.modules() if _plain(part) for p in part.parameters(recurse=False)]
    known = {id(p) for p in parameters}
    trained = trained_parameters(module)
    return len(known) == len(parameters) and all(id(p) in known for p in trained) and len(trained) == len(known)


def check_clippable(module) -> None:
    """Raise for a module in which a record's output depends on other records: it has no per-record gradient."""
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            raise InputError(
                f"{name!r} normalises over the batch, so the gradient of one record depends on the others and cannot be "
                "clipped. Use GroupNorm or LayerNorm."
            )
        if getattr(part, "track_running_stats", False):
            raise InputError(
                f"{name!r} keeps statistics of the training records without adding noise. Use track_running_stats=False, "
                "GroupNorm or LayerNorm."
            )


@dataclass
class _LayerCall:
    """Input and output of a layer in one pass, and the output's number of changes in place."""

    layer: Any
    read: Any
    output: Any
    version: int
    times: int = 1


def by_layers(module, losses: Callable, x, y, clip: float) -> Clipped | None:
    """Clip with the inputs and backward signals of layers; None unless each layer reads one row per record, once."""
    clones = any(getattr(part, "inplace", False) for part in module.modules())
    loss, calls = _pass(module, losses, x, y, clones=clones)
    if any(part.output._version != part.version for part in calls):  # a later layer worked in place on an output
        loss, calls = _pass(module, losses, x, y, clones=True)
    if any(part.times > 1 or len(part.read) != len(y) for part in calls):
        return None  # the gradient of one record is a sum over calls, or over rows
    gradients = torch.autograd.grad(loss, [part.output for part in calls], allow_unused=True)
    signals = [torch.zeros_like(p.output) if s is None else s for p, s in zip(calls, gradients, strict=True)]
    with torch.no_grad():
        parts = [_layer_gradients(part.layer, part.read, signal) for part, signal in zip(calls, signals, strict=True)]
        norms = torch.stack([part.squares() for part in parts]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        sums = {id(p): value for part in parts for p, value in part.sums(factor)}
    return Clipped([sums[id(p)] if id(p) in sums else torch.zeros_like(p) for p in trained_parameters(module)], norms)


def by_records(module, losses: Callable, x, y, clip: float) -> Clipped:
    """Clip one gradient per record, for any module that treats records independently."""
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    buffers = dict(module.named_buffers())

    def loss_of_one(trained, record, label):
        outputs = torch.func.functional_call(module, {**parameters, **trained, **buffers}, (record[None],))
        return losses(outputs, label[None])[0]

    trained = {name: parameters[name] for name, p in module.named_parameters() if p.requires_grad}
    each = torch.func.vmap(torch.func.grad(loss_of_one), in_dims=(None, 0, 0), randomness="different")(trained, x, y)
    with torch.no_grad():
        norms = torch.stack([each[name].flatten(1).square().sum(dim=1) for name in trained]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        return Clipped([torch.tensordot(factor, each[name], dims=1) for name in trained], norms)


def _factor(norms, clip: float):
    """Return (records,) factors that scale gradients to a norm of at most ``clip``, which may be infinite."""
    if isinf(clip):
        return torch.ones_like(norms)
    return clip / norms.clamp(min=clip)


def _layer_gradients(layer, read, signal) -> "_RowGradients | _SequenceGradients":
    """Return one layer's part of the gradients, from its input and backward signal."""
    if read.ndim == 2:
        return _RowGradients(layer, read, signal)
    if isinstance(layer, torch.nn.Conv2d):
        signal = signal.movedim(1, 3).flatten(1, 2)
    else:
        read = read.flatten(1, -2)
        signal = signal.flatten(1, -2)
    if signal.shape[1] == 1:
        return _RowGradients(layer, _positions(layer, read)[:, 0], signal[:, 0])
    return _SequenceGradients(layer, read, signal)


def _positions(layer, read):
    """Return the (records, positions, inputs) that a layer reads; for a convolution, the patch at each position.

    If the channels of an image are adjacent in memory, this copies whole rows of a patch, and is faster than ``unfold``.
    """
    if layer.weight.ndim == 2:
        return read
    assert not isinstance(layer.padding, str), "such layers are not plain"
    rows, columns = layer.padding
    padded = torch.nn.functional.pad(read.movedim(1, 3), (0, 0, columns, columns, rows, rows))
    height, width = (d * (k - 1) + 1 for d, k in zip(layer.dilation, layer.kernel_size, strict=True))
    windows = padded.unfold(1, height, layer.stride[0]).unfold(2, width, layer.stride[1])
    windows = windows[..., :: layer.dilation[0], :: layer.dilation[1]]
    return windows.movedim(3, 5).flatten(3).flatten(1, 2)


@dataclass(frozen=True)
class _RowGradients:
    """Gradients of a layer with one row per record: ``read`` (records, inputs), ``signal`` (records, outputs)."""

    layer: Any
    read: Any
    signal: Any

    def squares(self):
        """Return (records,) squared norms of the gradients of weight and bias."""
        read = _squared_norms(self.read)
        if self.layer.bias is not None:
            read += 1.0  # constant input of the bias
        return read.mul_(_squared_norms(self.signal))

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Yield each parameter with its sum of gradients, each scaled by the factor of its record."""
        scaled = self.signal * factor[:, None]
        yield self.layer.weight, _shaped(scaled.T @ self.read, self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, scaled.sum(dim=0)


MAX_KEPT = 2**25  # numbers of one layer's per-record gradients that are kept between norms and sums: 128 MiB
RECORDS_PER_PART = 8  # The patches and the gradients of these records fit in the cache.
RECORDS_PER_SUM = 32  # The gradients of these records fit in the cache.


class _SequenceGradients:
    """Gradients of a layer with several positions.

    ``read`` are (records, positions, inputs) or the images that a convolution reads, ``signal`` (records, positions, outputs).
    The gradients of all records are computed once if they fit into memory, and otherwise for norms and for sums.
    """

    def __init__(self, layer, read, signal):
        self.layer = layer
        self.read = read
        self.signal = signal
        self.bias = signal.sum(dim=1)
        inputs, outputs = layer.weight[0].numel(), signal.shape[2]
        self.by_inputs = inputs < outputs  # A product of matrices is faster if its second factor is the wider one.
        self.kept = None
        if len(read) * layer.weight.numel() <= MAX_KEPT:
            self.kept = signal.new_empty((len(read), min(inputs, outputs), max(inputs, outputs)))
        self.weight_squares = torch.cat([_squared_norms(self._gradients(rows, part)) for rows, part in self._parts()])

    def _parts(self) -> Iterator[tuple[slice, Any]]:
        """Yield the rows of a few records at a time, and what the layer reads of them."""
        size = RECORDS_PER_PART if self.signal.device.type == "cpu" else len(self.signal)
        for first in range(0, len(self.signal), size):
            rows = slice(first, first + size)
            yield rows, _positions(self.layer, self.read[rows])

    def _gradients(self, rows: slice, read):
        """Return (records, outputs, inputs) gradients of the weight, or (records, inputs, outputs) by inputs."""
        first, second = (read, self.signal[rows]) if self.by_inputs else (self.signal[rows], read)
        kept = None if self.kept is None else self.kept[rows]
        return torch.bmm(first.transpose(1, 2), second, out=kept)

    def squares(self):
        """Return (records,) squared norms of the gradients of weight and bias."""
        if self.layer.bias is None:
            return self.weight_squares
        return self.weight_squares + _squared_norms(self.bias)

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Yield each parameter with its sum of gradients, each scaled by the factor of its record."""
        if self.kept is None:
            scaled = self.signal * factor[:, None, None]
            parts = (scaled[rows].flatten(0, 1).T @ read.flatten(0, 1) for rows, read in self._parts())
            weight = sum(parts, start=torch.zeros((), dtype=scaled.dtype, device=scaled.device))
        else:
            weight = _weighted_sum(factor, self.kept)
            weight = weight.T if self.by_inputs else weight
        yield self.layer.weight, _shaped(weight, self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, factor @ self.bias


def _squared_norms(gradients):
    """Return (records,) squared norms of each record's gradient."""
    flat = gradients.flatten(1)
    return torch.linalg.vecdot(flat, flat)


def _shaped(gradient, weight):
    """Return an (outputs, inputs) gradient in the shape of the weight; the inputs of a convolution end with the channels."""
    if weight.ndim == 2:
        return gradient
    outputs, channels, *kernel = weight.shape
    return gradient.reshape(outputs, *kernel, channels).movedim(3, 1)


def _weighted_sum(factor, gradients):
    """Return the sum of (records, outputs, inputs) gradients, each times the factor of its record."""
    total = torch.zeros_like(gradients[0])
    for first in range(0, len(factor), RECORDS_PER_SUM):
        rows = slice(first, first + RECORDS_PER_SUM)
        total += torch.tensordot(factor[rows], gradients[rows], dims=1)
    return total


def _pass(module, losses: Callable, x, y, *, clones: bool) -> tuple[Any, list[_LayerCall]]:
    """Return the summed loss of one pass, and the calls of its layers.

    With ``clones``, later layers read copies, on which they may work in place.
    """
    calls: dict[int, _LayerCall] = {}

    def record(layer, inputs, output):
        times = calls[id(layer)].times + 1 if id(layer) in calls else 1
        calls[id(layer)] = _LayerCall(layer, inputs[0].detach(), output, version=output._version, times=times)
        return output.clone() if clones else output

    handles = [part.register_forward_hook(record) for part in module.modules() if _plain(part)]
    try:
        loss = losses(module(x), y).sum()
    finally:
        for handle in handles:
            handle.remove()
    return loss, list(calls.values())


def _plain(part) -> bool:
    """Return whether a part is a linear layer, or a convolution with default padding mode and groups."""
    nn = torch.nn
    if not set(part._parameters) <= {"weight", "bias"} or not isinstance(getattr(part, "weight", None), nn.Parameter):
        return False
    return type(part) is nn.Linear or (
        type(part) is nn.Conv2d
        and part.groups == 1
        and part.padding_mode == "zeros"
        and not isinstance(part.padding, str)
    )


@dataclass(frozen=True)
class DpSgd(DescribedRecipe):
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
        device: Device that trains, as for ``Fit``.

    Raises:
        ValueError: If an option is unknown or out of range.
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
    device: str = field(default=AUTO, compare=False)

    def __post_init__(self):
        check_options(self, optimizers=("sgd", "adam"))
        number("epochs", self.epochs, 0)
        number("rate", self.rate, 0, 1, ends="(]")
        number("noise", self.noise, 0, ends="[)")
        number("clip", self.clip, 0, ends="(]")
        if self.noise and self.clip == inf:
            raise ValueError(f"Expected clip={self.clip} to be a number: noise={self.noise} is in multiples of it.")

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

    def plain(self) -> "DpSgd":
        """Return the same steps on the same batches, without clipping and noise."""
        return replace(self, noise=0.0, clip=inf)

    def _steps(self, module, x, y, rng: np.random.Generator) -> Iterator:
        """Yield the module after each step."""
        check_clippable(module)
        module, device = begin_training(module, self.device, rng)
        x = tensor(x, module)
        y = labels_for(self.loss, y, module)
        if not (torch.isfinite(x.sum()) or torch.isfinite(x).all()):  # the sum is faster, but may overflow
            raise InputError(
                "Some features are not finite, so the gradients of these records cannot be clipped. Impute them, or drop "
                "these records."
            )
        if x.ndim == 4 and device.type in FUSED:
            x = _with_adjacent_channels(module, x)
        parameters = trained_parameters(module)
        optimizer = optimizer_of(self, parameters)
        expected = self.rate * len(y)
        for parameter in parameters:  # a fused optimizer needs the memory layout of the parameter
            parameter.grad = torch.empty_like(parameter)
        losses = partial(loss_of, self.loss, reduction="none")
        fast = trusted(module, losses, x, y)
        module.train()
        batches = Batches(device, size=len(y))

        def sums_of(batch, part: slice):
            """Return the sums of clipped gradients of a part of a batch."""
            rows = batch[part]
            return clipped_sums(module, losses, take_rows(x, rows), take_rows(y, rows), self.clip, fast=fast).sums

        for drawn in poisson_batches(len(y), self.rate, self.steps, rng):
            rows = torch.as_tensor(drawn, device=device)
            parts = batches.map(partial(sums_of, rows), len(rows))
            for parameter, *totals in zip(parameters, *parts, strict=True):
                if self.noise:
                    parameter.grad.normal_(0.0, self.noise * self.clip / expected)
                else:
                    parameter.grad.zero_()
                for total in totals:
                    parameter.grad.add_(total, alpha=1 / expected)
            optimizer.step()
            yield module


def _with_adjacent_channels(module, x):
    """Return images with adjacent channels, as in plain training, or unchanged if the module needs another layout."""
    adjacent = x.contiguous(memory_format=torch.channels_last)
    try:
        module_outputs(module, adjacent[:2])
    except RuntimeError:  # such as by ``view``
        return x
    return adjacent


def poisson_batches(records: int, rate: float, steps: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the rows of each batch: every record independently with probability ``rate``."""
    for _ in range(steps):
        yield np.flatnonzero(rng.random(records) < rate)


def dp_sgd_for(
    epsilon: float, *, delta: float = 1e-5, progress: Callable[..., Iterable] | None = None, **options
) -> DpSgd:
    """Return the recipe with the least noise that guarantees ``epsilon``. It needs the extra ``dp``.

    The guarantee is for one training. Keeping the best of several recipes spends more, which is not accounted for.

    Args:
        epsilon, delta: Guarantee of one training.
        progress: Function that wraps the calls of the accountant, with ``total=``; None shows nothing.
        options: Options of :class:`DpSgd`, except ``noise``.

    Returns:
        The recipe.
    """
    plain = DpSgd(noise=0.0, **options)
    return replace(plain, noise=noise_for(epsilon, rate=plain.rate, steps=plain.steps, delta=delta, progress=progress))
