"""The sum of gradients of single records, each cut to a norm.

The gradient of a linear layer for one record is the product of what went in and of the signal that came back, so its norm is the
product of theirs, and the sum of the clipped ones is one product of matrices: no record's gradient is ever written out. In
layers that read several places at once (convolutions, sequences) it is, one layer at a time. A module with other
parameters takes the long way: one gradient per record, by ``torch.func``.
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
    """(one per parameter) sums over records of clipped gradients, and (records,) the norms before clipping."""

    sums: list
    norms: Any


def clipped_sums(module, losses: Callable, x, y, clip: float, *, fast: bool) -> Clipped:
    """Sums of the gradients of single records' losses, each scaled to a norm of at most ``clip``.

    Args:
        losses: answers and labels to (records,).
        fast: whether the short way was found to be right for this module, by :func:`trusted`.
    """
    if not len(y):
        import torch

        return Clipped([torch.zeros_like(p) for p in trained_parameters(module)], torch.zeros(0))
    found = by_layers(module, losses, x, y, clip) if fast else None
    return by_records(module, losses, x, y, clip) if found is None else found


def trusted(module, losses: Callable, x, y) -> bool:
    """Whether the short way gives what the long way gives, tried on a few records.

    A module may fold records into rows, turn axes round, or use a layer's parameters behind its back: no hook tells. Two
    numbers of records are tried, since an axis of places may be as long as one of them. Without dropout: chances would differ.
    """
    import torch

    if not knows(module):
        return False
    training = module.training
    module.eval()
    try:
        for records in (2, 3):
            some = x[:records], y[:records]
            short, long = by_layers(module, losses, *some, 1.0), by_records(module, losses, *some, 1.0)
            if short is None:
                return False
            pairs = [(short.norms, long.norms), *zip(short.sums, long.sums, strict=True)]
            if any(a.shape != b.shape or not torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs):
                return False
    finally:
        module.train(training)
    return True


def knows(module) -> bool:
    """Whether all trained parameters are in layers whose gradients of single records are at hand."""
    from torch import nn

    own = [p for part in module.modules() if _plain(part, nn) for p in part.parameters(recurse=False)]
    known = {id(p) for p in own}
    trained = trained_parameters(module)
    return len(known) == len(own) and all(id(p) in known for p in trained) and len(trained) == len(known)


def check_clippable(module) -> None:
    """Refuse a module in which one record's answer depends on the others of its batch: there is no gradient of one record."""
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
class _Seen:
    """What a layer read and answered in one pass."""

    layer: Any
    read: Any
    answered: Any
    times: int = 1


@dataclass
class _Pass:
    seen: dict[int, _Seen] = field(default_factory=dict)

    def hook(self, layer, inputs, output):
        before = self.seen.get(id(layer))
        self.seen[id(layer)] = _Seen(layer, inputs[0].detach(), output, before.times + 1 if before else 1)
        return output.clone()  # what follows may work in place


