"""Members from one part of the people and non-members from another (Humphries et al. 2023): what games of that kind share.

Members then differ from non-members by more than the training, and no promise of differential privacy is about that. So each of
these games has a counterpart at the same sizes, ``iid=True``: those who were drawn are mixed, and members drawn anew from all
of them. What an attack finds in the game and not in its counterpart, it owes to the dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.bernoulli import draw_inclusion_by_class, person_numbers
from guestlist.games.game import Game
from guestlist.randomness import stream


@dataclass(frozen=True)
class Draw:
    """So many records from a part of the pool.

    Args:
        of: (records,) true for the part.
        count: how many are drawn; None: all.
        called: what the part is, for messages.
    """

    mask: np.ndarray
    count: int | None
    description: str


@dataclass(frozen=True)
class Parts:
    """From where members and non-members are drawn."""

    members: Sequence[Draw]
    nonmembers: Sequence[Draw]


class Mixture(Game, Protocol):
    """A game of dependent records."""

    @property
    def is_iid(self) -> bool: ...

    def parts(self, data: Data) -> Parts: ...


def drawn(parts: Parts, data: Data, *, iid: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(records,) members and (records,) whom the adversary is asked about, of the target.

    Nobody is drawn twice. Where it is known whose records these are, whole persons are drawn, until there are at least so many
    records: somebody with records on both sides would be member and non-member at once.
    """
    rng, free, sides = stream(seed, "rows", 0), np.ones(len(data), dtype=bool), []
    whose = person_numbers(data)
    for side in (parts.members, parts.nonmembers):
        chosen = np.zeros(len(data), dtype=bool)
        for one in side:
            part = _some(one, free & one.mask, whose, rng)
            chosen |= part
            free &= ~np.isin(whose, whose[part])
        sides.append(chosen)
    member, nonmember = sides
    asked = member | nonmember
    return (_mixed(asked, int(member.sum()), whose, rng) if iid else member), asked


def like_members(parts: Parts, data: Data, asked: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """(records,) others that are drawn as the members of the game are: what its trainer would validate a model on.

    Args:
        asked: (records,) those that are taken already.
        most: how many; fewer where a part has not so many left, and none where a part has none.
    """
    whose = person_numbers(data)
    free = ~np.isin(whose, whose[asked])
    weights = [int((one.mask).sum()) if one.count is None else one.count for one in parts.members]
    left = [int((one.mask & free).sum()) for one in parts.members]
    share = min([most / sum(weights), *(have / weight for have, weight in zip(left, weights, strict=True) if weight)])
    chosen = np.zeros(len(data), dtype=bool)
    for one, weight in zip(parts.members, weights, strict=True):
        if count := int(share * weight):
            chosen |= _some(Draw(one.mask, count, one.description), free & one.mask & ~chosen, whose, rng)
    return chosen


def reference(k: int, data: Data, members: int, rate: float | None, seed: int) -> np.ndarray:
    """(records,) whom reference ``k`` trains on: random parts of the whole pool, about as many as the target has."""
    return draw_inclusion_by_class(data, members / len(data) if rate is None else rate, seed, k)


def column_of(data: Data, column: str) -> np.ndarray:
    """(records,) the values of a group."""
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


def _some(one: Draw, part: np.ndarray, whose: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    have = int(part.sum())
    if one.count is None:
        return part
    if one.count > have:
        raise InputError(f"Expected {one.count:,} records of {one.description}, found {have:,}. Ask for fewer.")
    return part & np.isin(whose, _first(whose[part], one.count, rng))


def _mixed(asked: np.ndarray, members: int, whose: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return asked & np.isin(whose, _first(whose[asked], members, rng))


def _first(whose: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Persons in random order, until they have at least ``count`` records."""
    persons, records = np.unique(whose, return_counts=True)
    order = rng.permutation(len(persons))
    before = np.concatenate([[0], np.cumsum(records[order])[:-1]])
    return persons[order[before < count]]
