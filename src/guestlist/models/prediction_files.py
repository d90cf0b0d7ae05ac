"""Predictions from files, with default or user-defined column names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist._store import read_npz
from guestlist._util import as_path, check_exists, check_roles, names_of, read_table
from guestlist.data import as_text, persons_of
from guestlist.errors import InputError
from guestlist.models.predictions import Predictions
from guestlist.models.scales import Scale, as_scale
from guestlist.models.target import check_labelled

# Names under which an npz file may hold the outputs, and prefixes of the columns of a table that do.
OUTPUTS = {"probabilities": "probabilities", "probs": "probabilities", "logits": "logits", "values": "values"}
PREFIXES = {"p_": "probabilities", "z_": "logits"}
# The column of a table that holds predicted values.
PREDICTED = "predicted"
LABEL = ("label", "labels")
MEMBER = "member"
YES = ("1", "True")
NO = ("0", "False")
_LOGITS_HINT = {"logits": " with --scale logits"}


@dataclass(frozen=True)
class PredictionColumns:
    """Columns of a table of predictions.

    Args:
        label: True class or value; by default ``label`` or ``labels``.
        member: True or 1 if the model was trained on the record; by default ``member``.
        probability: One column with the probability of one of two classes, such as ``prob_yes``; or a pattern such as ``prob_{}``
            with braces for the class; with ``scale="values"`` the predicted value. By default ``p_{}``, ``z_{}`` (logits) or
            ``predicted``.
        positive: Class whose probability ``probability`` is, if its name and the labels do not determine it.
        group, id, person: As for ``audit``.
        labelled: False if the table has no labels: only attacks that read none run.
    """

    label: str | None = None
    member: str = MEMBER
    probability: str | None = None
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
    probability: str | None = None,
    positive: str | None = None,
    group: Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    features: str | Path | None = None,
    labelled: bool = True,
) -> Predictions:
    """Read predictions from a file.

    - ``.npz``: arrays ``probabilities`` (or ``probs``) or ``logits``, ``labels`` (positions), ``member``; ``ids``,
      ``persons`` and ``features`` if any. For regression ``values``; the labels are then the true values.
    - ``.csv``, ``.tsv`` and ``.parquet``: one row per record, with the columns named below.

    Args:
        path: Path of the file.
        scale: Scale of the outputs: ``probabilities``, ``logits`` or ``values``; by default that of the name of the array or
            columns.
        label: Column of the true class or value; by default ``label`` or ``labels``.
        member: Column that is true or 1 if the model was trained on the record.
        probability: Column with the probability of one of two classes, such as ``prob_yes``; or a pattern such as ``prob_{}``
            with braces for the class; with ``scale="values"`` the predicted value. By default ``p_{}``, ``z_{}`` (logits) or
            ``predicted``.
        positive: Class whose probability ``probability`` is, if its name and the labels do not determine it.
        group, id, person: Group columns, column with record ids, and column with person identifiers, as for ``audit``.
        features: A .csv, .tsv or .parquet file of the features of the records, in the order of the predictions, or matched by
            the column ``id`` if it has one.
        labelled: False if the file has no labels: only attacks that read none run.

    Returns:
        The predictions, for ``audit_predictions``.

    Raises:
        InputError: If the file cannot be read, or a column is missing or has unexpected values.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"p_no": [0.9, 0.4], "p_yes": [0.1, 0.6], "label": ["no", "yes"], "member": [1, 0]})
        >>> table.to_csv("predictions.csv", index=False)
        >>> predictions = gl.read_predictions("predictions.csv")
        >>> predictions.classes.tolist(), predictions.labels.tolist()
        (['no', 'yes'], [0, 1])
    """
    columns = PredictionColumns(
        label=label,
        member=member,
        probability=probability,
        positive=positive,
        group=tuple(group),
        id=id,
        person=person,
        labelled=labelled,
    )
    path = as_path("path", path)
    if path.suffix.lower() != ".npz":
        names = [name for name in (id, person) if name is not None]
        predictions = _from_table(path, read_table(path, text=names), scale, columns)
    elif columns != PredictionColumns(labelled=labelled):
        raise InputError(
            f"{path} has no columns to read groups, ids, persons or outputs from. Use a .csv or .parquet file."
        )
    else:
        predictions = _from_npz(path, scale, labelled)
    if features is None:
        return predictions
    return replace(predictions, features=_features(as_path("features", features), predictions, id, person))


def _from_npz(path: Path, scale: Scale | str | None, labelled: bool) -> Predictions:
    check_exists(path)
    try:
        arrays = read_npz(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"Cannot read {path} as npz: {error}. Check that the file is complete and in this format."
        ) from error
    output_names = [name for name in OUTPUTS if name in arrays]
    needed = ["labels", "member"] if labelled else ["member"]
    if len(output_names) != 1 or any(name not in arrays for name in needed):
        raise InputError(
            f"{path} must hold the arrays {', '.join(map(repr, needed))} and one of {', '.join(map(repr, OUTPUTS))}; "
            f"found {', '.join(map(repr, arrays))}."
        )
    scale = as_scale(scale or OUTPUTS[output_names[0]])
    labels = arrays["labels"] if labelled else None
    if labels is not None and scale.has_classes and labels.dtype.kind not in "iu":
        raise InputError(f"'labels' in {path} must be integers, the columns of the outputs; found {labels.dtype}.")
    if labels is not None and labels.dtype.kind not in "iuf":
        raise InputError(f"'labels' in {path} must be numbers, the true values; found {labels.dtype}.")
    return Predictions(
        outputs=arrays[output_names[0]],
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
        raise InputError(f"{path} has column names ({names_of(table)}) but no records. Export the predictions again.")
    label = _label(path, table, columns)
    wanted = [columns.member, *columns.group, *filter(None, [label, columns.id, columns.person])]
    _require(path, table, wanted)
    if scale is None and columns.probability is None and PREDICTED in table:
        scale = "values"
    chosen = None if scale is None else as_scale(scale)
    probability = columns.probability
    if probability is None and chosen is not None and not chosen.has_classes:
        probability = PREDICTED
    roles = {"label": label, "member": columns.member, "probability": probability}
    check_roles(roles, id=columns.id, person=columns.person, group=columns.group)
    labels = None
    if chosen is not None and not chosen.has_classes:
        classes = None
        outputs = _values(path, table, probability or PREDICTED)
        if label is not None:
            labels = _values(path, table, label)[:, 0]
    else:
        logits = chosen is not None and chosen.name == "logits"
        outputs, classes, default = _outputs(path, table, columns, wanted, label, logits)
        if label is not None:
            labels = _positions(path, table[label], classes)
        chosen = chosen or as_scale(default)
    return Predictions(
        outputs=outputs,
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
    present = [name for name in LABEL if name in table]
    if len(present) == 1:
        return present[0]
    raise InputError(
        f"The label column of {path} is not named. Name it with label= (--label), or set labelled=False (--no-labels) if "
        f"there is none. Its columns are {names_of(table)}."
    )


def _require(path: Path, table: pd.DataFrame, wanted: Sequence[str]) -> None:
    if table.columns.has_duplicates:
        repeated = sorted(set(map(str, table.columns[table.columns.duplicated()])))
        raise InputError(f"{path} has several columns named {', '.join(map(repr, repeated))}. Rename them.")
    missing = [name for name in wanted if name not in table]
    if missing:
        message = f"{path} has no column {', '.join(map(repr, missing))}. Its columns are {names_of(table)}."
        if MEMBER in missing:
            message += " Name the column that marks members with member= (--member)."
        raise InputError(message)


def _values(path: Path, table: pd.DataFrame, name: str) -> np.ndarray:
    """Return (records, 1) a column of numbers."""
    _require(path, table, [name])
    if not pd.api.types.is_numeric_dtype(table[name]):
        raise InputError(
            f"Column {name!r} of {path} holds values that are not numbers. Fix them, or drop these records."
        )
    return table[name].to_numpy(dtype=np.float64, na_value=np.nan)[:, None]


def _outputs(
    path: Path, table: pd.DataFrame, columns: PredictionColumns, wanted: Sequence[str], label: str | None, logits: bool
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return (records, classes) outputs, the classes as text, and the scale that the column names suggest."""
    if columns.probability is not None and "{}" not in columns.probability:
        outputs, classes = _binary_outputs(path, table, columns, label, logits)
        return outputs, classes, "probabilities"
    patterns = {f"{prefix}{{}}": scale for prefix, scale in PREFIXES.items()}
    if columns.probability is not None:
        patterns = {columns.probability: "probabilities"}
    labels: set[str] = set()
    if label is not None:
        labels = set(_label_texts(path, table[label]))
        if pd.api.types.is_bool_dtype(table[label]):
            labels |= {"TRUE", "FALSE", "true", "false", "1", "0"}
    matches = {pattern: _pattern_columns(table, pattern, wanted, labels) for pattern in patterns}
    pattern = next((candidate for candidate, classes in matches.items() if classes), None)
    if pattern is None:
        lacks = " or ".join(repr(candidate.replace("{}", "<class>")) for candidate in patterns)
        raise InputError(
            f"{path} has no columns {lacks} for every class. Its columns are {names_of(table)}. Name the columns with "
            'probability= (--probability COLUMN), or with a pattern such as --probability "prob_{}".'
        )
    scale = patterns[pattern]
    names = list(matches[pattern])
    classes = np.array(list(matches[pattern].values()), dtype=object)
    words = [str(name) for name in names if not pd.api.types.is_numeric_dtype(table[name])]
    if words:
        raise InputError(f"{path} has output columns that are not numbers: {', '.join(words)}. Fix their values.")
    if len(names) == 1:
        raise InputError(
            f"{path} has only one output column, {names[0]!r}, for two or more classes. If it is the output for one of "
            f"two classes, pass probability={names[0]!r} (--probability {names[0]}){_LOGITS_HINT.get(scale, '')}."
        )
    # A column like ``z_score`` next to ``z_0`` and ``z_1`` may not be an output. A class without records is accepted if its
    # name is a whole number.
    unnamed = [str(name) for name, label in matches[pattern].items() if label not in labels and not label.isdigit()]
    if columns.probability is None and unnamed and len(unnamed) < len(names):
        raise InputError(
            f"{path} has columns that look like outputs, but match no label: {', '.join(unnamed)}. Rename them, or select "
            f'all of them with probability={pattern!r} (--probability "{pattern}"){_LOGITS_HINT.get(scale, "")}.'
        )
    return table[names].to_numpy(dtype=np.float64, na_value=np.nan), classes, scale


