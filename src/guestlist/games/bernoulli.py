"""Bernoulli inclusion: each model trains on each record of the pool with one probability, independently.

If person identifiers are given, persons are drawn with all their records: the records of one person are too similar to be
drawn separately.

Independence matters. If every record were in an exact number of models, the count over the references would reveal the target's
membership, and an attack that reads only that count would be right. With independent draws the count carries no information,
and every model can serve as a stand-in target.

Model ``k`` draws its row from its own random stream, so adding references does not change the earlier ones.

A class of few records might be missing from a row, and many recipes cannot be trained without it. So a row is drawn under the
condition that no class is missing. The condition is on each row separately, so rows remain independent.
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
# A model gets the expected number of records of a rare class, up to this many, which cross-validation in a recipe may need.
ENOUGH_OF_A_CLASS = 5


@dataclass(frozen=True)
class Bernoulli:
    """Independent inclusion of every record in every model; all records are evaluated.

    Args:
        rate: Probability that a model trains on a record.
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

        if self.rate != 0.5:
            return None
        return Coins(condition=no_redraw_probability(labels, self.rate))


def draw_inclusion(data: Data, rate: float, seed: int, k: int, purpose: str = "rows") -> np.ndarray:
    """(records,) true with probability ``rate``, equal for all records of a person, from the stream of model ``k``."""
    person = person_numbers(data)
    return (stream(seed, purpose, k).random(person.max() + 1) < rate)[person]


def draw_inclusion_by_class(data: Data, rate: float, seed: int, k: int) -> np.ndarray:
    """Draw inclusion as :func:`draw_inclusion`, and again for classes with too few included records.

    A class of a single record, or person, may be missing, unless there are only two classes: a record that every reference
    trained on could not be compared with anything. Labels of a regression are nearly all different, and not drawn again.
    """
    rng = stream(seed, "rows", k)
    person = person_numbers(data)
    included = rng.random(person.max() + 1) < rate
    classes = data.kinds
    class_of_pair, person_of_pair = classes, person  # persons with records of a class
    if data.persons is not None:
        class_of_pair, person_of_pair = np.divmod(np.unique(classes * len(included) + person), len(included))
    least = min_per_class(np.bincount(class_of_pair), rate)
    # A person may have records of several classes, so a new draw for one class may exclude records of another.
    while len(short := np.flatnonzero(np.bincount(class_of_pair, included[person_of_pair]) < least)):
        for short_class in short:
            persons = person_of_pair[class_of_pair == short_class]
            while included[persons].sum() < least[short_class]:
                included[persons] = rng.random(len(persons)) < rate
    return included[person]


def min_per_class(sizes: np.ndarray, rate: float) -> np.ndarray:
    """(classes,) minimum number of included records, or persons, of classes of these sizes."""
    least = np.clip(np.floor(rate * sizes), 1, ENOUGH_OF_A_CLASS)
    least[(sizes == 1) & (len(sizes) != 2)] = 0
    return least


def no_redraw_probability(labels: np.ndarray, rate: float) -> float:
    """Probability that no class is drawn again, if each record is its own person."""
    from scipy.stats import binom

    sizes = np.bincount(pd.factorize(labels)[0])
    return float(np.prod(binom.sf(min_per_class(sizes, rate) - 1, sizes, rate)))


def person_numbers(data: Data) -> np.ndarray:
    """(records,) numbers of persons; without person identifiers every record is its own person."""
    if data.persons is None:
        return np.arange(len(data))
    return np.unique(data.persons, return_inverse=True)[1]


def inclusion_rate(members: int, pool: int, references: int) -> float:
    """Return the rate at which a reference trains on about as many records as the target did, within bounds.

    The bounds give all but 1 % of the records two IN and two OUT references; with few references, the rate is 0.5.
    """
    if not 0 < members < pool:
        raise ValueError(f"Expected members={members} in (0, pool={pool}).")
    lowest = _lowest_rate(references)
    return float(np.clip(members / pool, lowest, 1 - lowest))


def random_membership(records: int, *, models: int, rng: np.random.Generator, rate: float = 0.5) -> np.ndarray:
    """Draw (models, records) membership independently, so that any model can be the target."""
    return rng.random((models, records)) < rate


def _lowest_rate(references: int) -> float:
    # Imported here: every process that trains a reference loads this file, and scipy.stats takes a second.
    from scipy.optimize import brentq
    from scipy.stats import binom

    def shortage(rate):
        return binom.cdf(FEWEST - 1, references, rate) - SHORT_SHARE

    if shortage(0.5) >= 0:
        return 0.5
    return float(brentq(shortage, 1e-9, 0.5))
