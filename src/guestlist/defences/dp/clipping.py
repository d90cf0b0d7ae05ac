"""Sum of per-record gradients, each clipped to a norm.

The gradient of a linear layer for one record is the product of its input and of the backward signal. Its norm is the product
of their norms, and the sum of the clipped gradients is one matrix product: no record's gradient is ever formed. In layers that
read several positions at once (convolutions, sequences) it is formed, one layer at a time. A module with other parameters needs
one gradient per record, by ``torch.func``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isinf
from typing import Any

from guestlist.defences.plain import trained_parameters
from guestlist.errors import InputError


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
        import torch

        return Clipped([torch.zeros_like(p) for p in trained_parameters(module)], torch.zeros(0))
    clipped = by_layers(module, losses, x, y, clip) if fast else None
    return clipped or by_records(module, losses, x, y, clip)


def trusted(module, losses: Callable, x, y) -> bool:
    """Return whether the fast method agrees with the slow one on a few records.

    A module may fold records into rows, swap axes, or use a layer's parameters outside the layer, which hooks cannot detect.
    Two numbers of records are tried, since an axis of positions may have the length of one of them. Dropout is off, because
    its draws would differ.
    """
    import torch

    if not knows(module):
        return False
    training = module.training
    module.eval()
    try:
        for records in (2, 3):
            fast = by_layers(module, losses, x[:records], y[:records], 1.0)
            slow = by_records(module, losses, x[:records], y[:records], 1.0)
            if fast is None:
                return False
            pairs = [(fast.norms, slow.norms), *zip(fast.sums, slow.sums, strict=True)]
            if any(a.shape != b.shape or not torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs):
                return False
    finally:
        module.train(training)
    return True


def knows(module) -> bool:
    """Return whether all trained parameters are in layers with known per-record gradients."""
    from torch import nn

    parameters = [p for part in module.modules() if _plain(part, nn) for p in part.parameters(recurse=False)]
    known = {id(p) for p in parameters}
    trained = trained_parameters(module)
    return len(known) == len(parameters) and all(id(p) in known for p in trained) and len(trained) == len(known)


def check_clippable(module) -> None:
    """Refuse a module in which a record's output depends on other records: it has no per-record gradient."""
    from torch import nn

    mixing = nn.modules.batchnorm._BatchNorm
    for name, part in module.named_modules():
        if isinstance(part, mixing):
            raise InputError(
                f"{name!r} normalises over the batch, so one record's gradient depends on the others and cannot be clipped by "
                "itself. Use GroupNorm or LayerNorm."
            )
        if getattr(part, "track_running_stats", False):
            raise InputError(
                f"{name!r} keeps statistics of the records it has seen, to which no noise is added. "
                "Use track_running_stats=False, GroupNorm or LayerNorm."
            )


@dataclass
class _LayerCall:
    """Input and output of a layer in one pass."""

    layer: Any
    read: Any
    answered: Any
    times: int = 1


@dataclass
class _Recorder:
    """Records the calls of layers in one pass."""

    calls: dict[int, _LayerCall] = field(default_factory=dict)

    def hook(self, layer, inputs, output):
        times = self.calls[id(layer)].times + 1 if id(layer) in self.calls else 1
        self.calls[id(layer)] = _LayerCall(layer, inputs[0].detach(), output, times)
        return output.clone()  # the next layer may work in place


