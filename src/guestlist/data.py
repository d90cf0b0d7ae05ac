"""Records, labels, groups and ids: tables and arrays in, one form inside.

``Data`` keeps the user's features as they are (a DataFrame stays a DataFrame, so that pipelines on raw columns work),
and converts labels, groups and ids to plain arrays. This module does not depend on models.
"""

import copy
import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from guestlist._kernels import optional_take
from guestlist._util import (
    FitParams,
    LazyArray,
    LazyField,
    array,
    check_roles,
    check_unicode,
    is_text,
    lazy_take,
    names_of,
    not_a_text,
    read_table,
    require,
    short_repr,
    without_index,
)
from guestlist.errors import InputError
from guestlist.models.frameworks import framework_of

MISSING = "(missing)"  # group of records without a group value
SPARSE = (
    "{side} is a sparse matrix. Pass a dense array, x.toarray(). If it does not fit into memory, pass the raw records (for "
    "example texts) and a pipeline that encodes them and then predicts."
)
LABELS = (str, bytes, bool, int, float, np.generic, datetime.date)  # element types of records in object arrays


@dataclass(frozen=True)
class Data:
    """Records with their labels, in the order given.

    Attributes:
        x: Features: a (records, …) array, or a DataFrame with one row per record; (records,) if each record is a text.
        y: (records,) labels as you wrote them.
        ids: (records,) names of the records, as text; by default made from their positions.
        groups: Name of a group column to its (records,) values, as text.
        persons: (records,) person identifier of each record, as text; None if every record is a different person.
        marked: (records,) true for records that a game selects, such as canaries; None if it selects none.
        fit_params: Arguments of ``fit`` besides features and labels, if any.

    Raises:
        InputError: If the fields differ in length, or the features are sparse.

    Examples:
        >>> x, y = np.array([[20.0], [30.0], [40.0]]), np.array(["no", "no", "yes"])
        >>> data = gl.Data(x, y, ids=np.array(["a", "b", "c"]), groups={"sex": np.array(["f", "m", "f"])})
        >>> len(data), data.take(np.array([0, 2])).y.tolist()
        (3, ['no', 'yes'])
    """

    x: np.ndarray | pd.DataFrame
    y: np.ndarray
    ids: np.ndarray = LazyField()  # type: ignore[assignment]  # noqa: RUF009
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    persons: np.ndarray | None = None
    marked: np.ndarray | None = None
    fit_params: FitParams | None = None

    def __post_init__(self):
        if hasattr(self.x, "toarray"):
            raise InputError(SPARSE.format(side="x"))
        for name in ("x", "y"):
            values = getattr(self, name)
            if not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0:
                raise InputError(
                    f"{name} must be an array or a table with one row per record; found {short_repr(values)}."
                )
        if vars(self)["ids"] is None:
            object.__setattr__(self, "ids", _made_up_ids("row", len(self.y)))
        lengths = {"x": len(self.x), "y": len(self.y), "ids": len(vars(self)["ids"])}
        lengths |= {f"group {name!r}": len(values) for name, values in self.groups.items()}
        if self.persons is not None:
            lengths["persons"] = len(self.persons)
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
            raise InputError(f"Records, labels, ids, groups and persons must have the same length; found {listed}.")

    def __len__(self) -> int:
        return len(self.y)

    def take(self, records: np.ndarray) -> "Data":
        """Return some of the records, by mask, position or slice."""
        records = _positions(records, len(self))
        ids: Any = lazy_take(vars(self)["ids"], records)
        return Data(
            x=select_rows(self.x, records),
            y=self.y[records],
            ids=ids,
            groups={name: values[records] for name, values in self.groups.items()},
            persons=optional_take(self.persons, records),
            marked=optional_take(self.marked, records),
            fit_params=None if self.fit_params is None else self.fit_params.take(records),
        )

    def copied(self, records: np.ndarray | None = None) -> "Data":
        """Copy all records, or some of them, for a model that may write on its input."""
        if records is None:
            return self.changed(x=copied(self.x))
        some = self.take(records)
        return some.changed(x=_own_objects(some.x))

    @cached_property
    def kinds(self) -> np.ndarray:
        """(records,) numbers of the labels, from 0 in order of first appearance."""
        return pd.factorize(self.y)[0].astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in (vars(self) | {"ids": self.ids}).items() if name != "kinds"}

    def changed(self, **changes: Any) -> Self:
        """Return a copy with some fields changed; unlike ``dataclasses.replace``, without reading the ids."""
        return type(self)(**{**{part.name: vars(self)[part.name] for part in fields(self)}, **changes})


