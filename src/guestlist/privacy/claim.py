"""A claim of differential privacy."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from guestlist.arguments import flag, number


@dataclass(frozen=True)
class Claim:
    """No record changes the chance of anything by more than a factor of exp(epsilon), but for ``delta``.

    It is about one record more or less, and about everything that training lets out; see ``group_privacy`` for several.

    Args:
        gaussian: whether it is the promise of Gaussian noise: of its whole curve, on which epsilon and delta are one point. It
            allows less than these two alone.
    """

    epsilon: float
    delta: float = 1e-5
    gaussian: bool = False

    def __post_init__(self):
        number("epsilon", self.epsilon, 0, math.inf, "[)")
        number("delta", self.delta, 0, 1, "[)")
        flag("gaussian", self.gaussian)
        if self.gaussian and self.delta == 0:
            raise ValueError("Expected delta=0 to be above 0: at 0, Gaussian noise promises nothing.")


def claim_about(claim: Claim | None) -> dict[str, dict[str, float | bool]]:
    """Return the entry of a claim in a folder's manifest; empty without a claim."""
    if claim is not None and not isinstance(claim, Claim):
        raise ValueError(f"Expected claimed={claim!r} to be gl.Claim(epsilon=…, delta=…).")
    return {} if claim is None else {"claimed": asdict(claim)}
