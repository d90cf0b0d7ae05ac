"""Games that draw members independently, or as sets of given sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import scipy  # imports scipy.stats when it is first used, which takes a second

from guestlist import privacy
from guestlist._util import integer, number, stream
from guestlist.data import Data

# Every record should have at least this number of IN references, and of OUT references …
MIN_PER_SIDE = 2
# … except for this share of the records.
SHORT_SHARE = 0.01
# A model gets the expected number of records of a rare class, up to this number, which cross-validation may need.
ENOUGH_OF_A_CLASS = 5


@dataclass(frozen=True)
class Bernoulli:
    """Independent inclusion of every record in every model; all records are evaluated.

    Attributes:
        rate: Probability that a model trains on a record, in (0, 1).

    Raises:
        ValueError: If the rate is not in (0, 1).

    Examples:
        >>> data = gl.Data(np.zeros((100, 2)), np.arange(100) % 2)
        >>> split = gl.games.draw(gl.games.Bernoulli(0.5), data, models=1, seed=0)
        >>> int((split.members | split.nonmembers).sum())
        100
    """

    rate: float = 0.5

    name: ClassVar[str] = "bernoulli"

    def __post_init__(self):
        number("rate", self.rate, 0, 1)

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return draw_inclusion_by_class(data, self.rate, seed, k), np.ones(len(data), dtype=bool)

    def membership(self, labels: np.ndarray) -> privacy.Coins | None:
        if self.rate != 0.5:
            return None
        return privacy.Coins(condition=no_redraw_probability(labels, self.rate))


def draw_inclusion(data: Data, rate: float, seed: int, k: int, purpose: str = "rows") -> np.ndarray:
    """Draw the records that a model trains on, equal for all records of a person.

    Args:
        data: Records of the pool.
        rate: Probability that a record, or person, is included.
        seed: Random seed.
        k: Number of the model, which has its own random stream.
        purpose: Name of the stream.

    Returns:
        (records,) true for included records.
    """
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
    # Persons with records of a class.
    class_of_pair = data.kinds
    person_of_pair = person
    if data.persons is not None:
        class_of_pair, person_of_pair = np.divmod(np.unique(class_of_pair * len(included) + person), len(included))
    least = min_per_class(np.bincount(class_of_pair), rate)
    # A person may have records of several classes, so a new draw for one class may exclude records of another.
    while len(short := np.flatnonzero(np.bincount(class_of_pair, included[person_of_pair]) < least)):
        for short_class in short:
            persons = person_of_pair[class_of_pair == short_class]
            while included[persons].sum() < least[short_class]:
                included[persons] = rng.random(len(persons)) < rate
    return included[person]


def min_per_class(sizes: np.ndarray, rate: float) -> np.ndarray:
    """Return (classes,) minimum number of included records, or persons, of classes of these sizes."""
    least = np.clip(np.floor(rate * sizes), 1, ENOUGH_OF_A_CLASS)
    least[(sizes == 1) & (len(sizes) != 2)] = 0
    return least


def no_redraw_probability(labels: np.ndarray, rate: float) -> float:
    """Probability that no class is drawn again, if each record is its own person."""
    sizes = np.bincount(pd.factorize(labels)[0])
    return float(np.prod(scipy.stats.binom.sf(min_per_class(sizes, rate) - 1, sizes, rate)))


def person_numbers(data: Data) -> np.ndarray:
    """Return (records,) numbers of persons; without person identifiers every record is its own person."""
    if data.persons is None:
        return np.arange(len(data))
    return np.unique(data.persons, return_inverse=True)[1]


def inclusion_rate(members: int, pool: int, references: int) -> float:
    """Return the rate at which a reference trains on about the same number of records as the target, within bounds.

    The bounds give all but 1% of the records two IN and two OUT references; with few references, the rate is 0.5.

    Args:
        members: Number of records that the target trained on.
        pool: Number of records in the pool.
        references: Number of reference models.

    Returns:
        The probability that a reference trains on a record.

    Raises:
        ValueError: If the pool has no members, or only members.

    Examples:
        >>> gl.games.inclusion_rate(members=400, pool=1000, references=64)
        0.4
    """
    if not 0 < members < pool:
        raise ValueError(f"Expected members={members} in (0, pool={pool}).")

    def shortage(rate):
        return scipy.stats.binom.cdf(MIN_PER_SIDE - 1, references, rate) - SHORT_SHARE

    lowest = 0.5
    if shortage(0.5) < 0:
        lowest = float(scipy.optimize.brentq(shortage, 1e-9, 0.5))
    return float(np.clip(members / pool, lowest, 1 - lowest))


def random_membership(records: int, *, models: int, rng: np.random.Generator, rate: float = 0.5) -> np.ndarray:
    """Draw membership independently for every model, so that any model can be the target.

    Args:
        records: Number of records.
        models: Number of models.
        rng: Random generator.
        rate: Probability that a model trains on a record.

    Returns:
        (models, records) true where a model trains on a record.

    Examples:
        >>> gl.games.random_membership(100, models=3, rng=np.random.default_rng(0)).shape
        (3, 100)
    """
    return rng.random((models, records)) < rate


def check_sizes(members: int | None, nonmembers: int | None, rate: float | None) -> None:
    for side, count in (("members", members), ("nonmembers", nonmembers)):
        if count is not None:
            integer(side, count, 1)
    if rate is not None:
        number("rate", rate, 0, 1)


@dataclass(frozen=True)
class Sides:
    """Members and non-members drawn at random; the other records of the pool are population.

    If person identifiers are given, whole persons are drawn, until there are at least these numbers of records.

    Attributes:
        members: Number of records that the target trains on.
        nonmembers: Number of other evaluated records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.
        population: Number of random records of the population that references train on; by default all.

    Raises:
        ValueError: If a number is less than 1, or the rate is not in (0, 1).

    Examples:
        >>> data = gl.Data(np.zeros((100, 2)), np.arange(100) % 2)
        >>> split = gl.games.draw(gl.games.Sides(40, 30), data, models=1, seed=0)
        >>> int(split.members.sum()), int(split.nonmembers.sum()), int(split.population.sum())
        (40, 30, 30)
    """

    members: int
    nonmembers: int
    rate: float | None = None
    population: int | None = None

    name: ClassVar[str] = "sides"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Draw members and non-members for model 0; references have the same evaluated records."""
        if k:
            rate = self.members / len(data) if self.rate is None else self.rate
            return draw_inclusion_by_class(data, rate, seed, k), None
        if self.members + self.nonmembers > len(data):
            raise ValueError(
                f"members={self.members} and nonmembers={self.nonmembers} are more than the {len(data)} records. Draw "
                "fewer."
            )
        person = person_numbers(data)
        order = stream(seed, "rows", 0).permutation(person.max() + 1)
        before = np.concatenate([[0], np.cumsum(np.bincount(person)[order])])  # records of persons drawn earlier
        members = int(np.searchsorted(before, self.members))
        evaluated = int(np.searchsorted(before, before[members] + self.nonmembers))
        rank = np.argsort(order)
        return rank[person] < members, rank[person] < evaluated

    def membership(self, labels: np.ndarray) -> privacy.FixedSize:
        return privacy.FixedSize()

    def allowed(self, evaluated: np.ndarray, seed: int) -> np.ndarray:
        """Return (records,) true for records that references may train on: all evaluated ones, and some of the others."""
        if self.population is None:
            return np.ones(len(evaluated), dtype=bool)
        allowed = evaluated.copy()
        allowed[stream(seed, "rows", 0).permutation(np.flatnonzero(~evaluated))[: self.population]] = True
        return allowed


def matching_sides(members: int, nonmembers: int, pool: int, references: int) -> Sides:
    """Return the game of given members and non-members, with references about as large as the target if possible.

    Every evaluated record needs IN and OUT references, so the rate has bounds. A population needs neither: references train
    only on the part of a large population that keeps them no larger than the target.

    Args:
        members, nonmembers: Numbers of evaluated records.
        pool: Number of records in the pool.
        references: Number of reference models.

    Returns:
        The game.
    """
    rate = inclusion_rate(members, pool, references)
    evaluated = members + nonmembers
    enough = max(round(members / rate) - evaluated, 0)
    return Sides(members, nonmembers, rate, enough if enough < pool - evaluated else None)
