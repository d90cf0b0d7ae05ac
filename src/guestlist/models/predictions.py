"""Predictions of a model: the only input if the model itself is not available."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from guestlist._util import flag, numbers, short_repr
from guestlist.data import as_text, is_frame, plain_array, to_pandas
from guestlist.errors import InputError
from guestlist.models.scales import Probabilities, Scale, as_scale


@dataclass(frozen=True)
class Predictions:
    """Outputs of a model for records whose membership is known.

    Arrays are read row by row: the index of a Series is ignored. Missing values are refused, except in groups.

    Attributes:
        outputs: (records, classes) probabilities or logits; (records,) or (records, 1) predicted values.
        labels: (records,) true class, as a position in ``classes``; or the true value. None if the true classes are not known.
        member: (records,) true if the model was trained on the record.
        scale: ``probabilities``, ``logits`` or ``values``.
        classes: Labels, one per column of the outputs; by default 0, 1, ….
        ids: (records,) identifiers of records; by default their positions.
        groups: Name of a group column to its (records,) values.
        persons: (records,) person identifiers; None if each record is a different person.
        features: Features of the records, an array (records, …) or a table, in the same order; None if they are not known. No
            attack reads them: they show whether members differ from non-members without the model.
        labelled: False if the true classes are not known: ``labels`` is then the predicted class, and only attacks that read
            no label run.

    Raises:
        InputError: If shapes, labels or values do not fit together, or all records are members or all are non-members.

    Examples:
        >>> probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
        >>> predictions = gl.Predictions(probabilities, labels=[0, 1, 1], member=[True, True, False])
        >>> predictions.member.tolist(), predictions.scale.name
        ([True, True, False], 'probabilities')
    """

    outputs: np.ndarray
    labels: Any  # an array after __init__, which also accepts None
    member: np.ndarray
    scale: Scale = field(default_factory=Probabilities)  # or its name
    classes: np.ndarray | None = None
    ids: np.ndarray | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    persons: np.ndarray | None = None
    features: np.ndarray | pd.DataFrame | None = None
    labelled: bool = True

    def __post_init__(self):
        scale = as_scale(self.scale)
        outputs = _numbers(self.outputs, "outputs")
        if not scale.has_classes and outputs.ndim == 1:
            outputs = outputs[:, None]
        if not scale.has_classes and outputs.shape[1:] != (1,):
            raise InputError(
                f"A regression needs one predicted value per record; found outputs shaped {outputs.shape}."
            )
        if scale.has_classes and (outputs.ndim != 2 or outputs.shape[1] < 2):
            raise InputError(
                f"outputs must have the shape (records, classes) with at least two classes; found {outputs.shape}."
            )
        if not len(outputs):
            raise InputError("There are no records. Pass outputs for members and for non-members.")
        scale.check(outputs)
        member = _truth(self.member)
        if not isinstance(self.groups, Mapping):
            raise InputError(f"groups={short_repr(self.groups)} must map names to (records,) values: {{'sex': …}}.")
        labelled = flag("labelled", self.labelled)
        texts = {str(name): _texts(values, str(name)) for name, values in self.groups.items()}
        known = {name: _texts(getattr(self, name), name) for name in ("ids", "persons")}
        labels = self._labels(outputs, scale)
        columns = {"labels": labels, "member": member, **texts, **known}
        for name, values in columns.items():
            if values is not None and values.shape != (len(outputs),):
                raise InputError(
                    f"{name!r} must have {len(outputs)} values, one per record; found shape {values.shape}."
                )
        features = _features(self.features, len(outputs))
        classes = None if self.classes is None else plain_array(self.classes, "'classes'")
        if classes is not None and classes.shape != (outputs.shape[1],):
            raise InputError(f"classes must have {outputs.shape[1]} entries, one per column of outputs.")
        for side, absent in (("members", member.all()), ("non-members", not member.any())):
            if absent:
                raise InputError(f"All {len(outputs)} records are {side}. An audit needs members and non-members.")
        if not labelled and not scale.has_classes:
            raise InputError("Predicted values without true values do not indicate membership. Pass labels=.")
        fields: dict[str, Any] = {
            "scale": scale,
            "outputs": outputs,
            "labels": labels,
            "member": member,
            "groups": texts,
            "features": features,
            "classes": classes,
            "labelled": labelled,
            **known,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def take(self, records: np.ndarray) -> "Predictions":
        """Return some of the records, by position."""
        features = self.features
        if isinstance(features, pd.DataFrame):
            features = features.iloc[records].reset_index(drop=True)
        elif features is not None:
            features = features[records]
        optional = {name: getattr(self, name) for name in ("ids", "persons")}
        return replace(
            self,
            outputs=self.outputs[records],
            labels=self.labels[records],
            member=self.member[records],
            groups={name: values[records] for name, values in self.groups.items()},
            features=features,
            **{name: values[records] for name, values in optional.items() if values is not None},
        )

    def _labels(self, outputs: np.ndarray, scale: Scale) -> np.ndarray:
        """Return positions of classes, or true values; predicted classes if the true ones are not known."""
        if not self.labelled:
            return outputs.argmax(axis=1)
        labels = _numbers(self.labels, "labels")
        broken = ~np.isfinite(labels)
        if broken.any():
            what = "labels" if scale.has_classes else "true values"
            raise InputError(
                f"{broken.sum()} {what} are NaN or infinite, first in row {int(broken.argmax())}. Fix them, or drop these "
                "records."
            )
        if not scale.has_classes:
            return labels
        outside = (labels < 0) | (labels >= outputs.shape[1]) | (labels != np.floor(labels))
        if outside.any():
            first = int(outside.argmax())
            raise InputError(
                f"{outside.sum()} labels are not in 0 … {outputs.shape[1] - 1}, first {labels[first]:g} in row {first}. "
                "Pass the position of each true class among the columns of outputs."
            )
        return labels.astype(np.int64)

    @property
    def positions(self) -> np.ndarray:
        """(records,) positions of the true classes; a regression has one class."""
        if self.scale.has_classes:
            return self.labels
        return np.zeros(len(self.labels), dtype=np.int64)


def _numbers(values: Any, name: str) -> np.ndarray:
    array = plain_array(values, repr(name))
    if array.dtype.kind == "b":  # booleans are neither outputs nor positions of classes
        raise InputError(f"{name!r} must be numbers; found {array.dtype}.")
    try:
        return numbers(repr(name), array)
    except ValueError as error:
        raise InputError(str(error)) from error


def _truth(values: Any) -> np.ndarray:
    """Return booleans from true and false, or 1 and 0; missing values are refused."""
    array = plain_array(values, "'member'")
    if array.dtype.kind == "b":
        return array
    others = [
        str(value)
        for value in array.ravel().tolist()
        if not isinstance(value, (bool, np.bool_, int, float, np.number)) or value not in (0, 1)
    ]
    if others:
        raise InputError(
            f"'member' must hold true/false or 1/0; found {', '.join(sorted(set(others))[:5])} in {len(others)} records."
        )
    return array.astype(bool)


def _texts(values: Any, name: str) -> np.ndarray | None:
    """Return names or groups as text, with a text for missing values."""
    if values is None:
        return None
    array = plain_array(values, repr(name))
    if array.dtype.names is not None:
        raise InputError(f"{name!r} must hold one value per record; found {array.dtype}.")
    if array.ndim != 1:
        return array
    return as_text(pd.Series(array, dtype=object if array.dtype.kind in "OU" else None, name=name))


def _features(features: Any, records: int) -> np.ndarray | pd.DataFrame | None:
    """Return features as a table, or as an array (records, …)."""
    if features is None:
        return None
    if is_frame(features):
        features = pd.DataFrame(to_pandas(features, "features"))
    else:
        features = plain_array(features, "'features'")
    if not features.ndim or len(features) != records:
        raise InputError(f"features must have {records} rows, one per record; found shape {features.shape}.")
    return features
