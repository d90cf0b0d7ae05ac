"""A promise of differential privacy, as somebody makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from guestlist.arguments import number


@dataclass(frozen=True)
class Claim:
    """No record changes the chance of anything by more than a factor of exp(epsilon), but for ``delta``.

    It is about one record more or less, and about everything that training lets out; see ``group_privacy`` for several.
    """

    epsilon: float
    delta: float = 1e-5

    def __post_init__(self):
        number("epsilon", self.epsilon, 0, math.inf, "[)")
        number("delta", self.delta, 0, 1, "[)")
