"""Devices of torch: their choice, deterministic algorithms on them, and smaller batches where their memory is full."""

import copy
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from guestlist._util import DEVICE, extra, note, short_repr, torch
from guestlist.errors import AuditWarning

T = TypeVar("T")
AUTO = "auto"
ACCELERATORS = ("cuda", "xpu", "mps")
# Devices with torch's fused optimisers, and with convolutions that are faster if channels are adjacent in memory.
FUSED = ("cpu", "cuda")
# Parts of the out-of-memory messages of devices that have no specific error type.
_FULL = ("out of memory", "not enough memory")

_preferred: ContextVar[str] = ContextVar("preferred device", default=AUTO)


def accelerators() -> list[str]:
    """Return the names of the accelerators that this process can use.

    Returns:
        Names such as ``cuda:0``; empty if there is only the CPU.
    """
    torch = extra("torch", "A torch device")
    for kind in ("cuda", "xpu"):
        namespace = getattr(torch, kind)
        if namespace.is_available():
            return [f"{kind}:{index}" for index in range(namespace.device_count())]
    if torch.backends.mps.is_available():
        return ["mps"]
    return []


def torch_device(device: Any = AUTO) -> Any:
    """Return the torch device on which a model is trained.

    ``auto`` is the device that the engine gave to this process, otherwise the accelerator with the most free memory, otherwise
    the CPU.

    Args:
        device: ``auto``, the name of a device such as ``cuda:1``, or a ``torch.device``.

    Returns:
        The device.

    Raises:
        ValueError: If there is no such device.

    Examples:
        >>> gl.defences.torch_device("cpu")
        device(type='cpu')
    """
    torch = extra("torch", "A torch device")
    if device == AUTO:
        device = _preferred.get()
    given = os.environ.get(DEVICE)
    if device == AUTO:
        return _available(torch.device(given or _freest(accelerators())))
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"Expected device={short_repr(device)} to be 'auto' or the name of a torch device, such as 'cuda:0'."
        ) from error
    if given and chosen.index is None and torch.device(given).type == chosen.type:
        return torch.device(given)
    return _available(chosen)


def _available(device: Any) -> Any:
    """Return a device; raise if it is an accelerator that this process does not have."""
    if device.type not in ACCELERATORS:
        return device
    names = accelerators()
    if (device.index or 0) >= sum(name.partition(":")[0] == device.type for name in names):
        raise ValueError(
            f"There is no torch device {str(device)!r} here. Available devices: {', '.join([*names, 'cpu'])}."
        )
    return device


def _freest(names: list[str]) -> str:
    """Return the accelerator with the most free memory; the CPU if there is none."""
    if len(names) < 2:
        return next(iter(names), "cpu")
    return max(names, key=lambda name: getattr(torch, torch.device(name).type).mem_get_info(name)[0])


@contextmanager
def prefer_device(device: Any) -> Iterator[None]:
    """Let ``auto`` mean this device, unless it is ``auto`` itself.

    Args:
        device: Device, as for :func:`torch_device`.

    Yields:
        Nothing.
    """
    token = _preferred.set(_preferred.get() if device == AUTO else str(device))
    try:
        yield
    finally:
        _preferred.reset(token)


def device_of(module: Any) -> Any:
    """Return the device of a module's parameters and buffers.

    Args:
        module: Torch module.

    Returns:
        The device; the CPU if the module has neither.
    """
    return next((value.device for value in (*module.parameters(), *module.buffers())), torch.device("cpu"))


def on_cpu(module: Any) -> Any:
    """Return a module on the CPU: other processes may not have its device.

    Args:
        module: Torch module.

    Returns:
        The module itself if it is on the CPU, otherwise a copy.
    """
    if device_of(module).type == "cpu":
        return module
    return on_device(module, "cpu")


def on_device(module: Any, device: Any) -> Any:
    """Return a copy of a module on a device.

    Args:
        module: Torch module.
        device: Device, or its name.

    Returns:
        The copy.
    """
    return copy.deepcopy(module).to(device)


def note_device(device: Any) -> None:
    """Note for the manifest that a device was used.

    Args:
        device: Torch device.
    """
    name = str(device)
    if device.type == "cuda":
        name += f" ({torch.cuda.get_device_name(device)})"
    note("devices", name)


@contextmanager
def deterministic_algorithms() -> Iterator[None]:
    """Let accelerators use deterministic algorithms where torch has them; without accelerators, change nothing.

    Yields:
        Nothing.
    """
    if not accelerators():
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS starts
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True):
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


@dataclass
class Batches:
    """Batches of records on a device; after an out-of-memory error they are half as large.

    Attributes:
        device: Device that computes.
        size: Largest number of records in a batch.
    """

    device: Any
    size: int

    def map(self, compute: Callable[[slice], T], count: int) -> list[T]:
        """Return the results for successive batches of ``count`` records; without records, that of an empty batch."""
        results: list[T] = []
        start = 0
        while start < count or not results:
            batch = slice(start, min(start + self.size, count))
            if self.fits(lambda batch=batch: results.append(compute(batch)), batch.stop - start):  # type: ignore[misc]
                start = batch.stop
        return results

    def fits(self, compute: Callable[[], None], count: int) -> bool:
        """Compute and return True; if the memory does not suffice for ``count`` records, halve the size and return False."""
        try:
            compute()
            return True
        except RuntimeError as error:
            full = isinstance(error, torch.cuda.OutOfMemoryError) or any(text in str(error).lower() for text in _FULL)
            if min(self.size, count) < 2 or not full:
                raise
        size = min(self.size, count)  # after the except clause, because the error keeps tensors alive
        self.size = size // 2
        if self.device.type in ACCELERATORS:
            getattr(torch, self.device.type).empty_cache()
        message = (
            f"The memory of {self.device} is too small for {size} records at once. guestlist continues with {self.size} at "
            "once. Set a smaller batch_size to avoid this warning."
        )
        note("warnings", message)
        warnings.warn(message, AuditWarning, stacklevel=2)
        return False
