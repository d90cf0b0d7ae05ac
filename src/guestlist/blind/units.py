"""Whose membership can be exchanged with whose: records, or persons with all their records.

If members and non-members come from one source, who is a member says nothing about what the records hold, and every
exchange of memberships is as likely as the one at hand. That holds for units, not for records: the records of a person
are alike and lie on one side, and so do the copies of a member that was repeated to weigh more.
"""

from __future__ import annotations

import numpy as np

# Equal records across the sides, as a share of what chance would put there: below it, they are copies and no accident.
RARELY_ACROSS = 0.5


def units_of(member: np.ndarray, persons: np.ndarray | None, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the records that count, in order, and the numbers of the units they belong to.

    Units are persons where they are known. Otherwise they are records, copies of one being one unit: in a table of few columns
    people are equal by accident, and then stand on both sides as often as not, but copies of members that were repeated
    stand on one side. Of equal records of a unit, one on either side counts.

    Args:
        member: (records,) true for members.
        persons: (records,) whose records these are, or None.
        hashes: (records,) equal for equal records.
    """
    equal = np.unique(hashes, return_inverse=True)[1]
    unit = equal if persons is None else np.unique(persons, return_inverse=True)[1]
    if persons is None and not _are_copies(equal, member):
        return np.arange(len(member)), np.arange(len(member))
    first = np.unique(np.stack([unit, equal, member]), axis=1, return_index=True)[1]
    rows = np.sort(first)
    return rows, unit[rows]


def _are_copies(equal: np.ndarray, member: np.ndarray) -> bool:
    """Whether equal records stand across the sides so rarely that they are no accident."""
    inside, every = np.bincount(equal, member), np.bincount(equal)
    across, pairs = float((inside * (every - inside)).sum()), float((every * (every - 1) / 2).sum())
    records, members = len(member), int(member.sum())
    by_chance = 2 * members * (records - members) / (records * (records - 1))
    return across < RARELY_ACROSS * by_chance * pairs


def some_of(unit: np.ndarray, member: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the records of randomly drawn units, in order: of either side no more than ``most`` and one unit."""
    place = rng.permutation(unit.max() + 1)[unit]  # of each record's unit in a random order
    order = np.argsort(place, kind="stable")
    kept = np.ones(len(unit), dtype=bool)
    for side in (member, ~member):
        before = np.cumsum(side[order]) - side[order]
        over = order[side[order] & (before >= most)]
        if len(over):  # the unit in which the side became full is kept as a whole
            last = place[order[side[order]][most - 1]]
            kept[over[place[over] > last]] = False
    return np.flatnonzero(kept)


def folds_of(unit: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """(records,) number of the fold, the same for all records of a unit; drawn without a look at who is a member."""
    units = int(unit.max()) + 1
    return (rng.permutation(units) % min(folds, units))[unit]


def exchanged(unit: np.ndarray, member: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, records) random exchanges of membership, each as likely as the one at hand if both sides are of one source.

    Units that lie on one side exchange it with each other. Where some lie on both, memberships were dealt out by record:
    those units deal theirs out anew among their own records, and the others exchange with units of their own size, since
    small units then lie on one side more often than large ones.
    """
    order = np.argsort(unit, kind="stable")
    _, start, size = np.unique(unit[order], return_index=True, return_counts=True)
    inside = np.add.reduceat(member[order].astype(np.int64), start)
    split = (inside > 0) & (inside < size)
    side = np.tile(inside > 0, (count, 1))
    stratum = np.where(split, -1, size if split.any() else 0)
    for one in np.unique(stratum[~split]):
        side[:, stratum == one] = rng.permuted(side[:, stratum == one], axis=1)
    found = np.empty((count, len(unit)), dtype=bool)
    found[:, order] = np.repeat(side, size, axis=1)
    if split.any():
        there = order[np.repeat(split, size)]  # by unit
        within = np.repeat(np.arange(split.sum()), size[split])
        dealt = np.argsort(within + rng.random((count, len(there))), axis=1)
        found[:, there] = member[there][dealt]
    return found
