"""Input validation: errors before any long work starts."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from guestlist._util import WIDTH, grams, is_free, one_thread, reason
from guestlist.data import Data, encode, select_rows
from guestlist.errors import AuditError, InputError
from guestlist.models.target import check_labelled, query

QUERIES = 500  # members, and non-members, that are queried
FEWEST = 15  # minimum number of queries per set
MOST_MEMBERS = 10_000  # members that are searched …
WORK = 5e9  # … and fewer if they have many features: multiplications
USUAL = 0.05  # share of members that count as near to another member
SHUFFLES = 999
DATES = "mM"  # NumPy's types of durations and dates
MOST_WORDS = 100  # maximum number of categories of a column; rarer ones are equally far from all others


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
    inside = select_rows(members, rng.permutation(len(members))[: queries + size])
    points, chosen = _points(inside, select_rows(nonmembers, rng.permutation(len(nonmembers))[:QUERIES]))
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
        parts = [
            _scaled(numbers.to_numpy(dtype=np.float64, na_value=np.nan)),
            *(grams(column) if is_free(column) else _one_hot(column) for column in others),
        ]
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
    """Return (records, categories) columns in which two different categories have distance 1."""
    text = column.astype(object).map(str)
    words = text.value_counts().index[:MOST_WORDS]
    return (text.to_numpy()[:, None] == words.to_numpy()) / np.sqrt(2)


def _ratios(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Divide the distance to the nearest record by that to the second nearest; exact duplicates are excluded."""
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
    as_large = (shuffled >= observed - 1e-9 * abs(observed)).sum()  # tolerance for rounding: sums in a different order
    return float((1 + as_large) / (1 + SHUFFLES))


T = TypeVar("T")
COLUMNS = "Pass the columns that it was trained on, with the same types."
# Share of non-members that are also members from which the two sets are not separate.
MOSTLY_DUPLICATES = 0.5
# Share of members or non-members that may be in the population by chance, for any distribution of records.
A_FEW = 0.01
# If at least this number are expected to have no duplicate, chance does not explain fewer than a quarter of them.
ENOUGH = 20


def check_sides(sides: dict[str, Data], classes: np.ndarray) -> None:
    """Check that every set has records of one shape, with labels that the target knows.

    Args:
        sides: Name of each set of records to its records; one is ``members``.
        classes: Labels of the target; empty for regression.

    Raises:
        InputError: If a set is empty, or its features or labels do not fit.
    """
    members = sides["members"]
    for side, data in sides.items():
        if len(data) == 0:
            raise InputError(f"{side} is empty. An audit needs members and non-members.")
        if len(classes):  # regression has no classes and reads its labels as numbers
            _check_labels(side, data, classes)
        _check_same_features(side, data, members)


def check_finite(side: str, data: Data, predict) -> None:
    """Check that the model can read the records with NaN or infinite features, if there are any.

    Args:
        side: Name of the set of records, for messages.
        data: Records of the set.
        predict: Function from features to outputs.

    Raises:
        InputError: If it cannot.
    """
    broken = _not_finite(data.x)
    if not broken.any():
        return
    try:
        query(predict, data.take(np.flatnonzero(broken)[:5]).x)
    except Exception as error:
        raise InputError(
            f"{side} has {broken.sum()} records with NaN or infinite features ({_where(data.x)}), which the model cannot "
            f"read ({reason(error)}). Impute the values, drop the records, or audit the full pipeline including its "
            "preprocessing."
        ) from error


def check_readable(sides: Mapping[str, Data], predict) -> None:
    """Check that the model can read all records, before the slow work and before a folder is created.

    Args:
        sides: Name of each set of records to its records.
        predict: Function from features to outputs.

    Raises:
        InputError: If it cannot read a record, which the message names.
    """
    remedy = getattr(predict, "unreadable", COLUMNS)
    for side, data in sides.items():
        query_records(data, lambda some: query(predict, some.x), side, remedy)


def check_first_records(sides: Mapping[str, Data], predict) -> None:
    """Check that the model can read a few records of each set, if all are queried later, before a folder is created."""
    check_readable({side: data.take(np.arange(min(5, len(data)))) for side, data in sides.items()}, predict)


