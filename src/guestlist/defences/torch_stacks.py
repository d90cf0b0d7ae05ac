"""Stacks: small networks that are trained together, as slots of the same matrix products.

A stack always has 16 slots, and empty slots repeat a network. Every slot has the same shapes and memory alignment, so a
network's parameters do not depend on its slot or on the other networks: a resumed audit has identical references.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from guestlist.data import Data
from guestlist.defences.torch_layers import Network, TwoLogits
from guestlist.defences.torch_training import SLOTS, Fit, begin_training, labels_for, loss_of, optimizer_of, tensor

MOST_PARAMETERS = 2**15  # larger networks gain little: their matrix products take longer than the overhead
ALIGNMENT = 16  # numbers; widths are filled up with zeros, so that the rows of all slots have the same alignment
SMALLEST_SHARE = 0.25  # of the records; the length of a batch is fixed for training sets of at least this share
# Elementwise activations that are 0 at 0, so that the added zeros stay zeros.
ACTIVATIONS = (
    *(nn.ReLU, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.ReLU6, nn.Hardtanh),
    *(nn.Softsign, nn.Identity),
)
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def can_stack(fit: Fit, module: Any, data: Data) -> bool:
    """Return whether stacks train these networks, and a trial shows that networks do not depend on their stack."""
    if fit.objective is not None or np.ndim(data.y) != 1:
        return False
    layers = layers_of(module)
    if layers is None or sum(p.numel() for p in module.parameters()) > MOST_PARAMETERS:
        return False
    shape = np.shape(data.x)[1:]
    if len(shape) != 1 and type(layers[0]) is not nn.Flatten:
        return False
    linear = [layer for layer in layers if type(layer) is nn.Linear]
    if linear[0].in_features != int(np.prod(shape)) or (fit.loss == "squared" and linear[-1].out_features != 1):
        return False
    return _independent(fit, module, data)


def layers_of(module: Any) -> list[Any] | None:
    """Return the layers of a module that stacks support, in their order; None for any other module."""
    if type(module) is TwoLogits:
        return layers_of(module.module)
    layers = _flat(module)
    parameters = list(module.parameters())
    plain = (
        type(layers[-1]) is nn.Linear
        and not any("forward" in vars(part) or any(getattr(part, name) for name in HOOKS) for part in module.modules())
        and len({id(layer) for layer in layers}) == len(layers)
        and all(p.requires_grad for p in parameters)
        and len({p.dtype for p in parameters}) == 1
        and len(parameters) == sum(len(list(layer.parameters())) for layer in layers)  # no parameter is shared
        and not any(type(layer) is nn.Flatten for layer in layers[1:])
        and all(_is_supported(layer) for layer in layers)
    )
    return layers if plain else None


def _flat(module: Any) -> list[Any]:
    if type(module) in (nn.Sequential, Network) and len(module):
        return [layer for part in module for layer in _flat(part)]
    return [module]


def _is_supported(layer: Any) -> bool:
    if type(layer) is nn.BatchNorm1d:
        return layer.track_running_stats and layer.momentum is not None
    if type(layer) is nn.Flatten:
        return (layer.start_dim, layer.end_dim) == (1, -1)
    return type(layer) in (nn.Linear, nn.Dropout, *ACTIVATIONS)


def train_together(
    fit: Fit,
    module: Any,
    data: Data,
    training_sets: Sequence[np.ndarray],
    rngs: Sequence[np.random.Generator],
    *,
    length: int | None = None,
) -> list[Any]:
    """Train networks from fresh parameters, each on its own records with its own random stream.

    Args:
        fit: Training; :func:`can_stack` is true for it.
        module: Network; it is not changed.
        data: All records; labels as for ``fit``.
        training_sets: (records,) true for the records of each network; at most 16.
        rngs: Random stream of each network.
        length: Number of records to which batches are filled up; by default that of :func:`batch_length`.

    Returns:
        The trained networks. One with batches of unusual length is trained as by ``fit``.
    """
    length = length or batch_length(len(data), fit.batch_size)
    plans = [_Plan(np.flatnonzero(rows), fit, length) for rows in training_sets]
    fitting = [k for k, plan in enumerate(plans) if plan.fits]
    trained = {k: fit(module, data.take(plans[k].rows), rngs[k]) for k in range(len(plans)) if k not in fitting}
    if fitting:
        modules = _train(fit, module, data, [plans[k] for k in fitting], [rngs[k] for k in fitting])
        trained.update(zip(fitting, modules, strict=True))
    return [trained[k] for k in range(len(plans))]


def batch_length(records: int, batch_size: int) -> int:
    """Return the largest number of records in a batch, for all training sets of a usual share of the records."""
    sizes = np.arange(max(1, int(SMALLEST_SHARE * records)), records + 1)
    return int(np.ceil(sizes / np.maximum(1, np.round(sizes / batch_size))).max())


@dataclass(frozen=True)
class _Plan:
    """Batches of one network: the same as in a single training, filled up to one length."""

    rows: np.ndarray
    fit: Fit
    length: int

    @property
    def n_batches(self) -> int:
        return max(1, round(len(self.rows) / self.fit.batch_size))

    @property
    def steps(self) -> int:
        return self.fit.epochs * self.n_batches

    @property
    def fits(self) -> bool:
        shortest, remainder = divmod(len(self.rows), self.n_batches)
        return shortest > 1 and shortest + bool(remainder) <= self.length

    def batches(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, int]]:
        """Yield (length,) rows of each batch and the number of those that count; the last batch is repeated for ever."""
        parts = np.array_split(np.arange(len(self.rows)), self.n_batches)
        positions = np.array([part[np.minimum(np.arange(self.length), len(part) - 1)] for part in parts])
        counts = [len(part) for part in parts]
        for _ in range(self.fit.epochs):
            order = self.rows[rng.permutation(len(self.rows))]
            yield from zip(order[positions], counts, strict=True)
        yield from repeat((order[positions[-1]], counts[-1]))


class _Batch(NamedTuple):
    """Weights of the (slots, length, 1) records of a batch: 0 or 1, and their (slots, 1, 1) sums."""

    counts: Any
    total: Any


@dataclass(frozen=True)
class _Stacked:
    """A parameter or buffer of all slots, with widths filled up with zeros."""

    name: str
    values: Any
    shape: tuple[int, ...]

    def of_slot(self, slot: int) -> Any:
        values = self.values.detach()[slot].reshape(self.values.shape[-len(self.shape) :])
        return values[tuple(slice(size) for size in self.shape)]


def _train(fit: Fit, module: Any, data: Data, plans: list[_Plan], rngs: list[np.random.Generator]) -> list[Any]:
    """Train at most 16 networks in one stack."""
    modules = []
    generators = []
    for rng in rngs:
        modules.append(begin_training(module, "cpu", rng)[0])
        generators.append(torch.Generator())
        generators[-1].set_state(torch.get_rng_state())  # Dropout continues where the initialisation ended.
    slots = [*range(len(modules)), *[0] * (SLOTS - len(modules))]
    stack = _Stack([modules[k] for k in slots], generators)
    x = tensor(data.x, module).flatten(1)
    x = nn.functional.pad(x, (0, -x.shape[1] % ALIGNMENT))
    y = labels_for(fit.loss, data.y, module)
    optimizer = optimizer_of(fit, stack.parameters)
    streams = [plan.batches(rng) for plan, rng in zip(plans, rngs, strict=True)]
    positions = torch.arange(plans[0].length)
    ends = {plan.steps for plan in plans}
    for step in range(1, max(ends) + 1):
        batches = [next(stream) for stream in streams]
        rows = torch.from_numpy(np.concatenate([batches[k][0] for k in slots]))
        total = torch.tensor([batches[k][1] for k in slots])[:, None]
        counts = (positions < total).to(x.dtype)
        batch = _Batch(counts[..., None], total[..., None].to(x.dtype))
        outputs = stack.forward(x.index_select(0, rows).reshape(SLOTS, -1, x.shape[1]), batch, slots)
        optimizer.zero_grad()
        _loss(fit.loss, outputs, y.index_select(0, rows), counts / total).backward()
        optimizer.step()
        if step in ends:
            for slot, plan in enumerate(plans):
                if plan.steps == step:
                    stack.copy_to(modules[slot], slot, step)
    return [trained.eval() for trained in modules]


def _loss(name: str, outputs: Any, y: Any, weight: Any) -> Any:
    """Return the sum of the mean losses of all slots; filling records have weight 0."""
    return (loss_of(name, outputs.flatten(0, 1), y, reduction="none") * weight.flatten()).sum()


class _Stack:
    """Parameters and layers of a stack."""

    def __init__(self, modules: list[Any], generators: list[torch.Generator]):
        self._names = {id(layer): name for name, layer in modules[0].named_modules(remove_duplicate=False)}
        self._modules = modules
        self._generators = generators
        self._stacked_values: list[_Stacked] = []  # parameters and buffers
        layers = layers_of(modules[0])
        assert layers is not None
        self._two_logits = type(modules[0]) is TwoLogits
        self._outputs = layers[-1].out_features
        self._forward = [self._stacked(layer) for layer in layers if type(layer) is not nn.Flatten]

    @property
    def parameters(self) -> list[Any]:
        return [stacked.values for stacked in self._stacked_values if stacked.values.requires_grad]

    def forward(self, x: Any, batch: _Batch, slots: list[int]) -> Any:
        """Return the (slots, length, outputs) outputs in training mode."""
        for layer in self._forward:
            x = layer(x, batch, slots)
        x = x[..., : self._outputs]
        if self._two_logits:
            return torch.cat([torch.zeros_like(x), x], dim=2)
        return x

    def copy_to(self, module: Any, slot: int, step: int) -> None:
        """Copy the parameters and buffers of a slot into a module."""
        state = module.state_dict()
        state.update({stacked.name: stacked.of_slot(slot) for stacked in self._stacked_values})
        state.update({name: torch.tensor(step) for name in state if name.endswith("num_batches_tracked")})
        module.load_state_dict(state)

    def _values(self, layer: Any, name: str, *, trained: bool = True) -> Any:
        """Stack a parameter or buffer of a layer, filled up to aligned widths; vectors get a dimension for records."""
        full = f"{self._names[id(layer)]}.{name}".lstrip(".")
        values = [module.state_dict()[full] for module in self._modules]
        shape = tuple(values[0].shape)
        padding = [width for size in reversed(shape) for width in (0, -size % ALIGNMENT)]
        stack = torch.stack([nn.functional.pad(value, padding) for value in values])
        if len(shape) == 1:
            stack = stack[:, None]
        self._stacked_values.append(_Stacked(full, stack.requires_grad_(trained), shape))
        return stack

    def _stacked(self, layer: Any) -> Callable[[Any, _Batch, list[int]], Any]:
        stack_by_type = {nn.Linear: self._linear, nn.Dropout: self._dropout, nn.BatchNorm1d: self._batch_norm}
        if type(layer) in stack_by_type:
            return stack_by_type[type(layer)](layer)
        return lambda x, batch, slots: layer(x)

    def _linear(self, layer: Any) -> Callable[[Any, _Batch, list[int]], Any]:
        weight = self._values(layer, "weight")
        if layer.bias is None:
            return lambda x, batch, slots: torch.bmm(x, weight.transpose(1, 2))
        bias = self._values(layer, "bias")
        return lambda x, batch, slots: torch.baddbmm(bias, x, weight.transpose(1, 2))

    def _dropout(self, layer: Any) -> Callable[[Any, _Batch, list[int]], Any]:
        def drop(x: Any, batch: _Batch, slots: list[int]) -> Any:
            if layer.p == 1:
                return x * 0
            masks = [
                torch.empty(x.shape[1:]).bernoulli_(1 - layer.p, generator=generator) for generator in self._generators
            ]
            return x * (torch.stack([masks[k] for k in slots]).to(x.dtype) / (1 - layer.p))

        return drop

    def _batch_norm(self, layer: Any) -> Callable[[Any, _Batch, list[int]], Any]:
        weight, bias = (self._values(layer, name) if layer.affine else None for name in ("weight", "bias"))
        running_mean = self._values(layer, "running_mean", trained=False)
        running_variance = self._values(layer, "running_var", trained=False)

        def normalise(x: Any, batch: _Batch, slots: list[int]) -> Any:
            mean = (x * batch.counts).sum(dim=1, keepdim=True) / batch.total
            centred = x - mean
            variance = (centred.square() * batch.counts).sum(dim=1, keepdim=True) / batch.total
            with torch.no_grad():
                running_mean.lerp_(mean, layer.momentum)
                running_variance.lerp_(variance * (batch.total / (batch.total - 1)), layer.momentum)
            normalised = centred * torch.rsqrt(variance + layer.eps)
            if weight is None:
                return normalised
            return normalised * weight + bias

        return normalise


def _independent(fit: Fit, module: Any, data: Data) -> bool:
    """Train some networks in two stacks with different slots, companions and copies, and compare their parameters."""
    rng = np.random.default_rng(0)
    count = min(len(data), 4 * fit.batch_size)
    trial = data.take(np.arange(count))
    member = rng.permuted(np.tile(np.arange(count) < count // 2, (SLOTS, 1)), axis=1)
    once = replace(fit, epochs=1)
    length = batch_length(len(data), fit.batch_size)

    def train(networks: list[int]) -> dict[int, list[Any]]:
        streams = [np.random.default_rng(k) for k in networks]
        trained = train_together(once, module, trial, [member[k] for k in networks], streams, length=length)
        return {k: list(network.state_dict().values()) for k, network in zip(networks, trained, strict=True)}

    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = train(list(range(SLOTS)))
            second = train([7, 3, 12, 1, 14])
    except Exception:  # Training one by one raises the same error, with the name of the reference.
        return False
    return all(torch.equal(p, q) for k in second for p, q in zip(first[k], second[k], strict=True))
