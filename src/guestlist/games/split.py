"""Training sets and evaluated records of all models: the ground truth of an audit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Training sets and evaluated records; model 0 is the target, the others are its references.

    Args:
        member: (models, records), true where a model trains on a record.
        evaluated: (models, records), true where the adversary is asked whether it does. A record that a model neither
            trains on nor is asked about is population: known not to be a member. One that it trains on and is not asked
            about is known to be one.
    """

    member: np.ndarray
    evaluated: np.ndarray

    def __post_init__(self):
        for name in ("member", "evaluated"):
            matrix = getattr(self, name)
            if matrix.dtype != bool or matrix.ndim != 2 or matrix.shape != self.member.shape:
                raise ValueError(
                    f"Expected {name} to hold true and false, (models, records) and of one shape with member, found "
                    f"{matrix.dtype} shaped {matrix.shape}."
                )

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.member)

    @property
    def members(self) -> np.ndarray:
        """(records,) true for the target's members."""
        return self.member[0]

    @property
    def nonmembers(self) -> np.ndarray:
        """(records,) true for evaluated records that the target did not train on."""
        return self.evaluated[0] & ~self.member[0]

    @property
    def population(self) -> np.ndarray:
        """(records,) true for records that the target did not train on and that are not evaluated."""
        return ~self.evaluated[0] & ~self.member[0]

    @property
    def always_included(self) -> np.ndarray:
        """(records,) true for records that every model trains on and that are never evaluated."""
        return np.logical_and(~self.evaluated.any(axis=0), self.member.all(axis=0))

    def take(self, models) -> Split:
        """Return the split of some of the models."""
        return Split(self.member[models], self.evaluated[models])


def single_target_split(member: np.ndarray, evaluated: np.ndarray) -> Split:
    """Return a split of one model from (records,) masks."""
    return Split(np.asarray(member, dtype=bool)[None], np.asarray(evaluated, dtype=bool)[None])
