"""The k smallest of many records, with ties kept together.

Of records with equal values all are named or none, since naming some of them by their ids would be arbitrary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

MAX_P_VALUE = 0.05  # no record with a larger p-value is named

NaturalKey = tuple[tuple[tuple[int, str], ...], str]


@dataclass(frozen=True)
class TopRanked:
    """The first records.

    Attributes:
        rows: Positions of the named records, the first one first.
        tied: Number of records that share each one's values.
        left_out: Number of records that are tied for the next place and too many to name; 0 if all are named.
    """

    rows: np.ndarray = field(repr=False)
    tied: np.ndarray = field(repr=False)
    left_out: int


def top_k_ties(by: Sequence[np.ndarray], names: Sequence, k: int, at_most: int) -> TopRanked:
    """Return the first records by some values, without splitting ties.

    Args:
        by: Arrays (rows,), the first of which decides first; smaller comes first, NaN last.
        names: (rows,) names; records with equal values are in their natural order.
        k: Number of records to name, unless ties reach beyond it.
        at_most: Number of records that may be named including such ties.
    """
    values = np.nan_to_num(np.stack(by).astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
    order = np.lexsort(values[::-1])
    ranked = values[:, order]
    edges = np.flatnonzero(np.concatenate([[True], (ranked[:, 1:] != ranked[:, :-1]).any(axis=0), [True]]))
    rows: list[int] = []
    tied: list[int] = []
    left_out = 0
    for begin, end in pairwise(edges.tolist() if len(order) else ()):
        if len(rows) >= k:
            break
        if end > at_most:
            left_out = end - begin
            break
        rows += sorted(order[begin:end].tolist(), key=lambda row: natural_key(names[row]))
        tied += [end - begin] * (end - begin)
    return TopRanked(np.array(rows, dtype=int), np.array(tied, dtype=int), left_out)


def natural_key(name: object) -> NaturalKey:
    """Return a sort key by which numbers within names count as numbers.

    >>> sorted(["r10", "r9", "r", "q11"], key=natural_key)
    ['q11', 'r', 'r9', 'r10']
    """
    text = str(name)
    parts = re.split("([0-9]+)", text)
    # A number without leading zeros is as large as it is long; of equal length the digits decide.
    keys = [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]
    return tuple(keys), text
