"""Records as numeric columns, and the units (records or persons) whose membership can be permuted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist._baseline.regression import cross_fitted, folds
from guestlist._util import grams, is_free
from guestlist.data import as_text

FEATURES = 1024  # maximum number of features; of more, a random subset is used
LEVELS = 16  # maximum number of values of a category with their own column
MIN_COUNT = 3  # minimum number of records of each such value
# Values are clipped, so that no outlier and no rare value outweighs many other records.
CLIP = 4.0
LEAST_DEVIATION = 0.2
WIDE = 256  # more columns than this are replaced by principal components
COMPONENTS = 128
TREES = 48


@dataclass(frozen=True)
class Columns:
    """Numeric columns of records.

    Attributes:
        values: (records, columns) centred, with about unit variance.
        source: (columns,) number of the original column of each.
    """

    values: np.ndarray
    source: np.ndarray

    @property
    def sources(self) -> int:
        return len(np.unique(self.source))


class Design(NamedTuple):
    """Numbers that the classifier reads.

    Attributes:
        linear: (records, columns) of the ridge regression.
        combined: Columns whose squares and products are its second-order terms.
    """

    linear: np.ndarray
    combined: Columns


def columns_of(x: np.ndarray | pd.DataFrame, rng: np.random.Generator) -> Columns:
    """Convert features: numbers unchanged, categories by their frequent values; constant columns are omitted."""
    if not isinstance(x, pd.DataFrame):
        x = x.reshape(len(x), -1)
    if x.shape[1] > FEATURES:
        chosen = np.sort(rng.choice(x.shape[1], FEATURES, replace=False))
        x = x.iloc[:, chosen] if isinstance(x, pd.DataFrame) else x[:, chosen]
    if isinstance(x, pd.DataFrame):
        return joined([column_of(x.iloc[:, number]) for number in range(x.shape[1])], len(x))
    if x.dtype.kind in "iufb":
        return _standardised_numbers(x.astype(np.float64))
    return columns_of(pd.DataFrame(x).infer_objects(), rng)


def column_of(column: pd.Series) -> Columns:
    """Convert a column: numbers, dates and booleans to numbers, free text to n-grams, others to categories."""
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return _standardised_numbers((column - column.min()).dt.total_seconds().to_numpy(dtype=np.float64)[:, None])
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return _standardised_numbers(column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None])
    if is_free(column):
        return _of_one_source(_standardised_numbers(grams(column)))
    return categories(as_text(column))


def categories(values: np.ndarray) -> Columns:
    """Return one column per frequent value."""
    code, levels = pd.factorize(values, sort=True)
    counts = np.bincount(code, minlength=len(levels))
    frequent = np.argsort(-counts, kind="stable")[:LEVELS]
    frequent = frequent[counts[frequent] >= MIN_COUNT]
    return _of_one_source(_standardised_numbers((code[:, None] == frequent).astype(np.float64)))


def _of_one_source(columns: Columns) -> Columns:
    return Columns(columns.values, np.zeros_like(columns.source))


def joined(parts: list[Columns], records: int) -> Columns:
    """Concatenate the columns of several parts; no two parts share a source."""
    values = [np.empty((records, 0))]
    sources = [np.empty(0, dtype=np.int64)]
    first = 0
    for part in parts:
        values.append(part.values)
        sources.append(np.unique(part.source, return_inverse=True)[1] + first)
        first += part.sources
    return Columns(np.hstack(values), np.concatenate(sources))


def design(
    x: Columns,
    label: np.ndarray,
    groups: Mapping[str, np.ndarray],
    fold: np.ndarray,
    *,
    values: bool,
    rng: np.random.Generator,
) -> Design:
    """Build the inputs of the classifier: columns, the label, its surprise, and cells of random trees.

    Args:
        x: Columns of the features.
        label: (records,) a class or, if ``values``, a number.
        groups: Name to (records,) texts.
        fold: (records,) numbers. A label is predicted from records of other folds, so not from those of the same person.
        values: True if labels are numbers.
        rng: Random generator.
    """
    features = _feature_columns(x, groups)
    labels = _label_columns(label, values)
    label_part = joined([labels, _surprise(features, labels, fold, rng)], len(label))
    untransformed = np.hstack([features.values, label_part.values])
    linear = np.hstack([_unit_total_variance(untransformed), _unit_total_variance(cells(features, label_part, rng))])
    return Design(linear, joined([features, label_part], len(label)))


def feature_and_label_columns(
    x: Columns, label: np.ndarray, groups: Mapping[str, np.ndarray], *, values: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return (records, columns) of features and groups, and of the label; arguments as for :func:`design`."""
    return _feature_columns(x, groups).values, _label_columns(label, values).values


def _feature_columns(x: Columns, groups: Mapping[str, np.ndarray]) -> Columns:
    columns = joined([x, *map(categories, groups.values())], len(x.values))
    if columns.values.shape[1] <= WIDE:
        return columns
    return _principal(columns)


def _label_columns(label: np.ndarray, values: bool) -> Columns:
    if values:
        return _standardised_numbers(label[:, None].astype(np.float64))
    return categories(label.astype(str).astype(object))