def as_data(
    source,
    *,
    side: str,
    label: str | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
) -> Data:
    """Convert arrays, tables or files into ``Data``.

    Args:
        source: ``Data``; ``(x, y)`` with arrays, DataFrames, or one text per record; a pandas or polars table, or the path of a
            CSV or Parquet file, holding the label in column ``label``; a torch ``Dataset`` or ``DataLoader``.
        side: ``members``, ``nonmembers`` or ``population``; used in messages and in made-up ids.
        label, group, id, person: names of columns. The label, id and person columns are not features; group columns
            stay features (a model that was fitted without them does not get them).
    """
    for name, column in {"label": label, "id": id, "person": person}.items():
        if column is not None and not _is_name(column):
            raise ValueError(f"Expected {name}={short_repr(column)} to be the name of a column.")
    data = _data_of(source, side=side, label=label, group=column_names("group", group), id=id, person=person)
    _check_real(data, side)
    names = [("label", data.y), ("id", vars(data)["ids"]), ("person", data.persons), *data.groups.items()]
    for name, values in names:
        check_unicode(values, f"{name!r} of {side}")
    return data.changed(x=native_byte_order(data.x), y=native_byte_order(_typed(data.y)))


def _typed(y: np.ndarray) -> np.ndarray:
    """Convert an object array of only booleans, or only integers, to that type; return other labels unchanged.

    scikit-learn does not train on object arrays of such labels.
    """
    if not isinstance(y, np.ndarray) or y.dtype != object:
        return y
    kind = {"boolean": bool, "integer": np.int64}.get(pd.api.types.infer_dtype(y, skipna=False), object)
    with suppress(OverflowError):
        return y.astype(kind, copy=False)
    return y


def native_byte_order(values: Any) -> Any:
    """Convert values to the byte order of this machine: pandas and torch read no other."""
    if isinstance(values, pd.DataFrame):
        foreign = {
            n: k.newbyteorder("=") for n, k in values.dtypes.items() if isinstance(k, np.dtype) and not k.isnative
        }
        if foreign:
            return values.astype(foreign)
        return values
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and not kind.isnative:
        return values.astype(kind.newbyteorder("="))
    return values


def _data_of(source, *, side: str, label: str | None, group: Sequence[str], id: str | None, person: str | None) -> Data:
    if isinstance(source, Data):
        _check_one_label(source.y, side)
        return source
    if isinstance(source, (str, Path)):
        source = read_table(source, text=[name for name in (id, person) if name is not None])
    framework = framework_of(source)
    if framework is not None and framework.records is not None:
        source = framework.records(source, label)
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError(f"{side} must be a tuple (x, y); found a tuple of {len(source)}.")
        return _from_arrays(*source, side=side, group=group, id=id, person=person)
    if is_frame(source):
        source = to_pandas(source, side)
    if isinstance(source, pd.DataFrame):
        return _from_table(source, side=side, label=label, group=group, id=id, person=person)
    raise InputError(
        f"Cannot read {side} from an object of type {type(source).__name__}. Pass {side}=(x, y), a path, or a DataFrame with "
        "label='column'."
    )


def _check_one_label(y: Any, side: str) -> None:
    if np.ndim(y) != 1:
        raise InputError(
            f"{side} needs one label per record; found labels shaped {np.shape(y)}. If the model predicts several outputs, "
            "call gl.models.select_output first."
        )


