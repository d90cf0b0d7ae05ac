"""Records of any kind as columns of numbers that a linear model can read, made without a look at who is a member.

Whatever is done here may depend on all records as long as it treats members and non-members alike: the test of the
blind baseline holds for any such columns, and only its power depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist.blind.ridge import cross_fitted, folds
from guestlist.data import as_text
from guestlist.texts import grams, is_free

FEATURES = 1024  # more are drawn at random from
LEVELS, FEWEST = 16, 3  # the values of a category that get a column each: so many, each of so many records
CLIP, LEAST_SPREAD = 4.0, 0.2  # no record far out, and no rare value, weighs more than many others
WIDE, COMPONENTS = 256, 128  # more columns than the first are replaced by so many principal components
TREES = 48


@dataclass(frozen=True)
class Columns:
    """Numbers about records.

    Args:
        values: (records, columns) centred, of about unit spread.
        source: (columns,) which of the user's columns each came from.
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
    """Numbers as they are, categories by their frequent values; a column that is constant is left out."""
    if not isinstance(x, pd.DataFrame):
        x = x.reshape(len(x), -1)
    if x.shape[1] > FEATURES:
        chosen = np.sort(rng.choice(x.shape[1], FEATURES, replace=False))
        x = x.iloc[:, chosen] if isinstance(x, pd.DataFrame) else x[:, chosen]
    if isinstance(x, pd.DataFrame):
        return joined([column_of(x.iloc[:, place]) for place in range(x.shape[1])], len(x))
    if x.dtype.kind in "iufb":
        return _numbers(x.astype(np.float64))
    return columns_of(pd.DataFrame(x).infer_objects(), rng)


def column_of(column: pd.Series) -> Columns:
    """One column of a table: numbers, dates and truth values as numbers, free text by what it is made of, everything else as
    categories."""
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return _numbers((column - column.min()).dt.total_seconds().to_numpy(dtype=np.float64)[:, None])
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return _numbers(column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None])
    return _of_one_source(_numbers(grams(column))) if is_free(column) else categories(as_text(column))


def categories(values: np.ndarray) -> Columns:
    """One column per frequent value."""
    code, levels = pd.factorize(values, sort=True)
    counts = np.bincount(code, minlength=len(levels))
    frequent = np.argsort(-counts, kind="stable")[:LEVELS]
    frequent = frequent[counts[frequent] >= FEWEST]
    return _of_one_source(_numbers((code[:, None] == frequent).astype(np.float64)))


def _of_one_source(columns: Columns) -> Columns:
    return Columns(columns.values, np.zeros_like(columns.source))


def joined(parts: list[Columns], records: int) -> Columns:
    """The columns of several parts side by side, none of the parts sharing a source with another."""
    values, sources, first = [np.empty((records, 0))], [np.empty(0, dtype=np.int64)], 0
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
    """Build what the classifier reads: columns, the label, how surprising it is, and cells of random trees.

    Args:
        label: (records,) a class or, if ``values``, a number.
        groups: name to (records,) texts.
        fold: (records,) a label is expected from records of other folds, so not from other records of its person.
        values: whether labels are numbers.
    """
    given, labels = _given(x, groups), _labels(label, values)
    own = joined([labels, _surprise(given, labels, fold, rng)], len(label))
    straight = np.hstack([given.values, own.values])
    linear = np.hstack([_of_one_weight(straight), _of_one_weight(cells(given, own, rng))])
    return Design(linear, joined([given, own], len(label)))


