"""An audit of predictions alone: what the target answered, the labels, and who was a member.

Without the model there are no references, so the target-only attacks run. Predictions of a shadow model, on records of
its own, teach the metric attacks their thresholds (Song & Mittal 2021).
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.attacks import ATTACKS, named, try_out
from guestlist.data import as_text, encode, read_table
from guestlist.errors import InputError
from guestlist.findings.assess import PRIOR, assess
from guestlist.findings.results import Results
from guestlist.store import Manifest, Store, only_one, open_store
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
    """

    answers: np.ndarray
    labels: np.ndarray
    member: np.ndarray
    scale: Scale = field(default_factory=Probabilities)  # or its name
    classes: np.ndarray | None = None
    ids: np.ndarray | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)

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
        for name, values in (given if self.ids is None else {**given, "ids": self.ids}).items():
            if np.shape(values) != (records,):
                raise InputError(
                    f"Expected {records} values of {name!r}, one per answer, found shape {np.shape(values)}."
                )
        self._check_labels()
        if self.member.all() or not self.member.any():
            side = "members" if self.member.all() else "non-members"
            raise InputError(f"All {records} records are {side}: an audit compares both.")
        self.scale.check(self.answers)

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


def audit_predictions(
    predictions: Predictions,
    *,
    shadow: Predictions | None = None,
    attacks: Sequence[str | Callable] | None = None,
    folder: str | Path | None = None,
    prior: float = PRIOR,
    about: Mapping[str, object] | None = None,
) -> Results:
    """Audit a model by its answers alone; with a ``shadow`` model's answers, thresholds are learnt on those.

    Args:
        attacks, folder, prior, about: as for ``audit``.
    """
    if not 0 < prior < 1:
        raise ValueError(f"Expected prior={prior} in (0, 1).")
    looks = [name for name in attacks or () if isinstance(name, str) and name in ATTACKS and ATTACKS[name].evidence]
    if looks:
        raise InputError(
            f"{', '.join(looks)} needs the model itself, not only its predictions: audit it with gl.audit."
        )
    says = predictions.scale.signal_names
    chosen = named(attacks, 0 if shadow is None else 1, signals=says)
    if attacks is None:
        # A shadow has records of its own: attacks that compare models on one record have nothing to compare.
        chosen = {name: attack for name, attack in chosen.items() if attack.compares == "nothing"}
    try_out(chosen, predictions.positions, 0 if shadow is None else 1, says)
    with tempfile.TemporaryDirectory(prefix="guestlist-") as place:
        place = Path(place) / "audit" if folder is None else Path(folder)
        with only_one(place):
            return assess(_store(predictions, shadow, place, about or {}), chosen, prior=prior)


