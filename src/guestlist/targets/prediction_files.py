"""Predictions from files, with names of columns that are ours or the user's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.arguments import as_path
from guestlist.data import as_text, persons_of
from guestlist.errors import InputError
from guestlist.reaching import path_exists
from guestlist.store.files import read_npz
from guestlist.tables import check_roles, read_table
from guestlist.targets.predictions import Predictions
from guestlist.targets.scales import Scale, as_scale

# Names under which an npz file may hold the answers, and prefixes of the columns of a table that do.
ANSWERS = {"probabilities": "probabilities", "probs": "probabilities", "logits": "logits", "values": "values"}
PREFIXES = {"p_": "probabilities", "z_": "logits"}
# The column of a table that holds predicted values.
PREDICTED = "predicted"
LABEL, MEMBER = ("label", "labels"), "member"
YES, NO = ("1", "True"), ("0", "False")


@dataclass(frozen=True)
class PredictionColumns:
    """Which columns of a table hold what.

    Args:
        label: the true class or value; by default ``label`` or ``labels``.
        member: true or 1 where the model was trained on the record; by default ``member``.
        answer: one column with the probability of one of two classes, such as ``prob_yes``; or a pattern such as ``prob_{}``
            with the class in the place of the braces; with ``scale="values"`` the predicted value. By default ``p_{}``, ``z_{}``
            (logits) or ``predicted``.
        positive: the class whose probability ``answer`` is, where its name and the labels do not say.
        group, id, person: as for ``audit``.
        labelled: false where the table has no labels: only attacks run that read none.
    """

    label: str | None = None
    member: str = MEMBER
    answer: str | None = None
    positive: str | None = None
    group: tuple[str, ...] = ()
    id: str | None = None
    person: str | None = None
    labelled: bool = True


def read_predictions(
    path: str | Path,
    *,
    scale: Scale | str | None = None,
    label: str | None = None,
    member: str = MEMBER,
    answer: str | None = None,
    positive: str | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    features: str | Path | None = None,
    labelled: bool = True,
) -> Predictions:
    """Predictions from a file.

    ``.npz``: arrays ``probabilities`` (or ``probs``) or ``logits``, ``labels`` (positions), ``member``; ``ids``,
    ``persons`` and ``features`` if any. For regression ``values``; the labels are then the true values.
    ``.csv``, ``.tsv`` and ``.parquet``: the columns of :class:`PredictionColumns`.

    Args:
        features: a .csv, .tsv or .parquet file of what the records hold, in the order of the predictions; if it has the column
            ``id``, matched by that.
    """
    columns = PredictionColumns(label, member, answer, positive, tuple(group), id, person, labelled)
    found = _read(as_path("path", path), scale, columns)
    if features is None:
        return found
    return replace(found, features=_features(as_path("features", features), found, id, person))


def _read(path: Path, scale: Scale | str | None, columns: PredictionColumns) -> Predictions:
    if path.suffix.lower() != ".npz":
        names = [name for name in (columns.id, columns.person) if name is not None]
        return _from_table(path, read_table(path, text=names), scale, columns)
    if columns != PredictionColumns(labelled=columns.labelled):
        raise InputError(
            f"{path} has no columns to take groups, ids, persons or answers from; give a .csv or .parquet file."
        )
    return _from_npz(path, scale, columns.labelled)


def _from_npz(path: Path, scale: Scale | str | None, labelled: bool) -> Predictions:
    if not path_exists(path):
        raise InputError(f"There is no file {path}.")
    try:
        arrays = read_npz(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as npz ({error}).") from error
    found = [name for name in ANSWERS if name in arrays]
    needed = ("labels", "member") if labelled else ("member",)
    if len(found) != 1 or any(name not in arrays for name in needed):
        raise InputError(
            f"Expected the arrays {', '.join(map(repr, needed))} and one of {', '.join(map(repr, ANSWERS))} in {path}, "
            f"found {', '.join(map(repr, arrays))}."
        )
    scale, labels = as_scale(scale or ANSWERS[found[0]]), arrays["labels"] if labelled else None
    if labels is not None and labels.dtype.kind not in ("iu" if scale.has_classes else "iuf"):
        means = "whole numbers, the columns of the answers" if scale.has_classes else "numbers, the true values"
        raise InputError(f"Expected 'labels' in {path} as {means}; found {labels.dtype}.")
    return Predictions(
        answers=arrays[found[0]],
        labels=labels,
        member=arrays["member"],
        scale=scale,
        ids=arrays.get("ids"),
        persons=arrays.get("persons"),
        features=arrays.get("features"),
        labelled=labelled,
    )


def _from_table(path: Path, table: pd.DataFrame, scale: Scale | str | None, columns: PredictionColumns) -> Predictions:
    if not len(table):
        raise InputError(f"{path} has a head ({_names(table)}) and no records below it.")
    label = _label(path, table, columns)
    wanted = [columns.member, *columns.group, *filter(None, [label, columns.id, columns.person])]
    _require(path, table, wanted)
    chosen = None if scale is None else as_scale(scale)
    if chosen is None and columns.answer is None and PREDICTED in table:
        chosen = as_scale("values")
    predicts = chosen is not None and not chosen.has_classes
    answer = columns.answer or (PREDICTED if predicts else None)  # a pattern is no column's name
    own = {"label": label, "member": columns.member, "answer": answer}
    check_roles(own, id=columns.id, person=columns.person, group=columns.group)
    if chosen is not None and not chosen.has_classes:
        answers, classes, labels = _values(path, table, columns.answer or PREDICTED, label), None, None
        labels = None if label is None else _values(path, table, label, label)[:, 0]
    else:
        logits = chosen is not None and chosen.name == "logits"
        answers, classes, default = _answers(path, table, columns, wanted, label, logits)
        labels = None if label is None else _positions(path, table[label], classes)
        chosen = chosen or as_scale(default)
    return Predictions(
        answers=answers,
        labels=labels,
        member=table[columns.member].to_numpy(),
        scale=chosen,
        classes=classes,
        ids=as_text(table[columns.id]) if columns.id else None,
        persons=persons_of(table[columns.person], str(path)) if columns.person else None,
        groups={name: as_text(table[name]) for name in columns.group},
        labelled=columns.labelled,
    )


def _label(path: Path, table: pd.DataFrame, columns: PredictionColumns) -> str | None:
    if not columns.labelled:
        return None
    if columns.label is not None:
        return columns.label
    there = [name for name in LABEL if name in table]
    if len(there) == 1:
        return there[0]
    raise InputError(
        f"The column of the labels of {path} is not named. Name it with label= (--label), or set labelled=False (--no-labels) if "
        f"there is none. Its columns are {_names(table)}."
    )


def _require(path: Path, table: pd.DataFrame, wanted: Sequence[str]) -> None:
    if table.columns.has_duplicates:
        twice = sorted(set(map(str, table.columns[table.columns.duplicated()])))
        raise InputError(f"{path} has several columns named {', '.join(map(repr, twice))}.")
    missing = [name for name in wanted if name not in table]
    if missing:
        hint = " Name the column that marks members with member= (--member)." if MEMBER in missing else ""
        raise InputError(f"{path} lacks the columns {', '.join(map(repr, missing))}; it has {_names(table)}.{hint}")


def _values(path: Path, table: pd.DataFrame, name: str, label: str | None) -> np.ndarray:
    """(records, 1) of a column of numbers."""
    _require(path, table, [name])
    if not pd.api.types.is_numeric_dtype(table[name]):
        raise InputError(f"{path} has columns of values that are not numbers: {name}.")
    return table[name].to_numpy(dtype=np.float64, na_value=np.nan)[:, None]


def _answers(
    path: Path, table: pd.DataFrame, columns: PredictionColumns, wanted: Sequence[str], label: str | None, logits: bool
) -> tuple[np.ndarray, np.ndarray, str]:
    """(records, classes) answers, the classes as text, and the scale that their names tell."""
    if columns.answer is not None and "{}" not in columns.answer:
        answers, classes = _of_one_class(path, table, columns, label, logits)
        return answers, classes, "probabilities"
    patterns = {f"{prefix}{{}}": scale for prefix, scale in PREFIXES.items()}
    if columns.answer is not None:
        patterns = {columns.answer: "probabilities"}
    labels = None if label is None else _spelt(path, table[label])
    found = {pattern: _of_pattern(table, pattern, wanted, labels) for pattern in patterns}
    pattern = next((one for one, classes in found.items() if classes), None)
    if pattern is None:
        lacks = " or ".join(repr(one.replace("{}", "<class>")) for one in patterns)
        raise InputError(
            f"{path} lacks the columns {lacks} for every class; it has {_names(table)}. Say which they are: "
            'with --probability COLUMN, or a pattern such as --probability "prob_{}".'
        )
    scale, names = patterns[pattern], list(found[pattern])
    classes = np.array(list(found[pattern].values()), dtype=object)
    words = [str(name) for name in names if not pd.api.types.is_numeric_dtype(table[name])]
    if words:
        raise InputError(f"{path} has columns of answers that are not numbers: {', '.join(words)}.")
    if len(names) == 1:
        also = " with --scale logits" if scale == "logits" else ""
        raise InputError(
            f"{path} has one column of answers alone, {names[0]!r}, and there are two classes or more. If it is the answer for "
            f"one of two, say --probability {names[0]}{also}."
        )
    if columns.answer is None:
        known = {of for of in classes if of.isdigit()} if labels is None else labels
        _check_unnamed(path, names, classes, known, pattern, scale)
    return table[names].to_numpy(dtype=np.float64, na_value=np.nan), classes, scale


def _of_pattern(table: pd.DataFrame, pattern: str, wanted: Sequence[str], labels: set[str] | None) -> dict[str, str]:
    """Columns that a pattern fits, each with the class that stands in the place of the braces.

    A column of text is no answer, as tidymodels' ``.pred_class``; it is kept, and then refused, if a label is named so.
    """
    start, _, end = pattern.partition("{}")
    fits = re.compile(f"{re.escape(start)}(.+){re.escape(end)}", re.DOTALL)
    matches = {name: fits.fullmatch(str(name)) for name in table.columns if name not in wanted}
    classes = {name: match[1] for name, match in matches.items() if match}
    named = {of for of in classes.values() if of.isdigit()} if labels is None else labels
    return {
        name: of for name, of in classes.items() if of in named or pd.api.types.is_numeric_dtype(table[name])
    } or classes


def _check_unnamed(
    path: Path, names: Sequence[str], classes: np.ndarray, labels: set[str], pattern: str, scale: str
) -> None:
    """Refuse a column like ``z_score`` beside ``z_0`` and ``z_1``: nothing says that it is an answer.

    A class that no record has is one whose name has the form of the others, a whole number.
    """
    unnamed = [str(name) for name, of in zip(names, classes, strict=True) if of not in labels and not of.isdigit()]
    if unnamed and any(of in labels for of in classes):
        also = " with --scale logits" if scale == "logits" else ""
        raise InputError(
            f"{path} has columns that look like answers, but no label is named so: {', '.join(unnamed)}. Rename them, or name "
            f'those that are: --probability "{pattern}"{also} takes all.'
        )


def _of_one_class(
    path: Path, table: pd.DataFrame, columns: PredictionColumns, label: str | None, logits: bool
) -> tuple[np.ndarray, np.ndarray]:
    """From the probability of one of two classes, or its logit."""
    assert columns.answer is not None
    sure = _values(path, table, columns.answer, label)[:, 0]
    if not logits and sure.min() >= 0 and 2 < sure.max() <= 100:  # not where a number is missing, which is told later
        raise InputError(
            f"{path} has {columns.answer!r} up to {sure.max():g}: these look like percentages. Divide them by 100."
        )
    both = np.column_stack([np.zeros(len(sure)) if logits else 1 - sure, sure])
    if label is None:  # nobody's label must be matched with the names of the classes
        named = ("no", "yes") if columns.positive is None else (f"not {columns.positive}", columns.positive)
        return both, np.array(named, dtype=object)
    labels = sorted(set(_words(path, table[label])))
    if len(labels) > 2:
        raise InputError(
            f"{columns.answer!r} is the probability of one of two classes, and {path} has {len(labels)} labels: "
            f'{", ".join(labels[:5])}. Give a pattern, such as --probability "prob_{{}}".'
        )
    positive = columns.positive if columns.positive is not None else _positive(columns.answer, labels)
    if positive is None or (len(labels) == 2 and positive not in labels):
        raise InputError(
            f"Of which class is {columns.answer!r} the probability? The labels are {', '.join(labels)}: say --positive CLASS."
        )
    negative = next((one for one in labels if one != positive), f"not {positive}")
    return both, np.array([negative, positive], dtype=object)


def _positive(answer: str, labels: Sequence[str]) -> str | None:
    """The class that a column's name ends with, or that which is 1, or true."""
    ends = [one for one in labels if answer.endswith(one) and not answer[: -len(one)][-1:].isalnum()]
    yes = [one for one in labels if one in YES]
    rest = [one for one in labels if one not in YES]
    if len(ends) == 1:
        return ends[0]
    return yes[0] if len(yes) == 1 and all(one in NO for one in rest) else None


