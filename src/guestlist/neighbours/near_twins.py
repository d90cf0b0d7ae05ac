"""Are there non-members that are almost a member? Compared with how near members are to each other.

Of some members and some non-members, the nearest and the second nearest of the *other* members are looked for. A record that
was changed a little, or taken a moment later, is much nearer to its twin than to anything else: the ratio of the two
distances is small, wherever records lie dense or sparse. Members that are looked for are not looked among, so where both
sides are drawn alike their ratios are too, whatever the features are, and a permutation test holds its level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.arrays.threads import one_thread
from guestlist.texts import WIDTH, grams, is_free

QUERIES = 500  # of either side
FEWEST = 15  # queries of either side without which nothing is said
MOST_MEMBERS = 10_000  # that are looked among …
WORK = 5e9  # … and fewer where they have many features: multiplications
USUAL = 0.05  # share of members that are called near to another
SHUFFLES = 999
MOST_WORDS = 100  # of a column; rarer ones are equally far from everything


@dataclass(frozen=True)
class NearDuplicates:
    """How much nearer to a member non-members are than other members.

    Args:
        share: of non-members whose ratio is smaller than that of all but ``USUAL`` of the members.
        nonmembers: how many were looked at.
        p_value: of the hypothesis that both sides are as near to members.
    """

    share: float
    nonmembers: int
    p_value: float


def near_duplicates(members, nonmembers, rng: np.random.Generator) -> NearDuplicates | None:
    """Whether non-members are twins of members more often than members are of each other; None: too few records to say.

    Exact duplicates are left out: they are counted elsewhere.

    Args:
        members, nonmembers: (records, …) arrays, or tables of one form.
        rng: chooses the records that are looked at, and shuffles.
    """
    queries = min(QUERIES, len(members) // 3)
    size = int(np.clip(WORK / (2 * QUERIES * _features(members)), FEWEST, MOST_MEMBERS))
    # Chosen before they are encoded: there may be many records, and of each many words.
    inside = _rows(members, rng.permutation(len(members))[: queries + size])
    points, chosen = _points(inside, _rows(nonmembers, rng.permutation(len(nonmembers))[:QUERIES]))
    among = np.unique(points[queries:], axis=0)
    if len(among) < FEWEST:
        return None
    with one_thread():  # the same bits on any number of cores
        theirs, ours = _ratios(points[:queries], among), _ratios(chosen, among)
    if min(len(theirs), len(ours)) < FEWEST:
        return None
    near = float((ours < np.quantile(theirs, USUAL)).mean())
    return NearDuplicates(near, len(ours), _p_value(ours, theirs, rng))


def _rows(x, records: np.ndarray):
    return x.iloc[records] if isinstance(x, pd.DataFrame) else x[records]


def _features(x) -> int:
    """How many columns the records may have once they are encoded, at least 1."""
    if not isinstance(x, pd.DataFrame):
        return max(int(np.prod(x.shape[1:])), 1) * (1 if x.dtype.kind in "iufb" else max(MOST_WORDS, WIDTH))
    numbers = x.select_dtypes("number").shape[1]
    return max(numbers + max(MOST_WORDS, WIDTH) * (x.shape[1] - numbers), 1)


def _points(members, nonmembers) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as arrays (records, features) on one scale: numbers by their spread, words one-hot, free text by
    what it is made of, what is missing as usual."""
    if isinstance(members, pd.DataFrame):
        both = pd.concat([members, nonmembers], ignore_index=True)
        numbers = both.select_dtypes("number")
        others = [both[name] for name in both.columns if name not in numbers.columns]
        words = [grams(column) if is_free(column) else _one_hot(column) for column in others]
        parts = [_scaled(numbers.to_numpy(dtype=np.float64, na_value=np.nan)), *words]
    elif members.dtype.kind in "iufb":
        flat = np.concatenate([members.reshape(len(members), -1), nonmembers.reshape(len(nonmembers), -1)])
        parts = [_scaled(flat.astype(np.float64))]
    else:
        both = pd.DataFrame(np.concatenate([side.reshape(len(side), -1) for side in (members, nonmembers)]))
        return _points(*(both.infer_objects().iloc[rows] for rows in np.split(np.arange(len(both)), [len(members)])))
    points = np.concatenate(parts, axis=1)
    return points[: len(members)], points[len(members) :]


def _scaled(values: np.ndarray) -> np.ndarray:
    values = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / count, 0.0)
    spread = np.sqrt(np.square(centred).sum(axis=0) / count)
    return centred / np.where(spread > 0, spread, 1.0)


def _one_hot(column: pd.Series) -> np.ndarray:
    """(records, words) columns in which two different words are 1 apart."""
    text = column.astype(object).map(str)
    words = text.value_counts().index[:MOST_WORDS]
    return (text.to_numpy()[:, None] == words.to_numpy()) / np.sqrt(2)


def _ratios(queries: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Distance to the nearest over that to the second nearest; queries that are equal to one of them are left out."""
    squares, found = np.square(among).sum(axis=1), []
    for block in np.array_split(queries, max(1, len(queries) // 100)):
        nearest = np.argpartition(squares - 2 * block @ among.T, 1, axis=1)[:, :2]
        # Anew from the differences: those of near twins are lost in the squares of large numbers.
        found.append(np.sort(np.linalg.norm(block[:, None] - among[nearest], axis=2), axis=1))
    first, second = np.concatenate(found).T
    return (first / np.where(second > 0, second, 1.0))[first > 0]


def _p_value(ours: np.ndarray, theirs: np.ndarray, rng: np.random.Generator) -> float:
    """Of the mean logarithm of ratios, to which a few that are very small count most."""
    scores = -np.log(np.concatenate([ours, theirs]))
    shuffled = rng.permuted(np.tile(scores, (SHUFFLES, 1)), axis=1)[:, : len(ours)].sum(axis=1)
    own = scores[: len(ours)].sum()
    as_large = (shuffled >= own - 1e-9 * abs(own)).sum()  # sums of the same numbers in another order
    return float((1 + as_large) / (1 + SHUFFLES))