def plain(
    x: Columns, label: np.ndarray, groups: Mapping[str, np.ndarray], *, values: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(records, columns) the columns, and those of the label: arguments as for :func:`design`."""
    return _given(x, groups).values, _labels(label, values).values


def _given(x: Columns, groups: Mapping[str, np.ndarray]) -> Columns:
    given = joined([x, *map(categories, groups.values())], len(x.values))
    return given if given.values.shape[1] <= WIDE else _principal(given)


def _labels(label: np.ndarray, values: bool) -> Columns:
    return _numbers(label[:, None].astype(np.float64)) if values else categories(label.astype(str).astype(object))


def cells(given: Columns, own: Columns, rng: np.random.Generator) -> np.ndarray:
    """(records, cells) in which cell of each random tree a record falls, centred.

    A tree asks two questions about the columns and one about the label, each a comparison with the value of a random
    record: what a linear model of the columns cannot see, such as labels that fit the features worse on one side.
    """
    asked = [_questions(part, TREES, rng) for part in (given, given, own)]
    found = [cell[:, None] == np.unique(cell) for cell in 4 * asked[0] + 2 * asked[1] + asked[2]]
    indicators = np.hstack(found).astype(np.float64)
    return indicators - indicators.mean(axis=0)


def _questions(part: Columns, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, records) 1 where a random column of a random source is above the value of a random record, or else 0."""
    records, sources = len(part.values), [np.flatnonzero(part.source == one) for one in np.unique(part.source)]
    if not sources:
        return np.zeros((count, records), dtype=np.int64)
    chosen = [rng.choice(sources[place]) for place in rng.integers(len(sources), size=count)]
    columns = part.values[:, chosen].T
    threshold = columns[np.arange(count), rng.integers(records, size=count)][:, None]
    largest = threshold == columns.max(axis=1, keepdims=True)  # nothing is above it
    return ((columns > threshold) | (largest & (columns == threshold))).astype(np.int64)


def _surprise(given: Columns, labels: Columns, fold: np.ndarray, rng: np.random.Generator) -> Columns:
    """How far a label is from what records of other folds, members or not, make one expect: what models find hard."""
    nothing = Columns(np.empty((len(fold), 0)), np.empty(0, dtype=np.int64))
    if not given.values.shape[1] or not labels.values.shape[1]:
        return nothing
    known = np.hstack([_of_one_weight(given.values), _of_one_weight(cells(given, nothing, rng))])
    expected = cross_fitted(folds(known, fold), labels.values.T).T
    return _numbers(np.abs(labels.values - expected).sum(axis=1, keepdims=True))


def _numbers(x: np.ndarray) -> Columns:
    """Columns centred and scaled, far outliers drawn in; a missing number is an average one, and marked as missing."""
    missing = ~np.isfinite(x)
    marked = np.flatnonzero(missing.any(axis=0))
    seen = np.where(missing, 0.0, x)
    # Scaled twice: very large numbers have squares that are too large.
    seen = seen / np.maximum(np.abs(seen).max(axis=0, initial=0.0), np.finfo(float).tiny)
    there = np.maximum((~missing).sum(axis=0), 1)
    seen = np.where(missing, 0.0, seen - seen.sum(axis=0) / there)
    spread = np.sqrt((seen**2).sum(axis=0) / there)
    varies = spread > 1e-12
    seen = np.clip(seen[:, varies] / spread[varies], -CLIP, CLIP)
    mask = missing[:, marked].astype(np.float64)
    mask = (mask - mask.mean(axis=0)) / np.maximum(mask.std(axis=0), LEAST_SPREAD)
    kept = mask.std(axis=0) > 0
    source = np.concatenate([np.flatnonzero(varies), marked[kept]])
    return Columns(np.hstack([seen - seen.mean(axis=0), mask[:, kept]]), source)


def _principal(columns: Columns) -> Columns:
    """The first principal components, each a source of its own."""
    x = columns.values
    if len(x) <= x.shape[1]:
        spread, left = np.linalg.eigh(x @ x.T)
        found = left * np.sqrt(np.maximum(spread, 0.0))
    else:
        found = x @ np.linalg.eigh(x.T @ x)[1]
    found = found[:, ::-1][:, :COMPONENTS]
    return Columns(found / max(found[:, 0].std(), 1e-12), np.arange(found.shape[1]))


def _of_one_weight(x: np.ndarray) -> np.ndarray:
    """The same columns with variances that add up to one, so that of two blocks neither outweighs the other."""
    total = float((x**2).sum() / max(len(x), 1))
    return x / np.sqrt(total) if total > 0 else x
