"""What a model answered: all that there is of some models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from guestlist.arguments import array, flag, numbers, short_repr
from guestlist.data import as_text
from guestlist.errors import InputError
from guestlist.tables import without_index
from guestlist.targets.scales import Probabilities, Scale, as_scale


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
        labelled: false where nobody knows the true classes: ``labels`` is then what the model answers, and only attacks
            run that read no label.

    Arrays are read row by row: the index of a Series plays no part. Missing values are refused, except in groups.
    """

    answers: np.ndarray
    labels: Any  # an array once made; may be given as None where nobody knows them
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
        answers = _numbers(self.answers, "answers")
        answers = answers[:, None] if not scale.has_classes and answers.ndim == 1 else answers
        if not scale.has_classes and answers.shape[1:] != (1,):
            raise InputError(f"Expected one predicted value per record, found answers shaped {answers.shape}.")
        if scale.has_classes and (answers.ndim != 2 or answers.shape[1] < 2):
            raise InputError(
                f"Expected answers shaped (records, classes) with two classes or more, found {answers.shape}."
            )
        if not len(answers):
            raise InputError("There are no records: give answers about members and about non-members.")
        scale.check(answers)
        member = _truth(self.member)
        if not isinstance(self.groups, Mapping):
            raise InputError(
                f"Expected groups={short_repr(self.groups)} to be names with (records,) values: {{'sex': …}}."
            )
        labelled = flag("labelled", self.labelled)
        texts = {str(name): _texts(values, str(name)) for name, values in self.groups.items()}
        known = {name: _texts(getattr(self, name), name) for name in ("ids", "persons")}
        labels = self._labels(answers, scale)
        given = {"labels": labels, "member": member, **texts, **known}
        for name, values in given.items():
            if values is not None and values.shape != (len(answers),):
                raise InputError(
                    f"Expected {len(answers)} values of {name!r}, one per answer, found shape {values.shape}."
                )
        features = _features(self.features, len(answers))
        classes = None if self.classes is None else _plain(self.classes, "classes")
        if classes is not None and classes.shape != (answers.shape[1],):
            raise InputError(f"Expected {answers.shape[1]} classes, one per column of the answers.")
        if member.all() or not member.any():
            side = "members" if member.all() else "non-members"
            raise InputError(f"All {len(answers)} records are {side}: an audit compares both.")
        if not labelled and scale.has_classes is False:
            raise InputError("Predicted values without true ones say nothing about who was a member.")
        settled: dict[str, Any] = {
            "scale": scale,
            "answers": answers,
            "labels": labels,
            "member": member,
            "groups": texts,
            **known,
        }
        settled |= {"features": features, "classes": classes, "labelled": labelled}
        for name, value in settled.items():
            object.__setattr__(self, name, value)

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

    def _labels(self, answers: np.ndarray, scale: Scale) -> np.ndarray:
        """Positions of classes, or true values; where nobody knows the classes, those that the model answers."""
        if not self.labelled:
            return answers.argmax(axis=1)
        labels = _numbers(self.labels, "labels")
        if labels.shape != (len(answers),):
            raise InputError(f"Expected {len(answers)} values of 'labels', one per answer, found shape {labels.shape}.")
        broken = ~np.isfinite(labels)
        if broken.any():
            what = "labels" if scale.has_classes else "true values"
            raise InputError(f"{broken.sum()} {what} are NaN or infinite, first in row {int(broken.argmax())}.")
        if not scale.has_classes:
            return labels
        outside = (labels < 0) | (labels >= answers.shape[1]) | (labels != np.floor(labels))
        if outside.any():
            first = int(outside.argmax())
            raise InputError(
                f"{outside.sum()} labels are not in 0 … {answers.shape[1] - 1}, first {labels[first]:g} in row {first}: give "
                "the position of each true class among the columns of the answers."
            )
        return labels.astype(np.int64)

    @property
    def positions(self) -> np.ndarray:
        """(records,) positions of the true classes; a regression has one class."""
        return self.labels if self.scale.has_classes else np.zeros(len(self.labels), dtype=np.int64)


def _plain(values: Any, name: str) -> np.ndarray:
    """An array in the order given: a Series is read row by row, whatever its index says."""
    try:
        return array(repr(name), values)
    except ValueError as error:
        raise InputError(str(error)) from error


def _numbers(values: Any, name: str) -> np.ndarray:
    found = _plain(values, name)
    if found.dtype.kind == "b":  # truth values are no answers, and nobody numbers classes by them
        raise InputError(f"Expected {name!r} as numbers, found {found.dtype}.")
    try:
        return numbers(repr(name), found)
    except ValueError as error:
        raise InputError(str(error)) from error


def _truth(values: Any) -> np.ndarray:
    """True and false, or 1 and 0; what is missing is neither."""
    found = _plain(values, "member")
    if found.dtype.kind == "b":
        return found
    known = [
        isinstance(one, (bool, np.bool_, int, float, np.number)) and one in (0, 1) for one in found.ravel().tolist()
    ]
    if not all(known):
        others = [str(one) for one, fine in zip(found.ravel().tolist(), known, strict=True) if not fine]
        examples = ", ".join(sorted(set(others))[:5])
        raise InputError(f"Expected 'member' to hold true/false or 1/0, found {examples} in {len(others)} records.")
    return found.astype(bool)


def _texts(values: Any, name: str) -> np.ndarray | None:
    """Names and groups as text, with a word for those that are missing."""
    if values is None:
        return None
    found = _plain(values, name)
    if found.dtype.names is not None:
        raise InputError(f"Expected {name!r} to hold one value per record, found several: {found.dtype}.")
    return found if found.ndim != 1 else as_text(pd.Series(found, dtype=object if found.dtype.kind in "OU" else None))


def _features(given: Any, records: int) -> np.ndarray | pd.DataFrame | None:
    """A table, or an array (records, …)."""
    if given is None:
        return None
    if type(given).__module__.startswith("polars") and hasattr(given, "to_pandas"):
        given = given.to_pandas()
        given = without_index(given) if isinstance(given, pd.DataFrame) else given
    found = given.to_frame() if isinstance(given, pd.Series) else given
    found = found if isinstance(found, pd.DataFrame) else _plain(found, "features")
    if not found.ndim or len(found) != records:
        raise InputError(f"Expected features of {records} records, one per answer, found {found.shape}.")
    return found


def _rows(features: np.ndarray | pd.DataFrame | None, records: np.ndarray) -> np.ndarray | pd.DataFrame | None:
    if features is None:
        return None
    return features.iloc[records].reset_index(drop=True) if isinstance(features, pd.DataFrame) else features[records]