def query_records(data: Data, ask: Callable[[Data], T], side: str = "these records", remedy: str = COLUMNS) -> T:
    """Return ``ask(data)``; an InputError names the first record that it cannot read.

    Args:
        side: name of the records, for errors that no single record causes.
        remedy: advice if it can read no record.
    """
    try:
        return ask(data)
    except AuditError:
        raise
    except Exception as error:  # a model may raise any exception
        record, cause = _first_unreadable(data, ask, error)
        which = side if record is None else f"record {data.ids[record]}"
        if record == 0 and len(data) > 1 and _fails(data.take(np.array([len(data) - 1])), ask):
            raise InputError(
                f"The model cannot read {side}, neither the first record nor the last ({reason(cause)}). {remedy}"
            ) from error
        raise InputError(
            f"The model cannot read {which} ({reason(cause)}). Fix the value, drop the record, or audit the full pipeline "
            "including its preprocessing."
        ) from error


def _first_unreadable(data: Data, ask: Callable[[Data], T], error: Exception) -> tuple[int | None, Exception]:
    """Return the position and error of the first record that fails, by binary search; None if only several together fail."""
    positions = np.arange(len(data))
    while len(positions) > 1:
        halves = ((half, _fails(data.take(half), ask)) for half in np.array_split(positions, 2))
        failed = next(((half, cause) for half, cause in halves if cause is not None), None)
        if failed is None:
            return None, error
        positions, error = failed
    return int(positions[0]), error


def _fails(data: Data, ask: Callable[[Data], T]) -> Exception | None:
    try:
        ask(data)
    except Exception as error:
        return error
    return None


def members_again(
    hashes: np.ndarray, persons: np.ndarray | None, member: np.ndarray, outside: np.ndarray
) -> np.ndarray:
    """Return (records,) true for non-members that equal a member or belong to the same person as a member.

    Args:
        hashes: (records,) of features and label.
        persons: (records,) person identifiers, if they are known.
        member, outside: (records,) members, and non-members; the others are population.
    """
    again = np.zeros(len(hashes), dtype=bool)
    again[outside] = _are_among(hashes[outside], hashes[member])
    if persons is not None:
        again[outside] |= _are_among(persons[outside], persons[member])
    return again


