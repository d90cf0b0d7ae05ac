"""Each model trains on each record of the pool with one probability, independently.

Where it is known whose records these are, a coin is for a person, with all of that person's records: someone who takes
part takes part with everything, and the records of one person say too much about each other.

Independence matters. Where every record has an exact number of models that trained on it, the count of the
*remaining* ones gives the target's membership away: an attack that looks at nothing else is then right. With
independent draws the count says nothing, and every model can serve as a mock target.

Model ``k`` draws its row from a stream of its own, so adding references leaves the earlier ones as they were.

A class of few records might be missing from a row, and many recipes cannot be trained without it: a row is drawn under the
condition that no class is missing. That is a condition on each row alone, so rows remain independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from guestlist.data import Data
from guestlist.randomness import stream

if TYPE_CHECKING:
    from guestlist.privacy import Coins

# Every record should have at least this many references that trained on it and as many that did not …
FEWEST = 2
# … except for this share of the records.
SHORT_SHARE = 0.01
# Of a class whose records are few, a model gets as many as it may expect, up to this many: what cross-validation within a
# recipe asks of every class.
ENOUGH_OF_A_CLASS = 5


@dataclass(frozen=True)
class Bernoulli:
    """A coin for every model and record; everybody is asked about.

    Args:
        rate: probability that a model trains on a record.
    """

    rate: float = 0.5

    name: ClassVar[str] = "bernoulli"

    def __post_init__(self):
        if not 0 < self.rate < 1:
            raise ValueError(f"Expected rate={self.rate} in (0, 1).")

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return draw_inclusion_by_class(data, self.rate, seed, k), np.ones(len(data), dtype=bool)

    def membership(self, labels: np.ndarray) -> Coins | None:
        from guestlist.privacy import Coins

        return Coins(condition=no_redraw_probability(labels, self.rate)) if self.rate == 0.5 else None


def draw_inclusion(data: Data, rate: float, seed: int, k: int, purpose: str = "rows") -> np.ndarray:
    """(records,) true with probability ``rate``, alike for all records of a person, from the stream of model ``k``."""
    whose = person_numbers(data)
    return (stream(seed, purpose, k).random(whose.max() + 1) < rate)[whose]


def draw_inclusion_by_class(data: Data, rate: float, seed: int, k: int) -> np.ndarray:
    """The same, tossed again for a class of which too few came up.

    A class of a single record, or person, may be missing, unless there are but two classes: a record that every reference
    trained on could not be compared with anything. Labels of a regression are nearly all different, and left to chance.
    """
    rng, whose = stream(seed, "rows", k), person_numbers(data)
    tossed = rng.random(whose.max() + 1) < rate
    codes, units = data.kinds, len(tossed)
    pairs = codes, whose  # who has records of which class
    if data.persons is not None:
        pairs = np.divmod(np.unique(codes * units + whose), units)
    least = min_per_class(np.bincount(pairs[0]), rate)
    # A person may have records of several classes, so tossing for one may take from another.
    while len(short := np.flatnonzero(np.bincount(pairs[0], tossed[pairs[1]]) < least)):
        for of_class in short:
            have = pairs[1][pairs[0] == of_class]
            while tossed[have].sum() < least[of_class]:
                tossed[have] = rng.random(len(have)) < rate
    return tossed[whose]


def min_per_class(sizes: np.ndarray, rate: float) -> np.ndarray:
    """(classes,) of how many records, or persons, of each class there must be heads, where there are ``sizes`` of them."""
    least = np.clip(np.floor(rate * sizes), 1, ENOUGH_OF_A_CLASS)
    least[(sizes == 1) & (len(sizes) != 2)] = 0
    return least


def no_redraw_probability(labels: np.ndarray, rate: float) -> float:
    """The probability that no class has to be tossed for again, where each record has a coin of its own."""
    from scipy.stats import binom

    sizes = np.bincount(pd.factorize(labels)[0])
    return float(np.prod(binom.sf(min_per_class(sizes, rate) - 1, sizes, rate)))


def person_numbers(data: Data) -> np.ndarray:
    """(records,) numbers of the persons whose records these are; every record has one of its own where it is not known."""
    return np.arange(len(data)) if data.persons is None else np.unique(data.persons, return_inverse=True)[1]


def inclusion_rate(members: int, pool: int, references: int) -> float:
    """The rate at which a reference trains on about as many records as the target did, within bounds.

    The bounds leave all but 1 % of the records two references on either side; with few references, that
    is a rate of one half.
    """
    if not 0 < members < pool:
        raise ValueError(f"Expected members={members} in (0, pool={pool}).")
    lowest = _lowest_rate(references)
    return float(np.clip(members / pool, lowest, 1 - lowest))


def random_membership(records: int, *, models: int, rng: np.random.Generator, rate: float = 0.5) -> np.ndarray:
    """(models, records) membership drawn independently: a world in which any model can be the target."""
    return rng.random((models, records)) < rate


def _lowest_rate(references: int) -> float:
    # Here, since every process that trains a reference loads this file, and these take it a second.
    from scipy.optimize import brentq
    from scipy.stats import binom

    def shortage(rate):
        return binom.cdf(FEWEST - 1, references, rate) - SHORT_SHARE

    return 0.5 if shortage(0.5) >= 0 else float(brentq(shortage, 1e-9, 0.5))
