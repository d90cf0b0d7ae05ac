"""Scan of a model: which training records are stored in it?

The rule, which avoids false reports:

- A stored row equals a member if all its values are equal, up to the rounding of 32-bit floats.
- The row counts only if at least two of its values are shared by at most half of the members.
- An array counts only if chance would hardly match that many of its rows: the probability is at most one in a million
  if every stored row had independent values, each as frequent as it is among the members.
- A single stored value counts only if it is a category or a word that exactly one member has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import binom

from guestlist._util import count, percent, read_table, require, short_repr, single_line
from guestlist.data import Data, as_data, column_names
from guestlist.errors import InputError
from guestlist.models.model_parts import ModelPart, parts_of, parts_of_file

TOLERANCE = 1e-6  # relative; a value stored as a 32-bit float differs by 6e-8
MAX_CHANCE = 1e-6
MAX_SHARE = 0.5  # a value that more members share does not help to recognise a row
MIN_INFORMATIVE = 2
ROWS = "rows"
VALUES = "values"
COLUMNS = ("path", "holds", "stored", "matched", "members", "share")


@dataclass(frozen=True)
class StoredPart:
    """One attribute of a model that stores members.

    Attributes:
        path: Path of attributes from the model, such as ``named_steps.knn._fit_X``.
        holds: ``rows`` (whole records) or ``values`` (categories or words that only one member has).
        stored: Number of rows or values in the attribute.
        matched: Number of them that match members.
        ids: Ids of the members, in their order.
    """

    path: str
    holds: str
    stored: int
    matched: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """Members that are stored in a model.

    Attributes:
        name: Name of the model or its file.
        n_members: Number of members that were searched for.
        parts: Attributes that store members, in the order of the model.

    Examples:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> found = gl.scan(KNeighborsClassifier().fit(*members), members)
        >>> isinstance(found, gl.models.Scan), found.n_members
        (True, 200)
        >>> found.table["path"].tolist()
        ['_fit_X']
    """

    name: str
    n_members: int
    parts: tuple[StoredPart, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per attribute: path, type of content, stored and matched rows or values, members and their share."""
        return pd.DataFrame(
            [
                (part.path, part.holds, part.stored, part.matched, len(part.ids), len(part.ids) / self.n_members)
                for part in self.parts
            ],
            columns=list(COLUMNS),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all members with a row or a value in the model, sorted."""
        return tuple(sorted({name for part in self.parts for name in part.ids}))

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Ids of the members with a whole row in the model, sorted."""
        return tuple(sorted({name for part in self.parts if part.holds == ROWS for name in part.ids}))

    def summary(self) -> str:
        """Return the result in one to three sentences."""
        name = single_line(self.name)
        if not self.parts:
            return (
                f"{name} stores none of the {count(self.n_members)} members: no row and no rare value was found. Attacks may "
                "still identify members from its outputs."
            )
        sentences = []
        rows = len(self.row_ids)
        if rows:
            sentences.append(
                f"{name} stores the rows of {count(rows)} of {count(self.n_members)} members "
                f"({percent(rows / self.n_members)}). Anyone who holds the file can read them."
            )
        values = len({member for part in self.parts if part.holds == VALUES for member in part.ids})
        if values:
            sentences.append(
                f"{name} stores categories or words of {count(values)} of {count(self.n_members)} members that no other "
                "member has."
            )
        return " ".join(sentences)

    def document(self, *, ids: bool = False) -> dict[str, Any]:
        """Return the scan for JSON; ids of members only on request."""
        return {
            "model": self.name,
            "members": self.n_members,
            "members_stored": len(self.ids),
            "rows_stored": len(self.row_ids),
            "parts": [
                {
                    "path": part.path,
                    "holds": part.holds,
                    "stored": part.stored,
                    "matched": part.matched,
                    "members": len(part.ids),
                    **({"ids": list(part.ids)} if ids else {}),
                }
                for part in self.parts
            ],
        }

    def __str__(self) -> str:
        return self.summary()


def scan(
    model: Any,
    members: Any,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
) -> Scan:
    """Search a model for training records that are stored in it.

    Nearest neighbours, support-vector machines, Gaussian processes and other kernel methods store training records, and so do
    encoders and vocabularies. Anyone who holds the model file can read them.

    Args:
        model: Fitted estimator or any other object, or the path of a ``.skops``, ``.onnx``, ``.pt`` or ``.json`` file, or of a
            pickle with ``allow_pickle=True``.
        members: Records that the model was trained on: features, ``(x, y)``, a table, ``gl.Data``, or the path of a table.
        label: Column with the label, which is not a feature.
        id: Column with the record id, which is not a feature.
        drop: Other columns that are not features.
        trust: Types in a ``.skops`` file that may be loaded although they are not scikit-learn's.
        allow_pickle: Open pickles, which can run any code of their author.

    Returns:
        Scan with ``.table`` (one row per attribute that stores members), ``.summary()`` and ``.ids``.

    Raises:
        InputError: If the file or the records cannot be read.

    Examples:
        >>> from sklearn.svm import SVC
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> machine = SVC().fit(*members)
        >>> found = gl.scan(machine, members)
        >>> found.table["path"].tolist(), len(found.ids) == len(machine.support_)
        (['support_vectors_'], True)
        >>> print(gl.scan(model, members))  # a decision tree
        DecisionTreeClassifier stores none of the 200 members: no row and no rare value was found. Attacks may still identify ...
    """
    data = _members(members, label=label, id=id, drop=column_names("drop", drop))
    if isinstance(model, str | Path):
        name = Path(model).name
        parts = parts_of_file(model, data.x, trust=trust, allow_pickle=allow_pickle)
    else:
        name = type(model).__name__
        parts = parts_of(model, data.x)
    return Scan(name=name, n_members=len(data), parts=tuple(filter(None, map(_Search(data).part, parts))))


def search_estimator(model: Any, members: Data) -> Scan | None:
    """Scan a fitted estimator during an audit; None if it cannot be searched.

    Args:
        model: Fitted estimator.
        members: Records in the form that the estimator reads.
    """
    try:
        return scan(model, members)
    except Exception:  # attributes of other packages' estimators can raise anything, and the audit needs no scan
        return None


def _members(source: Any, *, label: str | None, id: str | None, drop: Sequence[str]) -> Data:
    if isinstance(source, str | Path):
        source = read_table(source, text=[name for name in (id,) if name is not None])
    if isinstance(source, pd.DataFrame):
        require(source, drop, "members")
        source = source.drop(columns=list(drop))
    elif drop:
        raise InputError("drop= (--drop) names columns, but members is not a table. Pass a DataFrame or a file.")
    if not isinstance(source, Data) and not hasattr(source, "__len__"):
        raise InputError(
            f"Expected members={short_repr(source)} to be features, (x, y), a table, gl.Data or the path of a table."
        )
    if isinstance(source, Data | tuple) or label is not None:
        data = as_data(source, side="members", label=label, id=id)
    else:
        data = as_data((source, np.zeros(len(source))), side="members", id=id)
    if not len(data):
        raise InputError("members has no records. Pass the records that the model was trained on.")
    return data


class _Search:
    """Search for members in the parts of a model."""

    def __init__(self, data: Data):
        self.data = data
        self.forms: dict[int, tuple[Any, _Form | None]] = {}  # by address, with the object that keeps it

    def part(self, part: ModelPart) -> StoredPart | None:
        """Return the members in one part; None if there are none."""
        if part.values_of == "categories":
            stored, owners = _in_categories(part)
        elif part.values_of == "vocabulary":
            stored, owners = _in_vocabulary(part, len(self.data))
        elif isinstance(part.value, list):
            texts = set(part.value)
            stored = len(texts)
            owners = [self._owners[text] for text in texts if text in self._owners]
        else:
            return self._in_rows(part)
        return self._stored(part, VALUES, stored, len(owners), np.unique(np.array(owners, dtype=np.intp)))

    def _in_rows(self, part: ModelPart) -> StoredPart | None:
        best = None
        for x in part.records:
            if id(x) not in self.forms:
                self.forms[id(x)] = (x, _form_of(x))
            form = self.forms[id(x)][1]
            if form is None:
                continue
            for rows in form.readings(part.value):
                matched, member = form.find(rows)
                candidate = self._stored(part, ROWS, rows.shape[0], matched, member)
                if candidate is not None and (best is None or len(candidate.ids) > len(best.ids)):
                    best = candidate
        return best

    def _stored(self, part: ModelPart, holds: str, stored: int, matched: int, member: np.ndarray) -> StoredPart | None:
        if not matched:
            return None
        ids = tuple(str(name) for name in np.asarray(self.data.ids)[member])
        return StoredPart(path=part.path, holds=holds, stored=stored, matched=matched, ids=ids)

    @cached_property
    def _owners(self) -> dict[str, int]:
        """Text to the position of the only member that has it."""
        columns = [self.data.y]
        if isinstance(self.data.x, pd.DataFrame):
            columns += [self.data.x[name].to_numpy() for name in self.data.x.columns]
        elif self.data.x.dtype.kind in "OU":
            columns += list(self.data.x.reshape(len(self.data), -1).T)
        owners: dict[str, int] = {}
        for column in columns:
            if np.asarray(column).dtype.kind not in "OU":
                continue
            for position, value in enumerate(column):
                if isinstance(value, str) and owners.setdefault(value, position) != position:
                    owners[value] = -1
        return {value: position for value, position in owners.items() if position >= 0}


def _in_categories(part: ModelPart) -> tuple[int, list[int]]:
    """Count the categories of an encoder; return the only owner of each that one member has, column by column."""
    categories = part.value.categories_
    owners: list[int] = []
    for x in reversed(part.records):
        if getattr(x, "ndim", 0) != 2 or x.shape[1] != len(categories) or sparse.issparse(x):
            continue
        table = pd.DataFrame(x)
        for column, known in enumerate(categories):
            values = table.iloc[:, column]
            owners += np.flatnonzero(
                ~values.duplicated(keep=False) & values.notna() & values.isin(list(known))
            ).tolist()
        break
    return sum(map(len, categories)), owners


def _in_vocabulary(part: ModelPart, records: int) -> tuple[int, list[int]]:
    """Count the words of a vocabulary; return the only owner of each that occurs in the text of one member."""
    for x in reversed(part.records):
        try:
            occurs = sparse.csc_matrix(part.value.transform(x) != 0)
        except Exception:  # a vectoriser can raise anything about records that are no texts
            continue
        if occurs.shape[0] == records:
            return len(part.value.vocabulary_), occurs[:, np.diff(occurs.indptr) == 1].indices.tolist()
    return len(part.value.vocabulary_), []


def _form_of(x: Any) -> "_Form | None":
    """Return the records as rows of numbers; None if they are single texts or cannot be rows."""
    if sparse.issparse(x):
        return _Form(sparse.csr_matrix(x, dtype=np.float64), None)
    if isinstance(x, np.ndarray) and x.ndim > 1 and x.dtype.kind == "O":
        x = pd.DataFrame(x).infer_objects()
    if isinstance(x, pd.DataFrame):
        codes = [_codes(x.iloc[:, column]) for column in range(x.shape[1])]
        return _Form(_numbers(x, codes), codes)
    if not isinstance(x, np.ndarray) or x.ndim < 2 or x.dtype.kind not in "biuf":
        return None
    return _Form(np.asarray(x, dtype=np.float64).reshape(len(x), -1), None)


def _codes(column: pd.Series) -> pd.Index | None:
    """Return the categories of a column; None for a column of numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    return pd.Index(column.dropna().unique())


def _numbers(table: pd.DataFrame, codes: Sequence[pd.Index | None]) -> np.ndarray:
    """Return a table as numbers, its categories as positions in ``codes``; -1 for other values."""
    columns = []
    for position, known in enumerate(codes):
        column = table.iloc[:, position]
        if known is None:
            columns.append(pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            columns.append(np.where(column.isna(), np.nan, known.get_indexer(pd.Index(column, dtype=object))))
    return np.column_stack(columns)


class _Index(NamedTuple):
    """Distinct records, the position of each record among them, and their order and values along a random direction."""

    members: Any
    position: np.ndarray
    order: np.ndarray
    keys: np.ndarray


class _Form:
    """Records as rows of numbers, dense or sparse, in which equal rows are found."""

    def __init__(self, rows: Any, codes: Sequence[pd.Index | None] | None):
        self.rows = rows
        self.codes = codes
        self.width = rows.shape[1]
        self.direction = np.random.default_rng(0).normal(size=self.width)

    def readings(self, value: Any) -> Iterator[Any]:
        """Yield the stored value as rows as wide as the records, in every way that fits."""
        if self.width < MIN_INFORMATIVE:
            return
        if isinstance(value, pd.DataFrame):
            if value.shape[1] == self.width and len(value):
                yield _numbers(value, self.codes or [None] * self.width)
            return
        if self.codes is not None and any(known is not None for known in self.codes):
            return
        if sparse.issparse(value):
            yield from _windows(sparse.csr_matrix(value, dtype=np.float64), self.width)
        elif value.ndim == 1:
            if value.size >= 2 * self.width and value.size % self.width == 0:  # several rows, one after another
                yield value.reshape(-1, self.width)
                yield value.reshape(self.width, -1).T
        elif value.size:
            flat = value.reshape(len(value), -1)
            yield from _windows(flat, self.width)
            if flat.shape[0] == self.width:
                yield flat.T
            if value.ndim > 2:
                yield from _windows(value.reshape(-1, value.shape[-1]), self.width)

    def find(self, stored: Any) -> tuple[int, np.ndarray]:
        """Return the number of stored rows that equal records, and the positions of these records."""
        distinct, copies = _distinct(self._scaled(stored))
        match = self._equal(distinct)
        if (match < 0).all():
            return 0, np.array([], dtype=np.intp)
        log_shares, rare_values = self._log_shares
        informative = match >= 0
        informative[informative] = rare_values[match[informative]] >= MIN_INFORMATIVE
        chance = min(1.0, float(np.exp(log_shares).sum()))  # that a row of independent values equals a record
        if binom.sf(informative.sum() - 1, len(match), chance) > MAX_CHANCE:
            informative[:] = False
        positions = np.flatnonzero(np.isin(self._index.position, match[informative]))
        return int(informative[copies].sum()), positions

    def _equal(self, stored: Any) -> np.ndarray:
        """Return the distinct record that each stored row equals, by position; -1 for none.

        Equal rows have equal projections on a random direction, up to rounding, so few pairs are compared.
        """
        index = self._index
        key = _dot(stored, self.direction)
        reach = 4 * TOLERANCE * (_dot(abs(stored), abs(self.direction)) + abs(self.direction).sum())
        first = np.searchsorted(index.keys, key - reach, side="left")
        last = np.searchsorted(index.keys, key + reach, side="right")
        match = np.full(stored.shape[0], -1)
        open_rows = np.flatnonzero(first < last)
        offset = 0
        while open_rows.size:
            candidates = index.order[first[open_rows] + offset]
            same = _same(stored[open_rows], index.members[candidates])
            match[open_rows[same]] = candidates[same]
            offset += 1
            open_rows = open_rows[~same]
            open_rows = open_rows[first[open_rows] + offset < last[open_rows]]
        return match

    def _scaled(self, rows: Any) -> Any:
        if sparse.issparse(rows):
            if sparse.issparse(self.rows):
                return sparse.csr_matrix(rows @ sparse.diags_array(1 / self._scale))
            rows = rows.toarray()
        elif sparse.issparse(self.rows):
            return sparse.csr_matrix(np.nan_to_num(np.asarray(rows, dtype=np.float64)) / self._scale)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.asarray(rows, dtype=np.float64) / self._scale + 0.0  # no negative zeros
        return np.nan_to_num(scaled, nan=MISSING, posinf=-MISSING, neginf=-2 * MISSING)

    @cached_property
    def _scale(self) -> np.ndarray:
        if sparse.issparse(self.rows):
            scale = abs(self.rows).max(axis=0).toarray().ravel()
        else:
            finite = np.where(np.isfinite(self.rows), self.rows, 0.0)
            scale = finite.std(axis=0)
        return np.where(scale > 0, scale, 1.0)

    @cached_property
    def _index(self) -> "_Index":
        members, position = _distinct(self._scaled(self.rows))
        keys = _dot(members, self.direction)
        order = np.argsort(keys, kind="stable")
        return _Index(members, position, order, keys[order])

    @cached_property
    def _log_shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each distinct record, the log of the product of its values' shares, and how many values are rare."""
        records = self.rows.shape[0]
        rows = self._index.members
        total = np.zeros(rows.shape[0])
        rare = np.zeros(rows.shape[0], dtype=int)
        if sparse.issparse(rows):  # a zero is uninformative; any other value counts only as non-zero
            share = np.asarray((self.rows != 0).sum(axis=0)).ravel() / records
            present = rows != 0
            total = _dot(present, np.log(np.maximum(share, 1 / records)))
            return total, _dot(present, (share <= MAX_SHARE).astype(float))
        for column in range(self.width):
            values, value = np.unique(rows[:, column].astype(np.float32), return_inverse=True)
            share = np.bincount(value[self._index.position], minlength=len(values)) / records
            total += np.log(share[value])
            rare += share[value] <= MAX_SHARE
        return total, rare


MISSING = 12345.678  # replaces a missing value; in standard deviations, so that hardly any value is equal


def _windows(rows: Any, width: int) -> Iterator[Any]:
    """Yield rows of one width: all columns, or the first and the last ones, as labels may be stored next to features."""
    if rows.shape[1] == width:
        yield rows
    elif rows.shape[1] > width:
        yield rows[:, :width]
        yield rows[:, -width:]


def _distinct(rows: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct rows, and the position of each row among them."""
    if sparse.issparse(rows):
        rows.eliminate_zeros()
        rows.sort_indices()
        ends = list(zip(rows.indptr[:-1], rows.indptr[1:], strict=True))
        keys = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in ends]
        index, _ = pd.factorize(np.array(keys, dtype=object))
        first = np.unique(index, return_index=True)[1]
        return rows[first], index
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, index = np.unique(as_bytes, return_index=True, return_inverse=True)
    return rows[first], index.ravel()


def _dot(rows: Any, weights: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ weights).ravel()


def _same(rows: Any, others: Any) -> np.ndarray:
    """Return whether rows are equal, pair by pair."""
    excess = abs(rows - others) - TOLERANCE * abs(others)
    if sparse.issparse(excess):
        return excess.max(axis=1).toarray().ravel() <= TOLERANCE
    return (excess <= TOLERANCE).all(axis=1)
