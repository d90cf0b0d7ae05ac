"""Who trains on what, and what the adversary is asked: the truth of an audit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Who trains on what, and whose membership is in question; model 0 is the target, the others are its references.

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
            found = getattr(self, name)
            if found.dtype != bool or found.ndim != 2 or found.shape != self.member.shape:
                raise ValueError(
                    f"Expected {name} to hold true and false, (models, records) and of one shape with member, found "
                    f"{found.dtype} shaped {found.shape}."
                )

    def __len__(self) -> int:
        """How many models."""
        return len(self.member)

    @property
    def members(self) -> np.ndarray:
        """(records,) true for the target's members."""
        return self.member[0]

    @property
    def nonmembers(self) -> np.ndarray:
        """(records,) true for those that the target did not train on and that are asked about."""
        return self.evaluated[0] & ~self.member[0]

    @property
    def population(self) -> np.ndarray:
        """(records,) true for those that the target did not train on and that nobody asks about."""
        return ~self.evaluated[0] & ~self.member[0]

    @property
    def always_included(self) -> np.ndarray:
        """(records,) true for those that every model trains on and nobody asks about, and so tell nothing of membership."""
        return np.logical_and(~self.evaluated.any(axis=0), self.member.all(axis=0))

    def take(self, models) -> Split:
        """The same for some of the models."""
        return Split(self.member[models], self.evaluated[models])


def single_target_split(member: np.ndarray, evaluated: np.ndarray) -> Split:
    """A split of one model, from (records,) masks."""
    return Split(np.asarray(member, dtype=bool)[None], np.asarray(evaluated, dtype=bool)[None])