def read_predictions(
    path: str | Path, *, scale: Scale | str | None = None, group: Sequence[str] = (), id: str | None = None
) -> Predictions:
    """Predictions from a file.

    ``.npz``: arrays ``probabilities`` (or ``probs``) or ``logits``, ``labels`` (positions), ``member``; ``ids`` if any.
    ``.csv`` and ``.parquet``: columns ``label`` and ``member``, and one column per class, named ``p_<class>``
    (probabilities) or ``z_<class>`` (logits). For regression, an array ``values``, or a column ``predicted``; the labels
    are then the true values.
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        if group or id:
            raise InputError(f"{path} has no columns to take groups or ids from; give a .csv or .parquet file.")
        return _from_npz(path, scale)
    return _from_table(path, read_table(path), scale, group, id)


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
    )


def _from_table(
    path: Path, table: pd.DataFrame, scale: Scale | str | None, group: Sequence[str], id: str | None
) -> Predictions:
    wanted = ["label", "member", *group, *filter(None, [id])]
    missing = [name for name in wanted if name not in table]
    predicts = PREDICTED in table if scale is None else not as_scale(scale).has_classes
    if predicts:
        return _values_from_table(path, table, missing, group, id)
    prefix = next((p for p in PREFIXES if any(str(c).startswith(p) for c in table.columns)), None)
    if missing or prefix is None:
        lacks = [*map(repr, missing), *([] if prefix else ["'p_<class>' or 'z_<class>' for every class"])]
        raise InputError(f"{path} lacks the columns {', '.join(lacks)}; it has {', '.join(map(str, table.columns))}.")
    columns = [c for c in table.columns if str(c).startswith(prefix) and c not in wanted]
    words = [str(c) for c in columns if not pd.api.types.is_numeric_dtype(table[c])]
    if words:
        raise InputError(f"{path} has columns of answers that are no numbers: {', '.join(words)}.")
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
        groups={name: as_text(table[name]) for name in group},
    )


def _values_from_table(path: Path, table: pd.DataFrame, missing: list[str], group, id) -> Predictions:
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
        groups={name: as_text(table[name]) for name in group},
    )


def _as_bool(values: np.ndarray, path: Path) -> np.ndarray:
    if not np.isin(values, [0, 1]).all():
        found = ", ".join(sorted({str(v) for v in values[~np.isin(values, [0, 1])]})[:5])
        raise InputError(f"Expected 'member' in {path} to hold true/false or 1/0, found {found}.")
    return values.astype(bool)


def _store(target: Predictions, shadow: Predictions | None, folder: Path, about: Mapping[str, object]) -> Store:
    parts = [target] if shadow is None else [target, shadow]
    if shadow is not None and (shadow.answers.shape[1], shadow.scale) != (target.answers.shape[1], target.scale):
        raise InputError("The shadow's answers must have the target's classes and scale.")
    classes = np.arange(target.answers.shape[1]) if target.classes is None else target.classes
    classes = classes if target.scale.has_classes else np.array([])
    manifest = Manifest(
        data=_fingerprint(parts),
        recipe="predictions",
        seed=0,
        rate=0.5,
        scale=target.scale.name,
        classes=tuple(map(str, classes)),
        about={"name": "predictions", **about},
    )
    store = open_store(folder, manifest)
    store.write_pool(_pool(parts, classes))
    store.write_answers(np.concatenate([part.answers for part in parts]))
    store.write_split(_split(parts))
    scale = target.scale.resolved(target.answers, target.labels)
    start = 0
    for k, part in enumerate(parts):
        stop = start + len(part.labels)
        said = scale.signals(part.answers, part.labels)
        store.write_model(k, {name: _placed(values, start, stop, parts) for name, values in said.items()})
        start = stop
    return store


def _pool(parts: Sequence[Predictions], classes: np.ndarray) -> pd.DataFrame:
    """The target's records on their sides; a shadow's own records are population: not asked about."""
    tables = []
    for k, part in enumerate(parts):
        side = np.where(part.member, "members", "nonmembers") if k == 0 else "population"
        ids = (
            np.array([f"row:{row}" for row in range(len(part.labels))], dtype=object) if part.ids is None else part.ids
        )
        labels = classes[part.labels] if part.scale.has_classes else part.labels
        table = pd.DataFrame({"id": ids, "label": labels.astype(str), "class": part.positions, "side": side})
        tables.append(
            table.assign(**{f"group_{name}": values for name, values in part.groups.items()} if k == 0 else {})
        )
    return pd.concat(tables, ignore_index=True)


def _split(parts: Sequence[Predictions]) -> np.ndarray:
    member = np.zeros((len(parts), sum(len(part.labels) for part in parts)), dtype=bool)
    start = 0
    for k, part in enumerate(parts):
        member[k, start : start + len(part.labels)] = part.member
        start += len(part.labels)
    return member


def _placed(values: np.ndarray, start: int, stop: int, parts: Sequence[Predictions]) -> np.ndarray:
    """One model's signals among all records; NaN where it was not asked."""
    everywhere = np.full(sum(len(part.labels) for part in parts), np.nan)
    everywhere[start:stop] = values
    return everywhere


def _fingerprint(parts: Sequence[Predictions]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        for array in (part.answers, part.labels, part.member):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
