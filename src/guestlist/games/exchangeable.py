"""Game that draws the members of every model from one pool, and evaluates one member and one other record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.randomness import stream


@dataclass(frozen=True)
class Exchangeable:
    """Every model draws members and one more record; the adversary tells that record from a member.

    Args:
        members: Number of records that each model trains on.
    """

    members: int

    name: ClassVar[str] = "exchangeable"
    replaces: ClassVar[bool] = True

    def __post_init__(self):
        if self.members < 1:
            raise ValueError(f"Expected members={self.members} to be 1 or more.")

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if self.members >= len(data):
            raise InputError(f"Expected members={self.members} and one more record, found {len(data)}.")
        # All orders are equally likely, so each of the last two records is the member with probability 0.5.
        order = stream(seed, "rows", k).permutation(len(data))
        member, evaluated = np.zeros((2, len(data)), dtype=bool)
        member[order[: self.members]] = True
        evaluated[order[self.members - 1 : self.members + 1]] = True
        return member, evaluated