def by_layers(module, losses: Callable, x, y, clip: float) -> Clipped | None:
    """From what layers read and the signals that come back to them; None where a layer does not read one row per record, once."""
    import torch

    with _watched(module) as one:
        loss = losses(module(x), y).sum()
    seen = list(one.seen.values())
    if any(part.times > 1 or len(part.read) != len(y) for part in seen):
        return None  # the gradient of one record is a sum over calls, or over rows
    given = torch.autograd.grad(loss, [part.answered for part in seen], allow_unused=True)
    signals = [torch.zeros_like(p.answered) if s is None else s for p, s in zip(seen, given, strict=True)]
    with torch.no_grad():
        parts = [_share(part.layer, part.read, signal) for part, signal in zip(seen, signals, strict=True)]
        norms = torch.stack([part.squares() for part in parts]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        found = {id(p): value for part in parts for p, value in part.sums(factor)}
    ours = trained_parameters(module)
    return Clipped([found[id(p)] if id(p) in found else torch.zeros_like(p) for p in ours], norms)


def by_records(module, losses: Callable, x, y, clip: float) -> Clipped:
    """One gradient per record, for any module that answers to each record by itself."""
    import torch
    from torch.func import functional_call, grad, vmap

    names = [name for name, p in module.named_parameters() if p.requires_grad]
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    buffers = dict(module.named_buffers())

    def loss_of_one(trained, one, label):
        answers = functional_call(module, {**parameters, **trained, **buffers}, (one[None],))
        return losses(answers, label[None])[0]

    trained = {name: parameters[name] for name in names}
    each = vmap(grad(loss_of_one), in_dims=(None, 0, 0), randomness="different")(trained, x, y)
    with torch.no_grad():
        norms = torch.stack([each[name].flatten(1).square().sum(dim=1) for name in names]).sum(dim=0).sqrt()
        factor = _factor(norms, clip)
        return Clipped([torch.tensordot(factor, each[name], dims=1) for name in names], norms)


def _factor(norms, clip: float):
    """(records,) by which gradients are scaled, so that none is longer than ``clip``; infinite: none is cut."""
    import torch

    return torch.ones_like(norms) if isinf(clip) else clip / norms.clamp(min=clip)


def _share(layer, read, signal) -> _Rows | _Places:
    """One layer's share of the gradients, from what it read and the signal that came back."""
    from torch import nn

    if read.ndim == 2:
        return _Rows(layer, read, signal)
    if isinstance(layer, nn.Conv2d):
        assert not isinstance(layer.padding, str), "such layers are not plain"
        patches = nn.functional.unfold(
            read, layer.kernel_size, dilation=layer.dilation, padding=layer.padding, stride=layer.stride
        )
        read, signal = patches.transpose(1, 2), signal.flatten(2).transpose(1, 2)
    else:
        read, signal = read.flatten(1, -2), signal.flatten(1, -2)
    return _Rows(layer, read[:, 0], signal[:, 0]) if read.shape[1] == 1 else _Places(layer, read, signal)


@dataclass(frozen=True)
class _Rows:
    """Of a layer that reads one row per record: ``read`` (records, inputs) and ``signal`` (records, outputs)."""

    layer: Any
    read: Any
    signal: Any

    def squares(self):
        """(records,) squared norms of the gradients of weight and bias."""
        from torch.linalg import vecdot

        read = vecdot(self.read, self.read)
        if self.layer.bias is not None:
            read += 1.0  # which the bias reads
        return read.mul_(vecdot(self.signal, self.signal))

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Each parameter with its sum of gradients, every record's scaled by its factor."""
        scaled = self.signal * factor[:, None]
        yield self.layer.weight, (scaled.T @ self.read).view_as(self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, scaled.sum(dim=0)


@dataclass(frozen=True)
class _Places:
    """Of a layer that reads several: ``read`` (records, places, inputs) and ``signal`` (records, places, outputs)."""

    layer: Any
    read: Any
    signal: Any

    def squares(self):
        """(records,) squared norms of the gradients of weight and bias."""
        weight = (self.signal.transpose(1, 2) @ self.read).square().sum(dim=(1, 2))
        return weight if self.layer.bias is None else weight + self.signal.sum(dim=1).square().sum(dim=1)

    def sums(self, factor) -> Iterator[tuple[Any, Any]]:
        """Each parameter with its sum of gradients, every record's scaled by its factor."""
        scaled = (self.signal * factor[:, None, None]).flatten(0, 1)
        yield self.layer.weight, (scaled.T @ self.read.flatten(0, 1)).view_as(self.layer.weight)
        if self.layer.bias is not None:
            yield self.layer.bias, scaled.sum(dim=0)


@contextmanager
def _watched(module):
    from torch import nn

    one = _Pass()
    handles = [part.register_forward_hook(one.hook) for part in module.modules() if _plain(part, nn)]
    try:
        yield one
    finally:
        for handle in handles:
            handle.remove()


def _plain(part, nn) -> bool:
    """A linear layer, or a convolution whose padding and groups are the plain ones, with parameters of its own."""
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
