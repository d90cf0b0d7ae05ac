"""What a model answered, from arrays or from files: all that there is of some models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.data import as_text, encode, persons_of, read_table
from guestlist.errors import InputError
from guestlist.store.files import read_npz
from guestlist.targets.scales import Probabilities, Scale, as_scale

# Names under which an npz file may hold the answers, and prefixes of the columns of a table that do.
ANSWERS = {"probabilities": "probabilities", "probs": "probabilities", "logits": "logits", "values": "values"}
PREFIXES = {"p_": "probabilities", "z_": "logits"}
# The column of a table that holds predicted values.
PREDICTED = "predicted"


@dataclass(frozen=True)
class Predictions:
    """What a model answered about records whose membership is known.

    Args:
        answers: (records, classes) probabilities or logits; (records,) or (records, 1) predicted values.
        labels: (records,) true class, as a position in ``classes``; or the true value.
        member: (records,) true where the model was trained on the record.
        scale: ``probabilities``, ``logits`` or ``values``.
        persons: (records,) whose record each is; None: each is a person of its own.
        features: what the records hold, an array (records, …) or a table, in the same order. No attack reads them: they tell
            whether members differ from non-members without the model. None: they are not known.
    """

    answers: np.ndarray
    labels: np.ndarray
    member: np.ndarray
    scale: Scale = field(default_factory=Probabilities)  # or its name
    classes: np.ndarray | None = None
    ids: np.ndarray | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    persons: np.ndarray | None = None
    features: np.ndarray | pd.DataFrame | None = None

    def __post_init__(self):
        object.__setattr__(self, "scale", as_scale(self.scale))
        if not self.scale.has_classes and self.answers.ndim == 1:
            object.__setattr__(self, "answers", self.answers[:, None])
        if not self.scale.has_classes and self.answers.shape[1:] != (1,):
            raise InputError(f"Expected one predicted value per record, found answers shaped {self.answers.shape}.")
        if self.scale.has_classes and (self.answers.ndim != 2 or self.answers.shape[1] < 2):
            raise InputError(
                f"Expected answers shaped (records, classes) with two classes or more, found {self.answers.shape}."
            )
        records = len(self.answers)
        given = {"labels": self.labels, "member": self.member, **self.groups}
        known = {"ids": self.ids, "persons": self.persons}
        for name, values in {**given, **{name: v for name, v in known.items() if v is not None}}.items():
            if np.shape(values) != (records,):
                raise InputError(
                    f"Expected {records} values of {name!r}, one per answer, found shape {np.shape(values)}."
                )
        if self.features is not None and len(self.features) != records:
            raise InputError(f"Expected features of {records} records, one per answer, found {len(self.features)}.")
        self._check_labels()
        if self.member.all() or not self.member.any():
            side = "members" if self.member.all() else "non-members"
            raise InputError(f"All {records} records are {side}: an audit compares both.")
        self.scale.check(self.answers)

    def take(self, records: np.ndarray) -> Predictions:
        """Some of the records, by position."""
        return replace(
            self,
            answers=self.answers[records],
            labels=self.labels[records],
            member=self.member[records],
            ids=None if self.ids is None else self.ids[records],
            groups={name: values[records] for name, values in self.groups.items()},
            persons=None if self.persons is None else self.persons[records],
            features=_rows(self.features, records),
        )

    def _check_labels(self) -> None:
        if not self.scale.has_classes:
            if not np.isfinite(self.labels).all():
                raise InputError(f"{(~np.isfinite(self.labels)).sum()} true values are NaN or infinite.")
            return
        classes = self.answers.shape[1]
        outside = (self.labels < 0) | (self.labels >= classes)
        if outside.any():
            first = outside.argmax()
            raise InputError(
                f"{outside.sum()} labels are not in 0 … {classes - 1}, first {self.labels[first]} in row {first}."
            )

    @property
    def positions(self) -> np.ndarray:
        """(records,) positions of the true classes; a regression has one class."""
        return self.labels if self.scale.has_classes else np.zeros(len(self.labels), dtype=np.int64)


def read_predictions(
    path: str | Path,
    *,
    scale: Scale | str | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    features: str | Path | None = None,
) -> Predictions:
    """Predictions from a file.

    ``.npz``: arrays ``probabilities`` (or ``probs``) or ``logits``, ``labels`` (positions), ``member``; ``ids``,
    ``persons`` and ``features`` if any.
    ``.csv`` and ``.parquet``: columns ``label`` and ``member``, and one column per class, named ``p_<class>``
    (probabilities) or ``z_<class>`` (logits). For regression, an array ``values``, or a column ``predicted``; the labels
    are then the true values.

    Args:
        features: a .csv or .parquet file of what the records hold, in the order of the predictions; if it has the column
            ``id``, matched by that.
    """
    found = _read(Path(path), scale, group, id, person)
    return found if features is None else replace(found, features=_features(Path(features), found, id, person))


def _read(
    path: Path, scale: Scale | str | None, group: Sequence[str], id: str | None, person: str | None
) -> Predictions:
    if path.suffix.lower() == ".npz":
        if group or id or person:
            raise InputError(
                f"{path} has no columns to take groups, ids or persons from; give a .csv or .parquet file."
            )
        return _from_npz(path, scale)
    return _from_table(
        path, read_table(path, text=[name for name in (id, person) if name is not None]), scale, group, id, person
    )


def _from_npz(path: Path, scale: Scale | str | None) -> Predictions:
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        arrays = read_npz(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as npz ({error}).") from error
    found = [name for name in ANSWERS if name in arrays]
    missing = [name for name in ("labels", "member") if name not in arrays]
    if len(found) != 1 or missing:
        raise InputError(
            f"Expected the arrays 'labels', 'member' and one of {', '.join(map(repr, ANSWERS))} in {path}, "
            f"found {', '.join(map(repr, arrays))}."
        )
    labels, scale = arrays["labels"], as_scale(scale or ANSWERS[found[0]])
    if labels.dtype.kind not in ("iu" if scale.has_classes else "iuf"):
        if not scale.has_classes:
            raise InputError(f"Expected 'labels' in {path} as numbers, the true values; found {labels.dtype}.")
        raise InputError(
            f"Expected 'labels' in {path} as whole numbers, the columns of the answers; found {labels.dtype}."
        )
    return Predictions(
        answers=np.asarray(arrays[found[0]], dtype=np.float64),
        labels=labels.astype(np.int64 if scale.has_classes else np.float64),
        member=_as_bool(arrays["member"], path),
        scale=scale,
        ids=arrays["ids"].astype(str).astype(object) if "ids" in arrays else None,
        persons=arrays["persons"].astype(str).astype(object) if "persons" in arrays else None,
        features=arrays.get("features"),
    )


def _from_table(
    path: Path,
    table: pd.DataFrame,
    scale: Scale | str | None,
    group: Sequence[str],
    id: str | None,
    person: str | None,
) -> Predictions:
    wanted = ["label", "member", *group, *filter(None, [id, person])]
    missing = [name for name in wanted if name not in table]
    predicts = PREDICTED in table if scale is None else not as_scale(scale).has_classes
    if predicts:
        return _values_from_table(path, table, missing, group, id, person)
    prefix = next((p for p in PREFIXES if any(str(c).startswith(p) for c in table.columns)), None)
    if missing or prefix is None:
        lacks = [*map(repr, missing), *([] if prefix else ["'p_<class>' or 'z_<class>' for every class"])]
        raise InputError(f"{path} lacks the columns {', '.join(lacks)}; it has {', '.join(map(str, table.columns))}.")
    columns = [c for c in table.columns if str(c).startswith(prefix) and c not in wanted]
    words = [str(c) for c in columns if not pd.api.types.is_numeric_dtype(table[c])]
    if words:
        raise InputError(f"{path} has columns of answers that are not numbers: {', '.join(words)}.")
    classes = np.array([str(c).removeprefix(prefix) for c in columns])
    labels = encode(table["label"].astype(str).to_numpy(dtype=object), classes.astype(object))
    if (labels < 0).any():
        unknown = sorted(set(table["label"].astype(str)[labels < 0]))[:5]
        raise InputError(f"{path} has labels without a column {prefix}<label>: {', '.join(unknown)}.")
    return Predictions(
        answers=table[columns].to_numpy(dtype=np.float64),
        labels=labels,
        member=_as_bool(table["member"].to_numpy(), path),
        scale=as_scale(scale or PREFIXES[prefix]),
        classes=classes,
        ids=as_text(table[id]) if id else None,
        persons=persons_of(table[person], str(path)) if person else None,
        groups={name: as_text(table[name]) for name in group},
    )


def _values_from_table(path: Path, table: pd.DataFrame, missing: list[str], group, id, person) -> Predictions:
    """Predicted values and true ones, from columns ``predicted`` and ``label``."""
    missing = [*missing, *([] if PREDICTED in table else [PREDICTED])]
    if missing:
        lacks = ", ".join(map(repr, missing))
        raise InputError(f"{path} lacks the columns {lacks}; it has {', '.join(map(str, table.columns))}.")
    words = [name for name in (PREDICTED, "label") if not pd.api.types.is_numeric_dtype(table[name])]
    if words:
        raise InputError(f"{path} has columns of values that are not numbers: {', '.join(words)}.")
    return Predictions(
        answers=table[PREDICTED].to_numpy(dtype=np.float64),
        labels=table["label"].to_numpy(dtype=np.float64),
        member=_as_bool(table["member"].to_numpy(), path),
        scale=as_scale("values"),
        ids=as_text(table[id]) if id else None,
        persons=persons_of(table[person], str(path)) if person else None,
        groups={name: as_text(table[name]) for name in group},
    )


def _features(path: Path, of: Predictions, id: str | None, person: str | None) -> pd.DataFrame:
    """What the records hold, in the order of the predictions, without the columns that name them."""
    table = read_table(path, text=[name for name in (id, person) if name is not None])
    names = [name for name in (id, person, "member") if name in table]
    if id in table and of.ids is not None:
        place = pd.Index(as_text(table[id]))
        if not place.is_unique:
            raise InputError(f"{path} has several rows of one {id!r}, so predictions cannot be matched with them.")
        rows = place.get_indexer(pd.Index(of.ids))
        if (rows < 0).any():
            first = of.ids[(rows < 0).argmax()]
            raise InputError(f"{path} lacks {(rows < 0).sum()} of {len(rows)} predicted records, first {first!r}.")
        table = table.iloc[rows].reset_index(drop=True)
    elif len(table) != len(of.labels):
        raise InputError(
            f"{path} has {len(table)} rows, and there are predictions for {len(of.labels)} records: give one row for each, in "
            "the same order, or a column that names them in both (--id)."
        )
    return table.drop(columns=names)


def _rows(features: np.ndarray | pd.DataFrame | None, records: np.ndarray) -> np.ndarray | pd.DataFrame | None:
    if features is None:
        return None
    return features.iloc[records].reset_index(drop=True) if isinstance(features, pd.DataFrame) else features[records]


def _as_bool(values: np.ndarray, path: Path) -> np.ndarray:
    if not np.isin(values, [0, 1]).all():
        found = ", ".join(sorted({str(v) for v in values[~np.isin(values, [0, 1])]})[:5])
        raise InputError(f"Expected 'member' in {path} to hold true/false or 1/0, found {found}.")
    return values.astype(bool)
