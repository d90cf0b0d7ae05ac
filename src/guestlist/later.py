"""A field of a frozen dataclass whose array is made when somebody first reads it.

A million names take as long to write, or to gather, as a quick model to train, and hardly anybody who is handed some of the
records asks what they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Later:
    """An array that is not there yet, and how long it will be."""

    make: Callable[[], np.ndarray]
    length: int

    def __len__(self) -> int:
        return self.length

    @cached_property
    def made(self) -> np.ndarray:
        """The array: the same one for all who ask."""
        return self.make()


def taken(whole: np.ndarray | Later, places: np.ndarray) -> Later:
    """Some of an array."""
    return Later(lambda: (whole.made if isinstance(whole, Later) else whole)[places], len(places))


class MadeWhenRead:
    """The default of the field; what is given for it is an array, a :class:`Later`, or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, one: object | None, owner: type | None = None) -> np.ndarray | None:
        if one is None:
            return None  # what the field is where nothing is given
        found = vars(one).get(self.name)
        if isinstance(found, Later):
            found = vars(one)[self.name] = found.made
        return found

    def __set__(self, one: object, value: np.ndarray | Later | None) -> None:
        vars(one)[self.name] = value
