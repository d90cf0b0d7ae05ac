"""A target with sides of given sizes, and references that train on random parts of the whole pool.

This is what an audit of a user's own model plays: the sides are the user's, and each reference trains on each record
with one probability, so that it has about as many records as the target had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from guestlist.data import Data
from guestlist.games.bernoulli import draw_inclusion_by_class, inclusion_rate, person_numbers
from guestlist.randomness import stream

if TYPE_CHECKING:
    from guestlist.privacy import FixedSize


@dataclass(frozen=True)
class Sides:
    """So many members, drawn at random, and so many non-members; the rest of the pool is population.

    Where it is known whose records these are, whole persons are drawn, until there are at least so many records.

    Args:
        members: records that the target trains on.
        nonmembers: others that are asked about.
        rate: probability that a reference trains on a record; by default the target's share of the pool.
        population: how many records of the population, drawn at random, references train on; by default all.
    """

    members: int
    nonmembers: int
    rate: float | None = None
    population: int | None = None

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
            return draw_inclusion_by_class(
                data, self.members / len(data) if self.rate is None else self.rate, seed, k
            ), None
        if self.members + self.nonmembers > len(data):
            raise ValueError(
                f"Expected members={self.members} and nonmembers={self.nonmembers} among {len(data)} records."
            )
        whose = person_numbers(data)
        order = stream(seed, "rows", 0).permutation(whose.max() + 1)
        before = np.concatenate([[0], np.cumsum(np.bincount(whose)[order])])  # records of those drawn earlier
        members = int(np.searchsorted(before, self.members))
        asked = int(np.searchsorted(before, before[members] + self.nonmembers))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return place[whose] < members, place[whose] < asked

    def membership(self, labels: np.ndarray) -> FixedSize:
        from guestlist.privacy import FixedSize

        return FixedSize()

    def allowed(self, asked: np.ndarray, seed: int) -> np.ndarray:
        """(records,) true for those that references may train on: all that are asked about, and some of the others."""
        if self.population is None:
            return np.ones(len(asked), dtype=bool)
        allowed, rest = asked.copy(), np.flatnonzero(~asked)
        allowed[stream(seed, "rows", 0).permutation(rest)[: self.population]] = True
        return allowed


def matching_sides(members: int, nonmembers: int, pool: int, references: int) -> Sides:
    """The game of a user's own sides, in which references are about as large as the target, if they can be.

    Every record that is asked about needs references that trained on it and others that did not, so the rate has bounds. A
    population needs neither: of a large one, references leave so much aside that they are not larger than the target.
    """
    rate, asked = inclusion_rate(members, pool, references), members + nonmembers
    enough = max(round(members / rate) - asked, 0)
    return Sides(members, nonmembers, rate, enough if enough < pool - asked else None)
