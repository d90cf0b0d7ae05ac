"""Each reference trains on each record of the pool with one probability, independently.

Independence matters. Where every record has an exact number of models that trained on it, the count of the
*remaining* ones gives the target's membership away: an attack that looks at nothing else is then right. With
independent draws the count says nothing, and every model can serve as a mock target.

Reference ``k`` draws its row from a stream of its own, so adding references leaves the earlier ones as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from guestlist.randomness import stream

# Every record should have at least this many references that trained on it and as many that did not …
FEWEST = 2
# … except for this share of the records.
SHORT_SHARE = 0.01


@dataclass(frozen=True)
class Design:
    """Who trains on what: the target on its members, reference ``k`` (1, 2, …) on a random part of the pool.

    Args:
        member: (records,) true where the target trained on the record.
        rate: probability that a reference trains on a record.
        seed: of all the rows.
        purpose: of the stream that draws them.
    """

    member: np.ndarray
    rate: float
    seed: int
    purpose: str = "rows"

    def __post_init__(self):
        if not 0 < self.rate < 1:
            raise ValueError(f"Expected rate={self.rate} in (0, 1).")

    def row(self, k: int) -> np.ndarray:
        """(records,) true where model ``k`` trains on the record; model 0 is the target."""
        if k == 0:
            return self.member
        return stream(self.seed, self.purpose, k).random(len(self.member)) < self.rate

    def rows(self, models: int) -> np.ndarray:
        """(models, records) membership of the target and of the first ``models - 1`` references."""
        return np.stack([self.row(k) for k in range(models)])


def inclusion_rate(members: int, pool: int, references: int) -> float:
    """The rate at which a reference trains on about as many records as the target did, within bounds.

    The bounds leave all but 1 % of the records two references on either side; with few references, that
    is a rate of one half.
    """
    if not 0 < members < pool:
        raise ValueError(f"Expected members={members} in (0, pool={pool}).")
    lowest = _lowest_rate(references)
    return float(np.clip(members / pool, lowest, 1 - lowest))


def iid(records: int, *, models: int, rng: np.random.Generator, rate: float = 0.5) -> np.ndarray:
    """(models, records) membership drawn independently: a world in which any model can be the target."""
    return rng.random((models, records)) < rate


def _lowest_rate(references: int) -> float:
    def shortage(rate):
        return binom.cdf(FEWEST - 1, references, rate) - SHORT_SHARE

    return 0.5 if shortage(0.5) >= 0 else float(brentq(shortage, 1e-9, 0.5))
