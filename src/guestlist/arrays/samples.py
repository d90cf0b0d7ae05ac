"""Scores split by the truth: the one place where NaN, shapes and levels are looked at."""

from __future__ import annotations

import numpy as np


def unscored(scores: np.ndarray) -> int:
    """How many scores are NaN: records that an attack could not score and that no figure here counts.

    >>> unscored(np.array([0.5, np.nan, np.inf]))
    1
    """
    return int(np.isnan(scores).sum())


def split(scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores of members and those of non-members, each sorted upwards and without NaN."""
    scores, member = paired(scores, member)
    return np.sort(scores[member]), np.sort(scores[~member])


def paired(scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores as float64 and their membership, in the given order, without the unscored records."""
    scores, member = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if scores.shape != member.shape or scores.ndim != 1:
        raise ValueError(f"Expected scores and member (records,), found {scores.shape} and {member.shape}.")
    scored = ~np.isnan(scores)
    return scores[scored], member[scored]


def error_of(confidence: float) -> float:
    """One minus the confidence, which must lie in (0, 1)."""
    if not 0 < confidence < 1:
        raise ValueError(f"Expected confidence={confidence} in (0, 1).")
    return 1 - confidence


def check_share(**named: np.ndarray | float) -> None:
    """Raise unless every named value lies in [0, 1]."""
    for name, value in named.items():
        if not np.all((np.asarray(value) >= 0) & (np.asarray(value) <= 1)):
            raise ValueError(f"Expected {name}={value} in [0, 1].")
