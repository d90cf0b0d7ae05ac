"""Records in torch's ``Dataset`` and ``DataLoader``, inputs of several parts, and weights in files."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from guestlist._util import LazyModule, as_path, check_exists, extra, reason, torch
from guestlist.data import plain_array
from guestlist.errors import InputError
from guestlist.models.model_parts import torch_content

torch_layers: Any = LazyModule("guestlist.defences.torch_layers")  # importing it imports torch
LABELS = ("labels", "label", "target", "y")  # names of the label in items that are dictionaries
STATES = ("state_dict", "model_state_dict", "model")  # names of the weights in checkpoints of training loops
READ_AT_ONCE = 1024  # items
# Integers from here on are not all exact in single precision, in which several inputs are stored side by side.
LARGEST_INTEGER = 2**24


def read_dataset(source: Any, label: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a ``Dataset`` or ``DataLoader``, read once, in order and in batches.

    Args:
        source: Items are ``(x, y)``, ``(input, …, label)``, or dictionaries with a label.
        label: Name of the label in dictionaries.

    Returns:
        Features and labels as arrays. Several inputs are side by side, as :func:`unpack_inputs` reads them.

    Raises:
        InputError: If items have no label, have different shapes, or cannot be read in order.
    """
    tensors: Sequence[Any] = getattr(source, "tensors", ())
    if len(tensors) == 2:  # no copy: the arrays share the memory of the tensors
        return plain_array(tensors[0], "x"), plain_array(tensors[1], "y")
    count, batches = _batches(source)
    parts: list[np.ndarray] = []
    filled = 0
    for batch in batches:
        inputs, labels = split_item(batch, label)
        arrays = [plain_array(part, "an item of the dataset") for part in (*_parts(inputs).values(), labels)]
        if not parts:
            parts = [np.empty((count, *array.shape[1:]), dtype=array.dtype) for array in arrays]
        for part, array in zip(parts, arrays, strict=True):
            if array.shape[1:] != part.shape[1:]:
                raise InputError(
                    f"Items of the dataset have different shapes, such as {part.shape[1:]} and {array.shape[1:]}. Pad them to "
                    "one length."
                )
            part[filled : filled + len(array)] = array
        filled += len(arrays[-1])
    if filled < count or not count:
        raise InputError(
            f"The dataset has {count} records, of which {filled} could be read. Pass a dataset with records."
        )
    return _packed(parts[:-1]), parts[-1]


def split_item(item: Any, label: str | None = None) -> tuple[Any, Any]:
    """Return the inputs and the label of an item, or of a batch of items."""
    if isinstance(item, Mapping):
        names = [name for name in ((label,) if label else LABELS) if name in item]
        if not names:
            raise InputError(
                f"Items of the dataset have the keys {', '.join(map(str, item))}, and none of them is the label. Name it with "
                "label= (--label)."
            )
        return {name: value for name, value in item.items() if name != names[0]}, item[names[0]]
    if isinstance(item, tuple | list) and len(item) > 1:
        return (item[0] if len(item) == 2 else tuple(item[:-1])), item[-1]
    raise InputError(
        f"Items of the dataset must be (x, y) or dictionaries with a label; found {type(item).__name__}. Wrap the dataset."
    )


def input_parts(example: Any) -> tuple[Any, ...]:
    """Return the inputs of a module, as an item of a dataset shows them.

    Args:
        example: Item ``(inputs, label)``, ``(input, …, label)``, or a dictionary with a label.
    """
    parts = []
    for name, value in _parts(split_item(example)[0]).items():
        values = torch.as_tensor(value)
        dtype = None if values.is_floating_point() else values.dtype
        parts.append(torch_layers.InputPart(name if isinstance(name, str) else None, tuple(values.shape), dtype))
    return tuple(parts)


def unpack_inputs(x: np.ndarray, example: Any) -> Any:
    """Return the inputs of a module from features in which they are side by side, for your own training function.

    Args:
        x: (records, columns) features, such as ``data.x``.
        example: Item of the dataset, as for ``torch_target``.

    Returns:
        Dictionary of tensors if the item is one, otherwise a tuple of tensors.

    Examples:
        >>> item = {"ids": np.array([3, 4]), "age": np.float32(30.0), "label": 1}
        >>> gl.models.unpack_inputs(np.array([[3.0, 4.0, 30.0]]), item)
        {'ids': tensor([[3, 4]]), 'age': tensor([30.])}
    """
    torch = extra("torch", "gl.models.unpack_inputs")
    return torch_layers.split_inputs(torch.as_tensor(np.array(x)), input_parts(example), torch.float32)