def by_layers(module, losses: Callable, x, y, clip: float) -> Clipped | None:
    """Clip with the inputs and backward signals of layers; None unless each layer reads one row per record, once."""
    import torch

    with _recorded(module) as recorder:
        loss = losses(module(x), y).sum()
    calls = list(recorder.calls.values())
    if any(part.times > 1 or len(part.read) != len(y) for part in calls):
        return None  # the gradient of one record is a sum over calls, or over rows
    gradients = torch.autograd.grad(loss, [part.answered for part in calls], allow_unused=True)
    signals = [torch.zeros_like(p.answered) if s is None else s for p, s in zip(calls, gradients, strict=True)]
    with torch.no_grad():
        parts = [_layer_gradients(part.layer, part.read, signal) for part, signal in zip(calls, signals, strict=True)]
        norms = torch.stack([part.squares() for part in parts]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        sums = {id(p): value for part in parts for p, value in part.sums(factor)}
    parameters = trained_parameters(module)
    return Clipped([sums[id(p)] if id(p) in sums else torch.zeros_like(p) for p in parameters], norms)


def by_records(module, losses: Callable, x, y, clip: float) -> Clipped:
    """Clip one gradient per record, for any module that treats records independently."""
    import torch
    from torch.func import functional_call, grad, vmap

    names = [name for name, p in module.named_parameters() if p.requires_grad]
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    buffers = dict(module.named_buffers())

    def loss_of_one(trained, record, label):
        answers = functional_call(module, {**parameters, **trained, **buffers}, (record[None],))
        return losses(answers, label[None])[0]

    trained = {name: parameters[name] for name in names}
    each = vmap(grad(loss_of_one), in_dims=(None, 0, 0), randomness="different")(trained, x, y)
    with torch.no_grad():
        norms = torch.stack([each[name].flatten(1).square().sum(dim=1) for name in names]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        return Clipped([torch.tensordot(factor, each[name], dims=1) for name in names], norms)


def _factor(norms, clip: float):
    """Return (records,) factors that scale gradients to a norm of at most ``clip``, which may be infinite."""
    import torch

    if isinf(clip):
        return torch.ones_like(norms)
    return clip / norms.clamp(min=clip)


def _layer_gradients(layer, read, signal) -> _RowGradients | _SequenceGradients:
    """Return one layer's part of the gradients, from its input and backward signal."""
    from torch import nn

    if read.ndim == 2:
        return _RowGradients(layer, read, signal)
    if isinstance(layer, nn.Conv2d):
        assert not isinstance(layer.padding, str), "such layers are not plain"
        patches = nn.functional.unfold(
            read, layer.kernel_size, dilation=layer.dilation, padding=layer.padding, stride=layer.stride
        )
        read = patches.transpose(1, 2)
        signal = signal.flatten(2).transpose(1, 2)
    else:
        read = read.flatten(1, -2)
        signal = signal.flatten(1, -2)
    if read.shape[1] == 1:
        return _RowGradients(layer, read[:, 0], signal[:, 0])
    return _SequenceGradients(layer, read, signal)


@dataclass(frozen=True)
class _RowGradients:
    """Gradients of a layer with one row per record: ``read`` (records, inputs), ``signal`` (records, outputs)."""

    layer: Any
    read: Any
    signal: Any

    def squares(self):
        """Return (records,) squared norms of the gradients of weight and bias."""
        from torch.linalg import vecdot

        read = vecdot(self.read, self.read)
        if self.layer.bias is not None:
            read += 1.0  # the input of the bias
        return read.mul_(vecdot(self.signal, self.signal))

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Yield each parameter with its sum of gradients, each scaled by the factor of its record."""
        scaled = self.signal * factor[:, None]
        yield self.layer.weight, (scaled.T @ self.read).view_as(self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, scaled.sum(dim=0)


@dataclass(frozen=True)
class _SequenceGradients:
    """Gradients of a layer with several positions: ``read`` (records, positions, inputs), ``signal`` likewise."""

    layer: Any
    read: Any
    signal: Any

    def squares(self):
        """Return (records,) squared norms of the gradients of weight and bias."""
        weight = (self.signal.transpose(1, 2) @ self.read).square().sum(dim=(1, 2))
        if self.layer.bias is None:
            return weight
        return weight + self.signal.sum(dim=1).square().sum(dim=1)

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Yield each parameter with its sum of gradients, each scaled by the factor of its record."""
        scaled = (self.signal * factor[:, None, None]).flatten(0, 1)
        yield self.layer.weight, (scaled.T @ self.read.flatten(0, 1)).view_as(self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, scaled.sum(dim=0)


@contextmanager
def _recorded(module):
    from torch import nn

    recorder = _Recorder()
    handles = [part.register_forward_hook(recorder.hook) for part in module.modules() if _plain(part, nn)]
    try:
        yield recorder
    finally:
        for handle in handles:
            handle.remove()


def _plain(part, nn) -> bool:
    """Return whether a part is a linear layer, or a convolution with default padding mode and groups."""
    if not set(part._parameters) <= {"weight", "bias"} or not isinstance(getattr(part, "weight", None), nn.Parameter):
        return False
    if type(part) is nn.Linear:
        return True
    return (
        type(part) is nn.Conv2d
        and part.groups == 1
        and part.padding_mode == "zeros"
        and not isinstance(part.padding, str)
    )
