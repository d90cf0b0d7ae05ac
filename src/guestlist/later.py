"""Dataclass fields whose array is computed when it is first read.

To write or to select a million ids takes as long as to train a quick model, and most code never reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np


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