def _pattern_columns(table: pd.DataFrame, pattern: str, wanted: Sequence[str], labels: set[str]) -> dict[str, str]:
    """Return the columns that match a pattern, each with the class at the position of the braces.

    A column of text, such as tidymodels' ``.pred_class``, is not a probability. It is kept, and refused later, if it is
    named after a label, or its class is a whole number.
    """
    start, _, end = pattern.partition("{}")
    fits = re.compile(f"{re.escape(start)}(.+){re.escape(end)}", re.DOTALL)
    matches = {name: fits.fullmatch(str(name)) for name in table.columns if name not in wanted}
    classes = {name: match[1] for name, match in matches.items() if match}
    return {
        name: label
        for name, label in classes.items()
        if label in labels or label.isdigit() or pd.api.types.is_numeric_dtype(table[name])
    } or classes


def _binary_outputs(
    path: Path, table: pd.DataFrame, columns: PredictionColumns, label: str | None, logits: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs for two classes from the probability or logit of one, and the classes."""
    assert columns.probability is not None
    sure = _values(path, table, columns.probability)[:, 0]
    if not logits and sure.min() >= 0 and 2 < sure.max() <= 100:  # a missing number is reported later
        raise InputError(
            f"{path} has {columns.probability!r} up to {sure.max():g}, which looks like percentages. Divide them by 100."
        )
    both = np.column_stack([np.zeros(len(sure)) if logits else 1 - sure, sure])
    if label is None:  # there are no labels to match with the names of the classes
        named = ["no", "yes"]
        if columns.positive is not None:
            named = [f"not {columns.positive}", columns.positive]
        return both, np.array(named, dtype=object)
    labels = sorted(set(_label_texts(path, table[label])))
    if len(labels) > 2:
        raise InputError(
            f"{columns.probability!r} is the probability of one of two classes, but {path} has {len(labels)} labels: "
            f'{", ".join(labels[:5])}. Pass a pattern for the columns of all classes, such as --probability "prob_{{}}".'
        )
    positive = columns.positive
    if positive is None:
        positive = _positive(columns.probability, labels)
    if positive is None or (len(labels) == 2 and positive not in labels):
        raise InputError(
            f"{columns.probability!r} is a probability, but its class is unknown. The labels are {', '.join(labels)}. Pass "
            "positive= (--positive CLASS)."
        )
    negative = next((other for other in labels if other != positive), f"not {positive}")
    return both, np.array([negative, positive], dtype=object)


def _positive(probability: str, labels: Sequence[str]) -> str | None:
    """Return the class at the end of a column's name, or else the class 1 or true."""
    ends = [name for name in labels if probability.endswith(name) and not probability[: -len(name)][-1:].isalnum()]
    if len(ends) == 1:
        return ends[0]
    yes = [name for name in labels if name in YES]
    if len(yes) == 1 and set(labels) <= {*yes, *NO}:
        return yes[0]
    return None


def _label_texts(path: Path, labels: pd.Series) -> np.ndarray:
    """Return (records,) labels as text, as in the names of columns; whole numbers have no decimal point."""
    check_labelled(labels, str(path))
    if pd.api.types.is_datetime64_any_dtype(labels) or pd.api.types.is_timedelta64_dtype(labels):
        raise InputError(f"{path} has dates as labels, which match no output column. Write them as text.")
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(labels.cat.categories.dtype)
    if pd.api.types.is_float_dtype(labels) and (labels == np.floor(labels)).all():
        labels = labels.astype(np.int64)
    return labels.astype(str).to_numpy(dtype=object)


def _positions(path: Path, labels: pd.Series, classes: np.ndarray) -> np.ndarray:
    """Return (records,) the position of each label among the classes. True and false may be 1 and 0, or in capitals."""
    words = _label_texts(path, labels)
    names = [str(name) for name in classes]
    if pd.api.types.is_bool_dtype(labels):
        names = [{"0": "False", "1": "True"}.get(name, name.capitalize()) for name in names]
    position = {name: index for index, name in enumerate(names)}
    unknown = sorted({name for name in words if name not in position})
    if unknown:
        raise InputError(
            f"{path} has labels without an output column: {', '.join(unknown[:5])}. The columns are for "
            f"{', '.join(map(str, classes))}. Add columns for these labels, or drop these records."
        )
    return np.array([position[name] for name in words])


def _features(path: Path, predictions: Predictions, id: str | None, person: str | None) -> pd.DataFrame:
    """Return the features of the records in the order of the predictions, without identifiers."""
    table = read_table(path, text=[name for name in (id, person) if name is not None])
    names = [name for name in (id, person, "member") if name in table]
    if id in table and predictions.ids is not None:
        index = pd.Index(as_text(table[id]))
        if not index.is_unique:
            raise InputError(
                f"{path} has several rows with the same {id!r}, so they cannot be matched with predictions. Use unique ids."
            )
        rows = index.get_indexer(pd.Index(predictions.ids))
        if (rows < 0).any():
            raise InputError(
                f"{path} has no row for {(rows < 0).sum()} of {len(rows)} predicted records, first "
                f"{predictions.ids[(rows < 0).argmax()]!r}. Add these rows."
            )
        table = table.iloc[rows].reset_index(drop=True)
    elif len(table) != len(predictions.member):
        raise InputError(
            f"{path} has {len(table)} rows, but there are predictions for {len(predictions.member)} records. Provide one "
            "row for each in the same order, or an id column in both files: id= (--id)."
        )
    return table.drop(columns=names)
