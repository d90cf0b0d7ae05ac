"""Common parts of games with members from one population and non-members from another (Humphries et al. 2023).

Members then differ from non-members by more than training, and differential privacy gives no guarantee about that. So each of
these games has an i.i.d. control of the same size, ``iid=True``, in which members are drawn from all drawn records. The
difference in an attack's performance between the game and its control is due to the dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.bernoulli import draw_inclusion_by_class, person_numbers
from guestlist.games.game import Game
from guestlist.randomness import stream


@dataclass(frozen=True)
class Draw:
    """A number of records from a part of the pool.

    Attributes:
        mask: (records,) true for the part.
        count: Number of records drawn; None: all.
        description: Description of the part, for messages.
    """

    mask: np.ndarray
    count: int | None
    description: str


@dataclass(frozen=True)
class Parts:
    """Parts of the pool that members and non-members are drawn from."""

    members: Sequence[Draw]
    nonmembers: Sequence[Draw]


class Mixture(Game, Protocol):
    """A game of dependent records."""

    @property
    def is_iid(self) -> bool: ...

    def parts(self, data: Data) -> Parts: ...


def drawn(parts: Parts, data: Data, *, iid: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw (records,) the members of the target, and (records,) its evaluated records.

    No record is drawn twice. If person identifiers are given, whole persons are drawn, until there are at least these numbers of
    records: a person with records in both sets would be member and non-member at once.
    """
    rng = stream(seed, "rows", 0)
    free = np.ones(len(data), dtype=bool)
    person = person_numbers(data)
    member, nonmember = np.zeros((2, len(data)), dtype=bool)
    for chosen, draws in ((member, parts.members), (nonmember, parts.nonmembers)):
        for draw in draws:
            part = _sample(draw, free & draw.mask, person, rng)
            chosen |= part
            free &= ~np.isin(person, person[part])
    evaluated = member | nonmember
    if iid:
        member = evaluated & np.isin(person, _random_persons(person[evaluated], int(member.sum()), rng))
    return member, evaluated


def like_members(parts: Parts, data: Data, evaluated: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (records,) other records as the members of the game are drawn: a trainer would validate a model on them.

    Args:
        parts: Parts of the pool.
        data: Records of the pool.
        evaluated: (records,) records that are taken already.
        limit: Number of records; fewer if a part has fewer left, and none if a part has none.
        rng: Random generator.
    """
    person = person_numbers(data)
    free = ~np.isin(person, person[evaluated])
    weights = [int(draw.mask.sum()) if draw.count is None else draw.count for draw in parts.members]
    available = [int((draw.mask & free).sum()) for draw in parts.members]
    shares = [count / weight for count, weight in zip(available, weights, strict=True) if weight]
    share = min([limit / sum(weights), *shares])
    chosen = np.zeros(len(data), dtype=bool)
    for draw, weight in zip(parts.members, weights, strict=True):
        if count := int(share * weight):
            chosen |= _sample(replace(draw, count=count), free & draw.mask & ~chosen, person, rng)
    return chosen


def reference(k: int, data: Data, members: int, rate: float | None, seed: int) -> np.ndarray:
    """Draw (records,) the training set of reference ``k``: a random part of the pool, about as large as the target's."""
    return draw_inclusion_by_class(data, rate or members / len(data), seed, k)


def column_of(data: Data, column: str) -> np.ndarray:
    """Return (records,) values of a group column."""
    if column not in data.groups:
        known = ", ".join(data.groups) or "none"
        raise InputError(f"There is no group {column!r} among the records' groups ({known}). Give group={column!r}.")
    return data.groups[column]


def check_sizes(members: int | None, nonmembers: int | None, rate: float | None) -> None:
    for side, count in (("members", members), ("nonmembers", nonmembers)):
        if count is not None and count < 1:
            raise ValueError(f"Expected {side}={count} to be 1 or more.")
    if rate is not None and not 0 < rate < 1:
        raise ValueError(f"Expected rate={rate} in (0, 1).")


def _sample(draw: Draw, part: np.ndarray, person: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    available = int(part.sum())
    if draw.count is None:
        return part
    if draw.count > available:
        raise InputError(f"Expected {draw.count:,} records of {draw.description}, found {available:,}. Ask for fewer.")
    return part & np.isin(person, _random_persons(person[part], draw.count, rng))


def _random_persons(person: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw persons until they have at least ``count`` records."""
    persons, records = np.unique(person, return_counts=True)
    order = rng.permutation(len(persons))
    before = np.concatenate([[0], np.cumsum(records[order])[:-1]])
    return persons[order[before < count]]
