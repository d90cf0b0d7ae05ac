"""Game with given numbers of members and non-members, and references trained on random parts of the pool.

An audit of a user's model plays this game: the user chooses members and non-members, and each reference trains on each record
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
    """Members and non-members drawn at random; the other records of the pool are population.

    If person identifiers are given, whole persons are drawn, until there are at least these numbers of records.

    Args:
        members: Number of records that the target trains on.
        nonmembers: Number of other evaluated records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.
        population: Number of random records of the population that references train on; by default all.
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
        """Draw members and non-members for model 0; references have the same evaluated records."""
        if k:
            rate = self.members / len(data) if self.rate is None else self.rate
            return draw_inclusion_by_class(data, rate, seed, k), None
        if self.members + self.nonmembers > len(data):
            raise ValueError(
                f"Expected members={self.members} and nonmembers={self.nonmembers} among {len(data)} records."
            )
        person = person_numbers(data)
        order = stream(seed, "rows", 0).permutation(person.max() + 1)
        before = np.concatenate([[0], np.cumsum(np.bincount(person)[order])])  # records of persons drawn earlier
        members = int(np.searchsorted(before, self.members))
        evaluated = int(np.searchsorted(before, before[members] + self.nonmembers))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return rank[person] < members, rank[person] < evaluated

    def membership(self, labels: np.ndarray) -> FixedSize:
        from guestlist.privacy import FixedSize

        return FixedSize()

    def allowed(self, evaluated: np.ndarray, seed: int) -> np.ndarray:
        """(records,) true for records that references may train on: all evaluated ones, and some of the others."""
        if self.population is None:
            return np.ones(len(evaluated), dtype=bool)
        allowed = evaluated.copy()
        allowed[stream(seed, "rows", 0).permutation(np.flatnonzero(~evaluated))[: self.population]] = True
        return allowed


def matching_sides(members: int, nonmembers: int, pool: int, references: int) -> Sides:
    """Return the game of given members and non-members, with references about as large as the target if possible.

    Every evaluated record needs IN and OUT references, so the rate has bounds. A population needs neither: references train
    on only as much of a large population as keeps them no larger than the target.
    """
    rate = inclusion_rate(members, pool, references)
    evaluated = members + nonmembers
    enough = max(round(members / rate) - evaluated, 0)
    return Sides(members, nonmembers, rate, enough if enough < pool - evaluated else None)
