"""Figure 1: three exact bounds on the advantage of any attack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.privacy import erlingsson, humphries, yeom
from papers.data_dependencies.published import DELTA

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Bound:
    """Largest advantage by each of three theorems; that of Yeom et al. is for delta = 0."""

    epsilon: float
    yeom: float
    erlingsson: float
    humphries: float


def bounds(epsilons=EPSILONS, delta: float = DELTA) -> list[Bound]:
    return [
        Bound(epsilon, yeom(epsilon), erlingsson(epsilon, delta), humphries(epsilon, delta)) for epsilon in epsilons
    ]


def largest_gain() -> tuple[float, float]:
    """Return the largest difference of the bound of Erlingsson et al. from the paper's, and its epsilon, for delta = 0."""
    epsilons = np.linspace(0.001, 4, 40_000)
    gains = [erlingsson(epsilon) - humphries(epsilon) for epsilon in epsilons]
    best = int(np.argmax(gains))
    return float(gains[best]), float(epsilons[best])
