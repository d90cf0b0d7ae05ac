"""So many records from one pool and one more, which of the last two is in being chance: drawn anew for every model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.randomness import stream


@dataclass(frozen=True)
class Exchangeable:
    """Every model draws its members and one more record; the adversary is shown that one and a member, and asked which is which.

    Args:
        members: that each model trains on.
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
        # All orders are alike, so that which of the last two came first is a fair coin.
        order = stream(seed, "rows", k).permutation(len(data))
        member, asked = np.zeros((2, len(data)), dtype=bool)
        member[order[: self.members]] = True
        asked[order[self.members - 1 : self.members + 1]] = True
        return member, asked
