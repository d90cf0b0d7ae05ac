"""A target with sides of given sizes, and references that train on random parts of the whole pool.

This is what an audit of a user's own model plays: the sides are the user's, and each reference trains on each record
with one probability, so that it has about as many records as the target had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.data import Data
from guestlist.games.bernoulli import coins
from guestlist.randomness import stream


@dataclass(frozen=True)
class Sides:
    """So many members, drawn at random, and so many non-members; the rest of the pool is population.

    Where it is known whose records these are, whole persons are drawn, until there are at least so many records.

    Args:
        members: records that the target trains on.
        nonmembers: others that are asked about.
        rate: probability that a reference trains on a record; by default the target's share of the pool.
    """

    members: int
    nonmembers: int
    rate: float | None = None

    name: ClassVar[str] = "sides"

    def __post_init__(self):
        for side in ("members", "nonmembers"):
            if getattr(self, side) < 1:
                raise ValueError(f"Expected {side}={getattr(self, side)} to be 1 or more.")
        if self.rate is not None and not 0 < self.rate < 1:
            raise ValueError(f"Expected rate={self.rate} in (0, 1).")

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Model 0 has the sides; references are asked about the records that it is asked about."""
        if k:
            return coins(data, self.members / len(data) if self.rate is None else self.rate, seed, k), None
        if self.members + self.nonmembers > len(data):
            raise ValueError(
                f"Expected members={self.members} and nonmembers={self.nonmembers} among {len(data)} records."
            )
        whose = np.arange(len(data)) if data.persons is None else np.unique(data.persons, return_inverse=True)[1]
        order = stream(seed, "rows", 0).permutation(whose.max() + 1)
        before = np.concatenate([[0], np.cumsum(np.bincount(whose)[order])])  # records of those drawn earlier
        members = int(np.searchsorted(before, self.members))
        asked = int(np.searchsorted(before, before[members] + self.nonmembers))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return place[whose] < members, place[whose] < asked
