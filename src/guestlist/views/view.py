"""Protocol that the views of one target and of every model in turn share.

An attack that uses only this protocol scores all targets at once. Arrays are (records,) with one target, and
(models, records) if every model is one. Statistics of references exclude each target's own row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

import numpy as np

from guestlist.arrays.moments import Moments
from guestlist.arrays.standings import ClassEcdf

T = TypeVar("T")


class View(Protocol):
    """The adversary's view; :class:`Signals` and :class:`Rotation` are the two."""

    @property
    def labels(self) -> np.ndarray:
        """(records,) true class of each record, as an index."""

    @property
    def population(self) -> np.ndarray | None:
        """True for records that a target did not train on and that are not evaluated; None if there are none."""

    def target(self, name: str) -> np.ndarray:
        """Return a signal of the target."""

    def inside(self, name: str) -> Moments:
        """Return moments, per record, of the references that trained on it (IN models)."""

    def outside(self, name: str) -> Moments:
        """Return moments, per record, of the references that did not train on it (OUT models)."""

    def share_above(self, name: str) -> np.ndarray:
        """Return the share of OUT models with a larger value than the target's; equal values count half."""

    def class_ecdf(self, name: str) -> ClassEcdf:
        """Rank the target's value among the references' values on all non-members of the record's class."""

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """Return, for each record, the threshold that best separates the references' members of its class.

        The threshold is on ``sign`` times the signal. It is NaN if all are members, or none is.
        """

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """Return the threshold, (1,) or (models, 1), that best separates the references' members among all records.

        The threshold is on ``sign`` times the signal. It is NaN if all are members, or none is.
        """

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, cached for this view: several attacks may need it."""