def _check_real(data: Data, side: str) -> None:
    """Refuse complex numbers here, because models would print records in their error messages."""
    kinds: Any = {"the array": getattr(data.x, "dtype", None)}
    if isinstance(data.x, pd.DataFrame):
        kinds = data.x.dtypes
    where = [str(name) for name, kind in kinds.items() if pd.api.types.is_complex_dtype(kind)]
    if where:
        raise InputError(
            f"{side} has complex numbers as features in {', '.join(where)}. Pass their real and imaginary parts as separate "
            "features."
        )


def column_names(name: str, value) -> tuple:
    """Return names of columns as a tuple: one, several, or none."""
    names = value
    if value is None:
        names = ()
    elif _is_name(value):
        names = (value,)
    if not isinstance(names, list | tuple) or not all(map(_is_name, names)):
        raise ValueError(f"Expected {name}={short_repr(value)} to be the name of a column, or a list of names.")
    return tuple(names)


def _is_name(value) -> bool:
    """Return whether a value can name a column: a text, or a number in tables without names."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def without_groups(data: Data, columns: Sequence[str]) -> Data:
    """Return the records without some columns of a table; groups keep their values."""
    if not isinstance(data.x, pd.DataFrame):
        return data
    return data.changed(x=data.x.drop(columns=[name for name in columns if name in data.x.columns]))


def concatenate(parts: Sequence[Data]) -> Data:
    """Concatenate the records of several parts; features must have the same type."""
    first = parts[0]
    if isinstance(first.x, pd.DataFrame):
        x = pd.concat(_common_categories([part.x for part in parts]), ignore_index=True)
    else:
        x = np.concatenate([part.x for part in parts])
    joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "ids")}
    joined["groups"] = {name: np.concatenate([part.groups[name] for part in parts]) for name in first.groups}
    for name in ("persons", "fit_params"):
        known = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        if len(known) not in (0, len(parts)):
            raise InputError(f"Only some of the records have {name}. Pass {name} for all records, or for none.")
        if known and name == "persons":
            joined[name] = np.concatenate(known)
        elif known:
            values = {value: np.concatenate([part.values[value] for part in known]) for value in known[0].values}
            joined[name] = FitParams(known[0].options, values)
    return Data(x=x, **joined)


def ordered_like(data: Data, first: Data) -> Data:
    """Return the records with their columns in the order of ``first``, if both have the same columns."""
    if not isinstance(data.x, pd.DataFrame) or not isinstance(first.x, pd.DataFrame):
        return data
    if set(data.x.columns) == set(first.x.columns):
        return data.changed(x=data.x[first.x.columns])
    return data


def _common_categories(tables: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the tables with common categories: those of the first table, then additional ones.

    Otherwise tables that differ in a rare category would become text or numbers, and train different models.
    """
    first = tables[0]
    for name in [c for c in first.columns if isinstance(first[c].dtype, pd.CategoricalDtype)]:
        known = list(first[name].cat.categories)
        for table in tables[1:]:
            values = table[name].astype("category").cat.categories
            known += [value for value in values if value not in known]
        dtype = pd.CategoricalDtype(known, ordered=first[name].cat.ordered)
        tables = [table.assign(**{name: table[name].astype(dtype)}) for table in tables]
    return tables


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return (records,) the position of each label in ``classes``; -1 for an unknown label."""
    y = native_byte_order(np.asarray(y))
    classes = native_byte_order(np.asarray(classes))
    if y.dtype == bool and classes.dtype.kind in "iuf":
        y = y.astype(classes.dtype)  # scikit-learn's conversion of booleans in nullable columns
    return pd.Index(classes).get_indexer(pd.Index(y))


def _from_arrays(x, y, *, side: str, group: Sequence[str], id: str | None, person: str | None) -> Data:
    if hasattr(x, "toarray"):
        raise InputError(SPARSE.format(side=side))
    ids: Any = None
    if is_frame(x):
        x = to_pandas(x, side)
        ids = _own_index(x)
    if not isinstance(x, pd.DataFrame):
        x = _array(x, side)
    y = _hashable_labels(plain_array(y, f"the labels of {side}"), side)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    _check_one_label(y, side)
    if len(x) != len(y):
        raise InputError(f"{side} has {len(x)} records but {len(y)} labels. Pass one label per record.")
    if not isinstance(x, pd.DataFrame):
        if group or id or person:
            columns = ", ".join(map(str, [*group, *filter(None, [id, person])]))
            raise InputError(
                f"Columns are named ({columns}), but {side} is an array without column names. Pass a table, or gl.Data(x, "
                "y, ids=…, persons=…)."
            )
        return Data(x, y, _made_up_ids(side, len(x)) if ids is None else ids)
    return _features(x, y, side=side, group=group, id=id, person=person)


def _from_table(
    table: pd.DataFrame, *, side: str, label: str | None, group: Sequence[str], id: str | None, person: str | None
) -> Data:
    if label is None:
        raise InputError(
            f"{side} is a table, and its label column is not named. Name it with label= (--label). Its columns are "
            f"{names_of(table)}."
        )
    require(table, [label], side)
    check_roles({"label": label}, id=id, person=person, group=group)
    y = _hashable_labels(np.asarray(table[label]), side)
    return _features(table.drop(columns=label), y, side=side, group=group, id=id, person=person)


def _features(
    x: pd.DataFrame, y: np.ndarray, *, side: str, group: Sequence[str], id: str | None, person: str | None
) -> Data:
    require(x, [*group, *(name for name in (id, person) if name is not None)], side)
    groups = {str(name): as_text(x[name]) for name in group}
    persons = None if person is None else persons_of(x[person], side)
    ids = as_text(x[id]) if id is not None else _own_index(x)
    if ids is None:
        ids = _made_up_ids(side, len(x))
    features = x.drop(columns=list({name for name in (id, person) if name is not None}))
    return Data(x=features.reset_index(drop=True), y=y, ids=ids, groups=groups, persons=persons)


def _own_index(x: pd.DataFrame | pd.Series) -> np.ndarray | None:
    """Return a user-defined index, which identifies records; None for the default index, which only counts rows."""
    if isinstance(x.index, pd.RangeIndex):
        return None
    parts = ("/".join(map(str, value)) if isinstance(x.index, pd.MultiIndex) else str(value) for value in x.index)
    return np.fromiter(parts, dtype=object, count=len(x))


def _array(x, side: str) -> np.ndarray:
    """Return features as an array: (records, …) unchanged, or (records,) texts."""
    # Texts are detected first: numpy would pad all of them to the longest, and convert numbers to text.
    has_objects = isinstance(x, list | tuple) or (isinstance(x, pd.Series | np.ndarray) and x.dtype == object)
    if has_objects and (stray := not_a_text(x)) is not None:
        what = type(x.iloc[stray] if isinstance(x, pd.Series) else x[stray]).__name__
        raise InputError(f"{side} has texts, but record {stray} has none ({what}). Pass one text for each record.")
    if isinstance(x, list | tuple | pd.Series) and is_text(x):
        return pd.Series(x, dtype=object).to_numpy()
    values = plain_array(x, side)
    if values.ndim > 1:
        return values
    if values.ndim == 0 or not is_text(values):
        raise InputError(
            f"{side} features must have the shape (records, features), or be one text per record; found {values.shape}."
        )
    return values.astype(object)


def plain_array(values: Any, name: str) -> np.ndarray:
    """Return an array of the values in their order; the index of a Series is ignored."""
    try:
        return array(name, values)
    except ValueError as error:
        raise InputError(str(error)) from error


def _hashable_labels(y: np.ndarray, side: str) -> np.ndarray:
    """Return labels that can be compared: numbers, texts, booleans; raise otherwise."""
    if y.dtype.kind in "fiubUSM":
        if y.dtype == np.float16:
            return y.astype(np.float64)
        return y
    if y.dtype.kind != "O" or not all(isinstance(label, LABELS) or label is None or label is pd.NA for label in y.flat):
        raise InputError(f"The labels of {side} must be numbers or texts; found {y.dtype}. Convert them.")
    return y


def persons_of(column: pd.Series, side: str) -> np.ndarray:
    """Return the person of each record as text; raise if one is missing."""
    if column.isna().any():
        raise InputError(
            f"Column {column.name!r} is missing for {column.isna().sum()} records of {side}. Fill it in, or drop these records: "
            "without an id, guestlist cannot tell whether they belong to the same person."
        )
    return as_text(column)


def as_text(column: pd.Series) -> np.ndarray:
    """Values as text, with a word for those that are missing."""
    texts = map(str, column.astype(object).where(column.notna(), MISSING).to_numpy(dtype=object))
    values = np.fromiter(texts, dtype=object, count=len(column))
    check_unicode(values, f"Column {column.name!r}")
    return values


def _made_up_ids(side: str, records: int) -> Any:
    return LazyArray(lambda: np.array([f"{side}:{row}" for row in range(records)], dtype=object), records)


def is_frame(value) -> bool:
    """Return whether a value is a table or a column of pandas or polars."""
    return isinstance(value, (pd.DataFrame, pd.Series)) or type(value).__module__.startswith("polars")


def to_pandas(value, side: str) -> Any:
    """Return a table or a column of pandas or polars as that of pandas."""
    if not isinstance(value, (pd.DataFrame, pd.Series)):
        if not hasattr(value, "to_pandas"):
            raise InputError(f"{side} is a {type(value).__name__}, which is lazy. Pass its .collect().")
        value = value.to_pandas()
    if isinstance(value, pd.Series):
        return value
    if isinstance(value.columns, pd.MultiIndex):
        first = short_repr(tuple(value.columns[0])) if len(value.columns) else "none"
        raise InputError(f"{side} has column names with several levels ({first}). Rename the columns to single names.")
    repeated = value.columns[value.columns.duplicated()]
    if len(repeated):
        raise InputError(
            f"{side} has several columns named {', '.join(map(repr, sorted(set(map(str, repeated)))))}. Rename them."
        )
    return without_index(value)


def _positions(records: np.ndarray | slice, length: int) -> np.ndarray:
    """Return positions of records given by mask, position or slice, as a copy: ids are taken later."""
    if not isinstance(records, slice) and not len(records):  # an empty list or array may have any type
        return np.array([], dtype=np.intp)
    return np.arange(length)[records]


def select_rows(x: Any, records: np.ndarray | slice) -> Any:
    """Return some rows of an array or a table."""
    if not isinstance(x, pd.DataFrame):
        return x[records]
    rows = x.iloc[records]
    # If all rows are taken in order, pandas returns the table itself and copies it on write.
    if len(rows) == len(x):
        return rows.copy()
    return rows


def copied(x: np.ndarray | pd.DataFrame) -> np.ndarray | pd.DataFrame:
    """Copy features in their memory layout, so that a model that writes on its input changes no other data.

    Lists and other mutable objects in a table are copied too.
    """
    if isinstance(x, pd.DataFrame):
        return _own_objects(x.copy())
    return _own_objects(np.array(x, order="K"))


# Objects of these types, as pandas names them, cannot be changed in place.
CONSTANTS = {
    *("string", "bytes", "floating", "integer", "mixed-integer-float", "decimal", "complex", "categorical", "boolean"),
    *("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period", "empty"),
}


def _own_objects(x: np.ndarray | pd.DataFrame) -> np.ndarray | pd.DataFrame:
    """Replace objects that can be changed in place, such as lists, by copies; features must be a copy already."""
    if not isinstance(x, pd.DataFrame):
        if x.dtype.hasobject and _changeable(x.ravel()):
            return copy.deepcopy(x)
        return x
    mutable = [
        column for column, kind in enumerate(x.dtypes) if kind.kind == "O" and _changeable(x.iloc[:, column].to_numpy())
    ]
    if mutable:
        x = x.copy(deep=False)
    for column in mutable:
        x.isetitem(column, copy.deepcopy(x.iloc[:, column].to_numpy()))
    return x


def _changeable(values: np.ndarray) -> bool:
    return pd.api.types.infer_dtype(values, skipna=True) not in CONSTANTS
