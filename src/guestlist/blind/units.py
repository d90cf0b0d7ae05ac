"""Units whose membership is permuted: records, or persons with all their records.

If members and non-members come from one source, membership is independent of the content of the records, and every
permutation of the membership labels is as likely as the observed one. That holds for units, not for records: the records of a
person are similar and have the same membership, and so do the copies of a member that was repeated to weigh more.
"""

from __future__ import annotations

import numpy as np

# Pairs of equal records with one member, as a share of the number expected by chance. Below it, equal records are copies.
RARELY_ACROSS = 0.5


def units_of(member: np.ndarray, persons: np.ndarray | None, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted positions of the distinct records, and the numbers of their units.

    Units are persons where they are known. Otherwise they are records, and copies of a record are one unit. In a table of few
    columns records are equal by chance, and are then members as often as not; copies of repeated members are all members.
    Among equal records of a unit, one member and one non-member count.

    Args:
        member: (records,) true for members.
        persons: (records,) person identifiers, or None.
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
    """Return True if equal records differ in membership too rarely to be equal by chance."""
    inside = np.bincount(equal, member)
    size = np.bincount(equal)
    across = float((inside * (size - inside)).sum())
    pairs = float((size * (size - 1) / 2).sum())
    records = len(member)
    members = int(member.sum())
    by_chance = 2 * members * (records - members) / (records * (records - 1))
    return across < RARELY_ACROSS * by_chance * pairs


def sample_units(unit: np.ndarray, member: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Return the sorted positions of the records of randomly drawn units.

    The members among them are at most ``limit`` and those of one unit, and so are the non-members.
    """
    rank = rng.permutation(unit.max() + 1)[unit]  # of each record's unit in a random order
    order = np.argsort(rank, kind="stable")
    chosen = np.ones(len(unit), dtype=bool)
    for in_class in (member, ~member):
        before = np.cumsum(in_class[order]) - in_class[order]
        over = order[in_class[order] & (before >= limit)]
        if len(over):  # The unit in which the limit was reached is sampled completely.
            last = rank[order[in_class[order]][limit - 1]]
            chosen[over[rank[over] > last]] = False
    return np.flatnonzero(chosen)


def folds_of(unit: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (records,) numbers of folds, the same for all records of a unit and independent of membership."""
    units = int(unit.max()) + 1
    return (rng.permutation(units) % min(folds, units))[unit]


def permuted_membership(unit: np.ndarray, member: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (count, records) permutations of membership, as likely as the observed labels if there is one source.

    Units of members only, or of non-members only, exchange their labels. If some units have both, membership was drawn by
    record: those units permute the labels among their own records, and the others exchange labels with units of the same
    size, since small units are then of one class more often than large ones.
    """
    order = np.argsort(unit, kind="stable")
    _, start, size = np.unique(unit[order], return_index=True, return_counts=True)
    inside = np.add.reduceat(member[order].astype(np.int64), start)
    split = (inside > 0) & (inside < size)
    unit_labels = np.tile(inside > 0, (count, 1))
    stratum = np.where(split, -1, size if split.any() else 0)
    for number in np.unique(stratum[~split]):
        unit_labels[:, stratum == number] = rng.permuted(unit_labels[:, stratum == number], axis=1)
    labels = np.empty((count, len(unit)), dtype=bool)
    labels[:, order] = np.repeat(unit_labels, size, axis=1)
    if split.any():
        in_split = order[np.repeat(split, size)]  # by unit
        within = np.repeat(np.arange(split.sum()), size[split])
        permutation = np.argsort(within + rng.random((count, len(in_split))), axis=1)
        labels[:, in_split] = member[in_split][permutation]
    return labels
