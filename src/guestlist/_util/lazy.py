"""Lazy arrays: computed when first read, then shared and read-only."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from guestlist._kernels import as_slice, take_columns


@dataclass(frozen=True)
class LazyArray:
    """An array of known length that is computed when it is first read."""

    make: Callable[[], np.ndarray]
    length: int

    def __len__(self) -> int:
        return self.length

    @cached_property
    def value(self) -> np.ndarray:
        """The array, computed once."""
        return self.make()


def lazy_take(array: np.ndarray | LazyArray, positions: np.ndarray) -> LazyArray:
    """Select from an array when the selection is first read."""
    return LazyArray(lambda: (array.value if isinstance(array, LazyArray) else array)[positions], len(positions))


class LazyField:
    """Descriptor of a dataclass field that accepts an array, a :class:`LazyArray` or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> np.ndarray | None:
        if instance is None:
            return None  # the default of the field
        value = vars(instance).get(self.name)
        if isinstance(value, LazyArray):
            value = vars(instance)[self.name] = value.value
        return value

    def __set__(self, instance: object, value: np.ndarray | LazyArray | None) -> None:
        vars(instance)[self.name] = value


T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """A mapping whose values are computed when they are first read.

    Args:
        names: The keys.
        make: Function from a name to its value.
        capacity: Number of values to keep, those that were read last; by default all.
        make_part: Function from a name and positions of records to a part of the value; None if the value is better computed
            as a whole.

    >>> squares = LazyMapping(["1", "2"], lambda name: int(name) ** 2)
    >>> squares["2"], list(squares), "3" in squares
    (4, ['1', '2'], False)
    """

    def __init__(
        self,
        names: Iterable[str],
        make: Callable[[str], T],
        capacity: int | None = None,
        make_part: Callable[[str, np.ndarray], T | None] = lambda name, records: None,
    ):
        self._names = dict.fromkeys(names)
        self._make = make
        self._make_part = make_part
        self._capacity = len(self._names)
        if capacity is not None:
            self._capacity = capacity
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._made:
            value = self._made.pop(name)
        else:
            if name not in self._names:
                raise KeyError(name)
            while self._made and len(self._made) >= self._capacity:
                del self._made[next(iter(self._made))]
            value = self._make(name)
        if self._capacity:
            self._made[name] = value
        return value

    def part(self, name: str, records: np.ndarray) -> T | None:
        """Return a value for some records; None if the whole value is in memory, or is better computed as a whole."""
        if name in self._made or name not in self._names:
            return None
        return self._make_part(name, records)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # The inherited method would compute the value.

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple:
        """Pickle all values: their source may be a file that the other process cannot read."""
        return dict, (dict(self.items()),)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def lazy_matrices(
    names: Iterable[str],
    make: Callable[[str], np.ndarray],
    capacity: int | None = None,
    make_part: Callable[[str, np.ndarray], np.ndarray | None] = lambda name, records: None,
) -> LazyMapping[np.ndarray]:
    """Return a lazy mapping of read-only matrices; see :class:`LazyMapping`."""
    return LazyMapping(names, lambda name: read_only(make(name)), capacity, make_part)


def lazy_part(values: Mapping[str, np.ndarray], name: str, records: np.ndarray) -> np.ndarray | None:
    """Return (models, chosen) of a matrix; None if it is better computed as a whole."""
    if not isinstance(values, LazyMapping):
        return None
    return values.part(name, records)


def lazy_columns(values: Mapping[str, np.ndarray], name: str, records: np.ndarray) -> np.ndarray:
    """Return (models, chosen) of a matrix; the whole matrix is computed only if necessary."""
    part = lazy_part(values, name, records)
    if part is not None:
        return part
    return take_columns(values[name], records)


def lazy_rows(matrices: Mapping[str, np.ndarray], rows: np.ndarray) -> LazyMapping[np.ndarray]:
    """Return some rows of matrices by name; consecutive rows are views, and are not kept."""
    chosen = as_slice(rows)

    def make_part(name: str, records: np.ndarray) -> np.ndarray | None:
        part = lazy_part(matrices, name, records)
        if part is None:
            return None
        return part[chosen]

    capacity = 0 if isinstance(chosen, slice) else None
    return lazy_matrices(matrices, lambda name: matrices[name][chosen], capacity, make_part)


def freeze(part: Any) -> Any:
    """Return a part of a view with all its arrays read-only."""
    if isinstance(part, np.ndarray):
        return read_only(part)
    if isinstance(part, dict):
        return {name: freeze(value) for name, value in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        return replace(part, **{name: freeze(v) for name, v in values.items() if isinstance(v, np.ndarray | dict)})
    return part


def freeze_fields(view: object, *names: str) -> None:
    """Make the arrays of a view read-only, so that no attack changes the input of the next one."""
    for name in names:
        object.__setattr__(view, name, freeze(getattr(view, name)))
