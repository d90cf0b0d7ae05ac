"""A promise of differential privacy, as somebody makes it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Claim:
    """No record changes the chance of anything by more than a factor of exp(epsilon), but for ``delta``.

    It is about one record more or less, and about everything that training lets out; see ``group_privacy`` for several.
    """

    epsilon: float
    delta: float = 1e-5

    def __post_init__(self):
        if not self.epsilon >= 0 or not isfinite(self.epsilon):
            raise ValueError(f"Expected epsilon={self.epsilon} to be a number, 0 or more.")
        if not 0 <= self.delta < 1:
            raise ValueError(f"Expected delta={self.delta} in [0, 1).")