def load_weights(module: Any, path: str | Path) -> Any:
    """Return a copy of a module with the weights in a file, which is read without running its code.

    Args:
        module: Torch module with the structure of the saved one.
        path: File of ``torch.save(module.state_dict(), path)``, or a checkpoint that contains such a dictionary.

    Raises:
        InputError: If the file is missing, holds more than weights, or does not fit the module.
    """
    path = as_path("weights", path)
    check_exists(path)
    state = torch_content(path)
    if isinstance(state, Mapping):
        state = next((state[name] for name in STATES if isinstance(state.get(name), Mapping)), state)
    loaded = copy.deepcopy(module)
    try:
        loaded.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        first = str(error).partition(":\n")[2] or str(error)  # torch lists the differences below a heading
        raise InputError(
            f"The weights in {path} do not fit {type(module).__name__} ({reason(type(error)(first))}). Pass the module with the "
            "structure that was saved."
        ) from error
    return loaded


def _batches(source: Any) -> tuple[int, Iterator[Any]]:
    """Return the number of records, and batches of them in order."""
    from torch.utils.data import DataLoader, Dataset, Subset, default_collate, default_convert

    collate: Callable[[list[Any]], Any] = _stacked
    if isinstance(source, DataLoader):
        rows = _rows_of(source)
        if source.collate_fn not in (default_collate, default_convert):
            collate = source.collate_fn
        source = source.dataset if rows is None else Subset(source.dataset, rows)
    if not isinstance(source, Dataset) or not hasattr(source, "__len__"):
        raise InputError(
            f"Cannot read records from a {type(source).__name__}. Pass a Dataset with __getitem__ and __len__, or (x, y)."
        )
    starts = range(0, len(source), READ_AT_ONCE)
    items = ([source[row] for row in range(start, min(start + READ_AT_ONCE, len(source)))] for start in starts)
    return len(source), (_collated(batch, collate) for batch in items)


def _stacked(items: list[Any]) -> Any:
    """Return a batch of items with the structure of an item; unlike torch's function, read a list as one array."""
    first = items[0]
    if isinstance(first, Mapping):
        return {name: _stacked([item[name] for item in items]) for name in first}
    if isinstance(first, tuple):
        return tuple(_stacked(list(part)) for part in zip(*items, strict=True))
    return np.stack([plain_array(item, "an item of the dataset") for item in items])


def _collated(items: list[Any], collate: Any) -> Any:
    try:
        return collate([tuple(item) if isinstance(item, list) else item for item in items])
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        raise InputError(
            f"Cannot combine items of the dataset into a batch ({reason(error)}). Items need tensors, arrays or numbers of one "
            "shape."
        ) from error


def _rows_of(loader: Any) -> Sequence[int] | None:
    """Return the positions that a loader reads, in order; None for all."""
    from torch.utils.data import RandomSampler, SequentialSampler

    sampler = loader.sampler
    standard = loader.batch_sampler is None or type(loader.batch_sampler).__name__ == "BatchSampler"
    if standard and hasattr(sampler, "indices"):
        return sorted(sampler.indices)
    all_once = isinstance(sampler, SequentialSampler) or (
        isinstance(sampler, RandomSampler) and not sampler.replacement
    )
    if standard and all_once:
        return None
    raise InputError(
        f"The loader draws its records with a {type(sampler).__name__}, so the training records are not known. Pass the "
        "records themselves: a Dataset or a Subset."
    )


def _parts(inputs: Any) -> dict[Any, Any]:
    """Return the inputs by name, or by position."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    if isinstance(inputs, tuple | list):
        return dict(enumerate(inputs))
    return {0: inputs}


def _packed(parts: list[np.ndarray]) -> np.ndarray:
    """Return one array unchanged, or several side by side."""
    if len(parts) == 1:
        return parts[0]
    large = [part for part in parts if part.dtype.kind in "iu" and len(part) and np.abs(part).max() >= LARGEST_INTEGER]
    if large:
        raise InputError(
            f"An input has integers of {LARGEST_INTEGER:,} or more, which single precision cannot hold. Number its categories "
            "from 0."
        )
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
