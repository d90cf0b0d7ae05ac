"""Scores split by the truth: the one place where NaN, shapes and levels are looked at."""

from __future__ import annotations

import numpy as np


def count_unscored(scores: np.ndarray) -> int:
    """How many scores are NaN: records that an attack could not score and that no figure here counts.

    >>> count_unscored(np.array([0.5, np.nan, np.inf]))
    1
    """
    return int(np.isnan(scores).sum())


def drop_unscored(scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores as float64 and their membership, in the given order, without the unscored records."""
    scores, member = np.asarray(scores, dtype=np.float64), np.asarray(member, dtype=bool)
    if scores.shape != member.shape or scores.ndim != 1:
        raise ValueError(f"Expected scores and member (records,), found {scores.shape} and {member.shape}.")
    scored = ~np.isnan(scores)
    return (scores, member) if scored.all() else (scores[scored], member[scored])


def cluster_codes(clusters: np.ndarray | None, scores: np.ndarray) -> np.ndarray | None:
    """(scored records,) numbers of the persons whose records these are, in order of appearance; None for None.

    Args:
        clusters: (records,) labels; records with one label are one person's. None where each record stands alone.
        scores: (records,) what is NaN is left out.
    """
    if clusters is None:
        return None
    clusters, scores = np.asarray(clusters), np.asarray(scores, dtype=np.float64)
    if clusters.shape != scores.shape:
        raise ValueError(f"Expected clusters {scores.shape}, one per record, found {clusters.shape}.")
    return consecutive_codes(clusters[~np.isnan(scores)])


def scored_weights(weights: np.ndarray | None, scores: np.ndarray) -> np.ndarray | None:
    """(scored records,) how much each counts; None for None, where all count alike."""
    if weights is None:
        return None
    weights, scores = np.asarray(weights, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if weights.shape != scores.shape:
        raise ValueError(f"Expected weights {scores.shape}, one per record, found {weights.shape}.")
    return weights[~np.isnan(scores)]


def optional_take(facts: np.ndarray | None, kind: np.ndarray) -> np.ndarray | None:
    """The persons, or weights, of some of the records; None for None."""
    return None if facts is None else facts[kind]


def consecutive_codes(labels: np.ndarray) -> np.ndarray:
    """Each label's number, from 0 in order of first appearance.

    >>> consecutive_codes(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 0, 2]
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


def rows_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The positions of each label, by rising label, in one pass however many labels there are; a negative one is none.

    >>> [rows.tolist() for rows in rows_by_label(np.array([2, 0, -1, 2]))]
    [[1], [0, 3]]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order][:1] - 1))
    return [rows for rows in np.split(order, starts[1:]) if len(rows) and labels[rows[0]] >= 0]


def subsample_by_label(labels: np.ndarray, answers: np.ndarray, enough: int) -> np.ndarray | None:
    """Records about each label of which models say at least ``enough``, or all that there is; None where that is all.

    Of each label they are drawn at random, the same ones every time. A negative label is none.

    Args:
        answers: (records,) how many models say something about each; those about which none does are left out.

    >>> subsample_by_label(np.array([0, 1, 0, 0, 0, 0]), np.full(6, 4), enough=10).tolist()
    [0, 1, 4, 5]
    """
    of_each = rows_by_label(np.where(answers > 0, labels, -1))
    steps = [max(1, int(answers[rows].sum()) // enough) for rows in of_each]
    if max(steps, default=1) == 1:
        return None
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(rows)[: -(-len(rows) // step)] for rows, step in zip(of_each, steps, strict=True)]
    return np.sort(np.concatenate(drawn))


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
