"""What attacks on signals look at: one target, or every model in turn as the target, in the same words.

An attack that is written with these alone scores all targets at once. Arrays are (records,) where there is one target,
and (models, records) where every model is one; whatever is computed from references leaves each target's own row out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

import numpy as np

from guestlist.arrays.moments import Moments
from guestlist.arrays.standings import Standing

T = TypeVar("T")


class View(Protocol):
    """The adversary's view; :class:`Signals` and :class:`Rotation` are the two."""

    @property
    def labels(self) -> np.ndarray:
        """(records,) true class of each record, as an index."""

    @property
    def population(self) -> np.ndarray | None:
        """True for records that a target did not train on and that nobody asks about; None: there are none."""

    def target(self, name: str) -> np.ndarray:
        """What the target says."""

    def inside(self, name: str) -> Moments:
        """Moments, per record, of the references that trained on it."""

    def outside(self, name: str) -> Moments:
        """Moments, per record, of the references that did not train on it."""

    def share_above(self, name: str) -> np.ndarray:
        """Share of the references that did not train on a record whose value is larger than the target's, equals half."""

    def class_ecdf(self, name: str) -> Standing:
        """Where the target's value stands among those of references on all non-members of the record's class."""

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """For each record, the threshold on ``sign`` times the signal that tells references' members of its class best; NaN where
        they are of one kind."""

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """(1,) or (models, 1): the threshold on ``sign`` times the signal that tells references' members among all records
        best; NaN where they are of one kind."""

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes, made once for this view: several attacks may need it."""