def _words(path: Path, labels: pd.Series) -> np.ndarray:
    """(records,) labels as the text that a column's name has; a whole number without a point."""
    if labels.isna().any():
        row = int(labels.isna().to_numpy().argmax())
        raise InputError(f"{path} has {labels.isna().sum()} records without a label, first in row {row}.")
    if pd.api.types.is_datetime64_any_dtype(labels) or pd.api.types.is_timedelta64_dtype(labels):
        raise InputError(f"{path} has dates as labels, which name no column of answers: write them as text.")
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(labels.cat.categories.dtype)
    if pd.api.types.is_float_dtype(labels) and (labels == np.floor(labels)).all():
        labels = labels.astype(np.int64)
    return labels.astype(str).to_numpy(dtype=object)


def _spelt(path: Path, labels: pd.Series) -> set[str]:
    """All names that columns of the labels' classes may have: true and false are spelt in several ways."""
    words = set(_words(path, labels))
    return words | {"TRUE", "FALSE", "true", "false", "1", "0"} if pd.api.types.is_bool_dtype(labels) else words


def _positions(path: Path, labels: pd.Series, classes: np.ndarray) -> np.ndarray:
    """(records,) place of each label among the classes. True and false are also 1 and 0, and may be in capitals."""
    words, position = _words(path, labels), {str(one): at for at, one in enumerate(classes)}
    if pd.api.types.is_bool_dtype(labels) and not set(words) <= set(position):
        spelt = {one.capitalize(): at for one, at in position.items()}
        numbers = {"False": position.get("0"), "True": position.get("1")}
        position = spelt if {"True", "False"} <= set(spelt) else {k: v for k, v in numbers.items() if v is not None}
    unknown = sorted({one for one in words if one not in position})
    if unknown:
        shown = ", ".join(unknown[:5])
        raise InputError(
            f"{path} has labels without a column of answers: {shown}. The columns are of {', '.join(map(str, classes))}."
        )
    return np.array([position[one] for one in words])


def _features(path: Path, of: Predictions, id: str | None, person: str | None) -> pd.DataFrame:
    """What the records hold, in the order of the predictions, without the columns that name them."""
    table = read_table(path, text=[name for name in (id, person) if name is not None])
    names = [name for name in (id, person, "member") if name in table]
    if id in table and of.ids is not None:
        index = pd.Index(as_text(table[id]))
        if not index.is_unique:
            raise InputError(f"{path} has several rows of one {id!r}, so predictions cannot be matched with them.")
        rows = index.get_indexer(pd.Index(of.ids))
        if (rows < 0).any():
            first = of.ids[(rows < 0).argmax()]
            raise InputError(f"{path} lacks {(rows < 0).sum()} of {len(rows)} predicted records, first {first!r}.")
        table = table.iloc[rows].reset_index(drop=True)
    elif len(table) != len(of.member):
        raise InputError(
            f"{path} has {len(table)} rows, and there are predictions for {len(of.member)} records: give one row for each, in "
            "the same order, or a column that names them in both (--id)."
        )
    return table.drop(columns=names)


def _names(table: pd.DataFrame) -> str:
    return ", ".join(map(str, table.columns))
