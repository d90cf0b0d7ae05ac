"""Near-duplicates of members among non-members, compared with near-duplicates among members.

For samples of members and non-members, the nearest and second nearest of the *other* members are found. A slightly changed copy
of a record is much nearer to the original than to any other record: the ratio of the two distances is small, in dense and in
sparse regions. Queried members are not in the searched set. So if both sets have the same distribution, their ratios do too,
and a permutation test is valid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.arrays.threads import one_thread
from guestlist.texts import WIDTH, grams, is_free

QUERIES = 500  # members, and non-members, that are queried
FEWEST = 15  # queries per set without which there is no result
MOST_MEMBERS = 10_000  # members that are searched …
WORK = 5e9  # … and fewer if they have many features: multiplications
USUAL = 0.05  # share of members that count as near to another member
SHUFFLES = 999
MOST_WORDS = 100  # categories of a column; rarer ones are equally far from all others


@dataclass(frozen=True)
class NearDuplicates:
    """Near-duplicates of members among non-members.

    Args:
        share: Share of non-members with a smaller ratio than all but ``USUAL`` of the members.
        nonmembers: Number of non-members queried.
        p_value: P-value of the hypothesis that members and non-members are equally near to members.
    """

    share: float
    nonmembers: int
    p_value: float


def near_duplicates(members, nonmembers, rng: np.random.Generator) -> NearDuplicates | None:
    """Test whether non-members are near-duplicates of members more often than other members are.

    Returns None with too few records. Exact duplicates are excluded: they are counted elsewhere.

    Args:
        members, nonmembers: (records, …) arrays, or tables of one form.
        rng: Draws the queried records and the permutations.
    """
    queries = min(QUERIES, len(members) // 3)
    size = int(np.clip(WORK / (2 * QUERIES * _features(members)), FEWEST, MOST_MEMBERS))
    # Records are drawn before they are encoded, because there may be many records with long texts.
    inside = _rows(members, rng.permutation(len(members))[: queries + size])
    points, chosen = _points(inside, _rows(nonmembers, rng.permutation(len(nonmembers))[:QUERIES]))
    references = np.unique(points[queries:], axis=0)
    if len(references) < FEWEST:
        return None
    with one_thread():  # bitwise identical on any number of cores
        member_ratios = _ratios(points[:queries], references)
        nonmember_ratios = _ratios(chosen, references)
    if min(len(member_ratios), len(nonmember_ratios)) < FEWEST:
        return None
    near = float((nonmember_ratios < np.quantile(member_ratios, USUAL)).mean())
    return NearDuplicates(near, len(nonmember_ratios), _p_value(nonmember_ratios, member_ratios, rng))


def _rows(x, records: np.ndarray):
    return x.iloc[records] if isinstance(x, pd.DataFrame) else x[records]


def _features(x) -> int:
    """Return the largest number of columns after encoding, at least 1."""
    if not isinstance(x, pd.DataFrame):
        return max(int(np.prod(x.shape[1:])), 1) * (1 if x.dtype.kind in "iufb" else max(MOST_WORDS, WIDTH))
    numbers = x.select_dtypes("number").shape[1]
    return max(numbers + max(MOST_WORDS, WIDTH) * (x.shape[1] - numbers), 1)


def _points(members, nonmembers) -> tuple[np.ndarray, np.ndarray]:
    """Encode both sets as arrays (records, features): numbers standardised, categories one-hot, text as n-grams.

    Missing numbers are set to the mean.
    """
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
    deviation = np.sqrt(np.square(centred).sum(axis=0) / count)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _one_hot(column: pd.Series) -> np.ndarray:
    """(records, words) columns in which two different words are 1 apart."""
    text = column.astype(object).map(str)
    words = text.value_counts().index[:MOST_WORDS]
    return (text.to_numpy()[:, None] == words.to_numpy()) / np.sqrt(2)


def _ratios(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Divide the distance to the nearest by that to the second nearest; exact duplicates are excluded."""
    squares = np.square(references).sum(axis=1)
    distances = []
    for block in np.array_split(queries, max(1, len(queries) // 100)):
        nearest = np.argpartition(squares - 2 * block @ references.T, 1, axis=1)[:, :2]
        # Recomputed from differences, because squares of large numbers lose the distances of near-duplicates.
        distances.append(np.sort(np.linalg.norm(block[:, None] - references[nearest], axis=2), axis=1))
    first, second = np.concatenate(distances).T
    return (first / np.where(second > 0, second, 1.0))[first > 0]


def _p_value(nonmember_ratios: np.ndarray, member_ratios: np.ndarray, rng: np.random.Generator) -> float:
    """Permutation p-value of the mean log ratio, in which a few very small ratios count most."""
    scores = -np.log(np.concatenate([nonmember_ratios, member_ratios]))
    shuffled = rng.permuted(np.tile(scores, (SHUFFLES, 1)), axis=1)[:, : len(nonmember_ratios)].sum(axis=1)
    observed = scores[: len(nonmember_ratios)].sum()
    as_large = (shuffled >= observed - 1e-9 * abs(observed)).sum()  # sums of the same numbers in another order
    return float((1 + as_large) / (1 + SHUFFLES))
