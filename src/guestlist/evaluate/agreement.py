"""Agreement between attacks, and with the truth, on members and on non-members.

Attacks with equal metrics may flag the same members or different ones. A flag is 1.0 (member), 0.0, or NaN where the attack
has no score for a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.samples import check_share
from guestlist.evaluate.low_fpr import threshold_at_fpr

TRUTH = "truth"
RECORDS_PER_BLOCK = 2**16  # records


@dataclass(frozen=True)
class Agreement:
    """Share of records on which two attacks agree, for all pairs; the first row is the truth.

    Args:
        names: "truth", then the attacks.
        members: (names, names) Shares of members on which two agree.
        nonmembers: (names, names) Shares of non-members on which two agree.
    """

    names: tuple[str, ...]
    members: np.ndarray
    nonmembers: np.ndarray


def agreement(calls: Mapping[str, np.ndarray], member: np.ndarray) -> Agreement:
    """Compute the shares of members and non-members on which two attacks agree (Ye et al. 2022, Table 2).

    The row of the truth holds each attack's TPR (members) and 1 - FPR (non-members).

    Args:
        calls: attack to (records,) true where it calls a record a member; NaN where it does not say, and a
            pair is compared on the records about which both do. :func:`flags_at_level` and :func:`flags_at_fpr`
            make them.
        member: (records,) True for members.

    Returns:
        The names and two symmetric matrices; NaN where no record was called by both.

    >>> found = agreement({"a": [1, 0, 1], "b": [1, 1, np.nan]}, np.array([True, True, False]))
    >>> found.names, found.members[0]
    (('truth', 'a', 'b'), array([1. , 0.5, 1. ]))
    """
    member = np.asarray(member, dtype=bool)
    rows = [member, *map(np.asarray, calls.values())]
    for name, row in zip((TRUTH, *calls), rows, strict=True):
        if np.shape(row) != member.shape or member.ndim != 1:
            raise ValueError(f"Expected calls of {name!r} shaped {member.shape}, found {np.shape(row)}.")
    same, known = np.zeros((2, 2, len(rows), len(rows)))  # of non-members and of members: whole numbers, in any order
    for start in range(0, len(member), RECORDS_PER_BLOCK):
        block = slice(start, start + RECORDS_PER_BLOCK)
        batch = np.array([row[block] for row in rows], dtype=np.float64)
        if not ((batch == 0.0) | (batch == 1.0) | np.isnan(batch)).all():
            raise ValueError("Expected calls to be true, false or NaN, found other numbers.")
        for side in (0, 1):
            yes, no = ((batch[:, member[block] == side] == value).astype(np.float64) for value in (1.0, 0.0))
            same[side] += yes @ yes.T + no @ no.T
            known[side] += (yes + no) @ (yes + no).T
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no record about which both speak
        nonmembers, members = same / known
    return Agreement((TRUTH, *calls), members, nonmembers)


def flags_at_level(p_values: np.ndarray, alpha: float) -> np.ndarray:
    """(records,) calls of a test at level ``alpha``: 1.0 where the p-value is at most that; NaN stays NaN."""
    check_share(alpha=alpha)
    p_values = np.asarray(p_values, dtype=np.float64)
    return np.where(np.isnan(p_values), np.nan, p_values <= alpha)


def flags_at_fpr(scores: np.ndarray, member: np.ndarray, fpr: float) -> np.ndarray:
    """(records,) calls at the threshold that meets ``fpr`` on these non-members; NaN where there is no score.

    Knows the truth: it is for comparing attacks at one rate, not for judging one.
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    return np.where(np.isnan(scores), np.nan, scores >= threshold_at_fpr(scores[~member], fpr))
