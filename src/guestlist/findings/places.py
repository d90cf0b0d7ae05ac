"""Who stands first where many stand alike: nobody is named because of the letters of an id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

MAX_P_VALUE = 0.05  # nobody is named whose p-value is larger

Name = tuple[tuple[tuple[int, str], ...], str]


@dataclass(frozen=True)
class TopRanked:
    """The first places.

    Args:
        rows: positions of those that are named, first place first.
        tied: how many share the place of each.
        left_out: how many share the next place, which has more than there is room for; 0 where all are named.
    """

    rows: np.ndarray = field(repr=False)
    tied: np.ndarray = field(repr=False)
    left_out: int


def top_k_ties(by: Sequence[np.ndarray], names: Sequence, room: int, most: int) -> TopRanked:
    """Those who come first, whole places only: of many who share one, naming some would be arbitrary.

    Args:
        by: arrays (rows,), the first of which decides first; smaller comes first, NaN last.
        names: (rows,) those that share a place stand in their natural_key order.
        room: how many are named, unless
        most: those of the place that reaches it are no more than this in all.
    """
    values = np.nan_to_num(np.stack(by).astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
    order = np.lexsort(values[::-1])
    ranked = values[:, order]
    edges = np.flatnonzero(np.concatenate([[True], (ranked[:, 1:] != ranked[:, :-1]).any(axis=0), [True]]))
    rows: list[int] = []
    tied: list[int] = []
    for begin, end in pairwise(edges.tolist() if len(order) else ()):
        if len(rows) >= room:
            break
        if end > most:
            return TopRanked(np.array(rows, dtype=int), np.array(tied, dtype=int), end - begin)
        rows += sorted(order[begin:end].tolist(), key=lambda row: natural_key(names[row]))
        tied += [end - begin] * (end - begin)
    return TopRanked(np.array(rows, dtype=int), np.array(tied, dtype=int), 0)


def natural_key(name: object) -> Name:
    """A key by which numbers within names count as numbers.

    >>> sorted(["r10", "r9", "r", "q11"], key=natural_key)
    ['q11', 'r', 'r9', 'r10']
    """
    text = str(name)
    parts = re.split("([0-9]+)", text)
    # A number is as large as it is long, however long: leading zeros aside.
    keys = [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]
    return tuple(keys), text