def cells(features: Columns, labels: Columns, rng: np.random.Generator) -> np.ndarray:
    """Return (records, cells) centred indicators of the cell of each random tree that a record is in.

    A tree has two splits on the columns and one on the label, each at the value of a random record. Cells capture interactions
    that a linear model of the columns misses, such as labels that fit the features worse for non-members.
    """
    splits = [_random_splits(part, TREES, rng) for part in (features, features, labels)]
    by_tree = [cell[:, None] == np.unique(cell) for cell in 4 * splits[0] + 2 * splits[1] + splits[2]]
    indicators = np.hstack(by_tree).astype(np.float64)
    return indicators - indicators.mean(axis=0)


def _random_splits(part: Columns, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return (count, records): 1 where a random column of a random source exceeds its value for a random record, else 0."""
    records = len(part.values)
    sources = [np.flatnonzero(part.source == number) for number in np.unique(part.source)]
    if not sources:
        return np.zeros((count, records), dtype=np.int64)
    chosen = [rng.choice(sources[number]) for number in rng.integers(len(sources), size=count)]
    columns = part.values[:, chosen].T
    threshold = columns[np.arange(count), rng.integers(records, size=count)][:, None]
    largest = threshold == columns.max(axis=1, keepdims=True)  # nothing is above it
    return ((columns > threshold) | (largest & (columns == threshold))).astype(np.int64)


def _surprise(features: Columns, labels: Columns, fold: np.ndarray, rng: np.random.Generator) -> Columns:
    """Return the distance of a label from its prediction by records of other folds: models find such records hard."""
    empty = Columns(np.empty((len(fold), 0)), np.empty(0, dtype=np.int64))
    if not features.values.shape[1] or not labels.values.shape[1]:
        return empty
    predictors = np.hstack([_unit_total_variance(features.values), _unit_total_variance(cells(features, empty, rng))])
    expected = cross_fitted(folds(predictors, fold), labels.values.T).T
    return _standardised_numbers(np.abs(labels.values - expected).sum(axis=1, keepdims=True))


def _standardised_numbers(x: np.ndarray) -> Columns:
    """Centre and scale columns, and clip outliers; missing values become the mean, with an indicator column."""
    missing = ~np.isfinite(x)
    with_missing = np.flatnonzero(missing.any(axis=0))
    values = np.where(missing, 0.0, x)
    # Columns are first scaled by their maximum, since the squares of very large numbers overflow.
    values = values / np.maximum(np.abs(values).max(axis=0, initial=0.0), np.finfo(float).tiny)
    count = np.maximum((~missing).sum(axis=0), 1)
    values = np.where(missing, 0.0, values - values.sum(axis=0) / count)
    deviation = np.sqrt((values**2).sum(axis=0) / count)
    varies = deviation > 1e-12
    values = np.clip(values[:, varies] / deviation[varies], -CLIP, CLIP)
    mask = missing[:, with_missing].astype(np.float64)
    mask = (mask - mask.mean(axis=0)) / np.maximum(mask.std(axis=0), LEAST_DEVIATION)
    mask_varies = mask.std(axis=0) > 0
    source = np.concatenate([np.flatnonzero(varies), with_missing[mask_varies]])
    return Columns(np.hstack([values - values.mean(axis=0), mask[:, mask_varies]]), source)


def _principal(columns: Columns) -> Columns:
    """Return the first principal components, each with its own source."""
    x = columns.values
    if len(x) <= x.shape[1]:
        squares, vectors = np.linalg.eigh(x @ x.T)
        components = vectors * np.sqrt(np.maximum(squares, 0.0))
    else:
        components = x @ np.linalg.eigh(x.T @ x)[1]
    components = components[:, ::-1][:, :COMPONENTS]
    return Columns(components / max(components[:, 0].std(), 1e-12), np.arange(components.shape[1]))


def _unit_total_variance(x: np.ndarray) -> np.ndarray:
    """Scale columns so that their variances add up to 1: no block of columns outweighs another."""
    total = float((x**2).sum() / max(len(x), 1))
    if total > 0:
        return x / np.sqrt(total)
    return x


# Equal records count as copies if fewer of their pairs than this share of the expected number have exactly one member.
RARELY_ACROSS = 0.5


def units_of(member: np.ndarray, persons: np.ndarray | None, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted positions of the distinct records, and the numbers of their units.

    Units are persons if they are known. Otherwise they are records, and copies of a record are one unit. In a table
    with few columns, records can be equal by chance, and their membership is then independent; copies of a member are
    all members. Among equal records of a unit, one member and one non-member count.

    Args:
        member: (records,) true for members.
        persons: (records,) person identifiers, or None.
        hashes: (records,) equal for equal records.
    """
    equal = np.unique(hashes, return_inverse=True)[1]
    if persons is not None:
        unit = np.unique(persons, return_inverse=True)[1]
    elif _are_copies(equal, member):
        unit = equal
    else:
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

    It returns at most ``limit`` members plus those of one unit, and the same for non-members.
    """
    rank = rng.permutation(unit.max() + 1)[unit]  # rank of each record's unit in a random order
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
    """Draw (count, records) permutations of membership, as likely as the observed labels under exchangeability.

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
