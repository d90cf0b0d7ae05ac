"""Arrays that are made when first asked for, and that nobody can change: attacks share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from guestlist.arrays.columns import columns, in_a_row

T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """A mapping whose values are made when first asked for, once each.

    Args:
        most: how many are kept, those that were asked for last; by default all.
        some: makes what a value says of some records, by name and positions; None of those that are better made whole.

    >>> squares = LazyMapping(["1", "2"], lambda name: int(name) ** 2)
    >>> squares["2"], list(squares), "3" in squares
    (4, ['1', '2'], False)
    """

    def __init__(
        self,
        names: Iterable[str],
        make: Callable[[str], T],
        most: int | None = None,
        some: Callable[[str, np.ndarray], T | None] = lambda name, records: None,
    ):
        self._names = dict.fromkeys(names)
        self._make = make
        self._some = some
        self._most = len(self._names) if most is None else most
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._made:
            found = self._made.pop(name)
        else:
            if name not in self._names:
                raise KeyError(name)
            while self._made and len(self._made) >= self._most:
                del self._made[next(iter(self._made))]
            found = self._make(name)
        if self._most:
            self._made[name] = found
        return found

    def part(self, name: str, records: np.ndarray) -> T | None:
        """What a value says of some records, made by itself; None where all of it is at hand, or is better made whole."""
        return None if name in self._made or name not in self._names else self._some(name, records)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # the inherited one would make the value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple:
        """Travels with everything made: what makes it may be a file that is not there, or cannot travel."""
        return dict, (dict(self.items()),)


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers, which whoever gets them cannot change."""
    view = array.view()
    view.flags.writeable = False
    return view


def lazy_matrices(
    names: Iterable[str],
    make: Callable[[str], np.ndarray],
    most: int | None = None,
    some: Callable[[str, np.ndarray], np.ndarray | None] = lambda name, records: None,
) -> LazyMapping[np.ndarray]:
    """Matrices by name, each made when first asked for, and read-only; ``most`` are kept."""
    return LazyMapping(names, lambda name: read_only(make(name)), most, some)


def lazy_part(values: Mapping[str, np.ndarray], name: str, records: np.ndarray) -> np.ndarray | None:
    """(models, chosen) of a matrix by name where that can be made by itself, and all of it is not at hand; else None."""
    return values.part(name, records) if isinstance(values, LazyMapping) else None


def lazy_columns(values: Mapping[str, np.ndarray], name: str, records: np.ndarray) -> np.ndarray:
    """(models, chosen) of a matrix by name; all of it is made only where that part cannot be made by itself."""
    found = lazy_part(values, name, records)
    return columns(values[name], records) if found is None else found


def lazy_rows(matrix: Mapping[str, np.ndarray], rows: np.ndarray) -> LazyMapping[np.ndarray]:
    """Some rows of matrices by name; nothing is kept of rows that follow each other, which are not copied either."""
    chosen = in_a_row(rows)

    def some(name: str, records: np.ndarray) -> np.ndarray | None:
        found = lazy_part(matrix, name, records)
        return None if found is None else found[chosen]

    return lazy_matrices(matrix, lambda name: matrix[name][chosen], 0 if isinstance(chosen, slice) else None, some=some)


def freeze(part: Any) -> Any:
    """The same part of a view with all its arrays read-only."""
    if isinstance(part, np.ndarray):
        return read_only(part)
    if isinstance(part, dict):
        return {name: freeze(value) for name, value in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        changed = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        return replace(part, **{name: freeze(v) for name, v in changed.items() if isinstance(v, np.ndarray | dict)})
    return part