def _are_among(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return (values,) true for values that are among the others; NaN equals nothing.

    It is eight times as fast as ``np.isin``, which sorts.
    """
    return pd.Series(values).isin(others).to_numpy() & (values == values)


def repeated_in_population(hashes: np.ndarray, member: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Return (records,) true for records of the population that repeat a member or a non-member.

    Records with few values have duplicates by chance: the population about as often as non-members have them among the members,
    after correcting for their numbers. If a set exceeds twice that rate by 1 %, or has less than a quarter of the expected
    records without a duplicate, it was included in the population. Its records are then removed from the population, each as
    often as it occurs in the set. Otherwise reference models without a record would train on its copy.

    Args:
        hashes: (records,) of features and label.
        member, outside: (records,) members, and non-members; the others are population.
    """
    population = ~(member | outside)
    if not population.any():
        return population
    by_nature = _are_among(hashes[outside], hashes[member]).mean()
    expected = 1 - (1 - by_nature) ** (population.sum() / member.sum())
    given_again = np.zeros(len(hashes), dtype=bool)
    for side in (member, outside):
        share = _are_among(hashes[side], hashes[population]).mean()
        without = 1 - expected
        if share > 2 * expected + A_FEW or (without * side.sum() >= ENOUGH and 1 - share < without / 4):
            given_again |= side
    population_hashes = pd.Series(hashes[population])
    times = population_hashes.map(pd.Series(hashes[given_again]).value_counts()).fillna(0)
    repeated = np.zeros(len(hashes), dtype=bool)
    repeated[population] = population_hashes.groupby(population_hashes).cumcount() < times
    return repeated


@dataclass(frozen=True)
class DuplicateCounts:
    """Counts of duplicate and near-duplicate records.

    Args:
        copies: members that are equal to another member.
        members: number of members.
        in_population: members and non-members that are also in the population; None if there is no population.
        removed: records removed from the population because they are members or non-members.
        evaluated: number of members and non-members.
        near: non-members compared with members; None if there are too few.
    """

    copies: int
    members: int
    in_population: int | None
    removed: int
    evaluated: int
    near: NearDuplicates | None


def count_duplicates(
    pool: Data, hashes: np.ndarray, member: np.ndarray, outside: np.ndarray, repeated: np.ndarray
) -> DuplicateCounts:
    """Count duplicates among members, in the population, and near-duplicates across the two sets.

    Args:
        hashes: (records,) of features and label.
        member, outside: (records,) members, and non-members; the others are population.
        repeated: (records,) true for records that are removed from the population.
    """
    evaluated = member | outside
    _, position, counts = np.unique(hashes[member], return_inverse=True, return_counts=True)
    in_population = None
    if not evaluated.all():
        in_population = int(_are_among(hashes[evaluated], hashes[~evaluated]).sum())
    return DuplicateCounts(
        copies=int((counts[position] > 1).sum()),
        members=int(member.sum()),
        in_population=in_population,
        removed=int(repeated.sum()),
        evaluated=int(evaluated.sum()),
        # The seed is fixed: the audit's seed must not change which records are compared.
        near=near_duplicates(pool.take(member).x, pool.take(outside).x, np.random.default_rng(0)),
    )


def check_not_the_same(duplicate: np.ndarray) -> None:
    if duplicate.mean() >= MOSTLY_DUPLICATES:
        raise InputError(
            f"{duplicate.sum()} of {len(duplicate)} non-members are also members, so the model was trained on them. Pass "
            "other non-members, or drop duplicates with duplicates='drop' (--drop-duplicates) if enough remain."
        )


def _check_labels(side: str, data: Data, classes: np.ndarray) -> None:
    check_labelled(data.y, side)
    unknown = encode(data.y, classes) < 0
    if unknown.any():
        counts = Counter(map(_label_text, data.y[unknown])).most_common(5)
        listed = ", ".join(f"{label} ({count} records)" for label, count in counts)
        known = ", ".join(map(_label_text, classes[:10]))
        raise InputError(
            f"{side} has labels that the model was not trained on: {listed}. Its classes are {known}. Fix the labels, or drop "
            "these records."
        )


def _label_text(label) -> str:
    """Return the repr of a label, so that the number 1 and the text '1' differ."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _check_same_features(side: str, data: Data, members: Data) -> None:
    if isinstance(data.x, pd.DataFrame) != isinstance(members.x, pd.DataFrame):
        raise InputError(
            f"members is a {type(members.x).__name__}, but {side} is a {type(data.x).__name__}. Pass both in the same "
            "form."
        )
    if isinstance(data.x, pd.DataFrame) and isinstance(members.x, pd.DataFrame):
        differ = set(data.x.columns).symmetric_difference(members.x.columns)
        if differ:
            raise InputError(
                f"members and {side} differ in the columns {', '.join(sorted(map(str, differ)))}. Pass the same columns in "
                "both."
            )
    elif (data.x.dtype.kind in DATES) != (members.x.dtype.kind in DATES):  # NumPy does not join them
        raise InputError(
            f"members have features of type {members.x.dtype}, but {side} of type {data.x.dtype}. Pass both in the same "
            "form."
        )
    elif data.x.shape[1:] != members.x.shape[1:]:
        raise InputError(
            f"members have features shaped {members.x.shape[1:]}, but {side} {data.x.shape[1:]}. Pass both in the same form."
        )


def _not_finite(x) -> np.ndarray:
    if isinstance(x, pd.DataFrame):
        infinite = np.isinf(x.select_dtypes("number").to_numpy(dtype=np.float64, na_value=np.nan)).any(axis=1)
        return x.isna().any(axis=1).to_numpy() | infinite
    if x.dtype.kind == "f":
        return ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if x.dtype.kind == "O":
        return pd.isna(x.reshape(len(x), -1)).any(axis=1)
    return np.zeros(len(x), bool)


def _where(x) -> str:
    if isinstance(x, pd.DataFrame):
        return "columns " + ", ".join(str(c) for c in x.columns if _not_finite(x[[c]]).any())
    if x.ndim == 1:
        return "missing texts"
    columns = _not_finite(x.reshape(len(x), -1).T)
    return f"feature {int(columns.argmax())}" + (f" and {columns.sum() - 1} others" if columns.sum() > 1 else "")
