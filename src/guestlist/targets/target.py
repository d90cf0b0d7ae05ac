"""The model under audit: what it answers, how to train more like it, and what else it can be asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pandas as pd

from guestlist.arguments import short_repr
from guestlist.calling import query
from guestlist.data import Data, encode
from guestlist.defences.recipe import Recipe, as_function
from guestlist.defences.training import Training
from guestlist.errors import InputError
from guestlist.fingerprints import describe
from guestlist.lines import reason
from guestlist.targets.frameworks import framework_of
from guestlist.targets.scales import Probabilities, Scale, as_scale

Predict = Callable[[np.ndarray | pd.DataFrame], np.ndarray]
Trainer = Callable[[Data, np.random.Generator], Predict]
SoftTrainer = Callable[[Data, np.ndarray, np.random.Generator], Predict]

# What a target may be able to do beside answering, and what is said of one that cannot.
CAPABILITIES = {
    "train": "has no recipe to train models by",  # (data, rng) -> predict, for one reference
    "distil": "cannot be trained on soft labels",  # (data, soft, rng) -> predict
    "retrain": "cannot be trained anew on all members",  # Retraining
    "neighbours": "is not a K-NN model whose distances are known",  # (x) -> Neighbours
    "leaves": "is not a tree, forest or boosted trees",  # (x) -> Trees
    "white_box": "is not a torch target, whose gradients can be computed",  # (x, labels) -> WhiteBoxFeatures
    "leverage": "is neither a linear, ridge or logistic regression nor a torch target",  # Finder
    "checkpoints": "has no checkpoints of its training",  # (x) -> answers of the model as it was, one after the other
    "layers": "is not a torch target, whose layers can be looked into",  # (x) -> layer name to (records, width)
}


class Retraining(Protocol):
    """How a target like this one comes to be anew, by its own recipe or by another.

    ``model`` is what recipes train copies of, ``recipe`` the target's own; both None where a function knows by itself what it
    trains. ``trains`` is what recipes of ``DEFENCES`` may do with it.
    """

    trains: ClassVar[str]

    @property
    def model(self) -> Any: ...

    @property
    def recipe(self) -> Any: ...

    def __call__(self, recipe: Any, members: Data, rng: np.random.Generator) -> Target:
        """The target that a recipe makes of members, in the form that the target reads, and whose references it trains.

        Args:
            recipe: None for the target's own.
        """


class Neighbours(NamedTuple):
    """The space of a K-NN model's distances: (records, features), how many neighbours it asks, and the metric."""

    x: np.ndarray
    k: int
    metric: str


class Trees(NamedTuple):
    """The leaves of a tree model: (records, trees) numbers of leaves, and what the model file tells about each leaf.

    ``held`` is a table per tree: (leaves,) training records in each leaf, or (leaves, classes) by class; None: the model
    keeps no such numbers. ``weight`` is what each record adds to them, (records, trees), if that is not simply 1.
    """

    leaf: np.ndarray
    held: tuple[np.ndarray, ...] | None
    weight: np.ndarray | None = None


class WhiteBoxFeatures(NamedTuple):
    """What a model's parameters say about records: (records, features), and the features' names."""

    features: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True)
class Reads:
    """How features must look for a model to read them.

    Args:
        features: names of the columns the model reads, if it knows them; None: whatever is given.
        arrays: whether a table of numbers must become an array before the model gets it.
        width: how many columns the model reads, if it knows.
        documents: whether the model reads one text per record, and no table.
    """

    features: tuple[str, ...] | None = None
    arrays: bool = False
    width: int | None = None
    documents: bool = False

    def fitting(self, data: Data, side: str) -> Data:
        """The records with the features in the form this model reads."""
        x = _documents(data, side) if self.documents else data.x
        if isinstance(x, np.ndarray) and x.ndim == 1 and self.features is not None:
            if len(self.features) != 1:
                raise InputError(
                    f"The model was fitted on the columns {', '.join(self.features)}, but {side} is one text per record. "
                    "Give a table."
                )
            x = pd.DataFrame({self.features[0]: x})
        if isinstance(x, pd.DataFrame) and self.features is not None:
            missing = [name for name in self.features if name not in x.columns]
            if missing:
                raise InputError(f"The model was fitted on columns that {side} lacks: {', '.join(missing)}.")
            x = x[list(self.features)]
        if isinstance(x, pd.DataFrame) and self.arrays:
            if self.width is not None and len(x.columns) - len(data.groups) == self.width:
                x = x.drop(columns=list(data.groups))  # groups that are not features
            try:
                x = x.to_numpy(dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"The model was fitted on an array, but {side} has columns that are not numbers ({reason(error)}). "
                    "Audit the pipeline that encodes them, or give the encoded array."
                ) from error
        return data.with_x(x)


def _documents(data: Data, side: str) -> np.ndarray:
    """(records,) the texts of records, from an array or from the column of a table that is no group."""
    x = data.x
    if isinstance(x, pd.DataFrame):
        columns = [name for name in x.columns if name not in data.groups] or list(x.columns)
        if len(columns) != 1:
            raise InputError(
                f"The model reads one text per record, but {side} has the columns {', '.join(map(str, columns))}. Give a "
                "table with one column of texts beside label, groups and ids."
            )
        return x[columns[0]].to_numpy(dtype=object)
    return x[:, 0].astype(object) if x.ndim == 2 and x.shape[1] == 1 else x


def _none() -> np.ndarray:
    return np.array([])


@dataclass(frozen=True)
class Target:
    """A model that answers, and the recipe that trains its references.

    Args:
        predict: features to (records, classes) answers on the given ``scale``, columns ordered as ``classes``; where
            the scale is ``values``, to (records,) predicted numbers.
        classes: the labels, one per column of the answers; none for regression.
        scale: what the answers are: ``Probabilities()``, ``Logits()`` (better: they never saturate) or ``Values()``.
        recipe: text that changes when the training does; part of the audit's fingerprint.
        name: for people.
        reads: how features must look.
        can: name of a capability, from ``CAPABILITIES``, to the function that has it.
        cannot: name of a capability to the reason why the target lacks it, where there is one to tell.
        training: how it was trained, for people, and what the attacker knows of that.
        notes: what a reader must know of how references are trained, as codes of checks with their figures.
    """

    predict: Predict
    classes: np.ndarray = field(default_factory=_none)
    scale: Scale = field(default_factory=Probabilities)
    recipe: str = ""
    name: str = "model"
    reads: Reads = field(default_factory=Reads)
    can: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)
    training: Training | None = None
    notes: Mapping[str, Mapping[str, int | float | str]] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "scale", as_scale(self.scale))
        unknown = sorted({*self.can, *self.cannot} - set(CAPABILITIES))
        if unknown:
            raise ValueError(f"Expected capabilities among {', '.join(CAPABILITIES)}, found {', '.join(unknown)}.")
        if not self.scale.has_classes:
            if np.size(self.classes):
                raise InputError(
                    f"A model that predicts values has no classes; found {short_repr(np.asarray(self.classes).tolist())}."
                )
        elif np.ndim(self.classes) != 1:
            raise InputError(
                f"Expected classes={short_repr(np.asarray(self.classes).tolist())} to be a list of labels, one per column of the "
                "answers: [0, 1]."
            )
        elif not len(self.classes):
            raise InputError("What do the columns of the answers stand for? Give classes=[…]; or scale='values'.")
        elif len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError(f"A classifier has two classes or more, all different; found {list(self.classes)}.")

    @property
    def columns(self) -> int:
        """Of the answers: one per class, or one for a predicted value."""
        return len(self.classes) if self.scale.has_classes else 1

    def labels_of(self, y: np.ndarray) -> np.ndarray:
        """(records,) what answers are judged by: positions of the true classes, or true values."""
        return encode(y, self.classes) if self.scale.has_classes else np.asarray(y, dtype=np.float64)

    def classes_of(self, y: np.ndarray) -> np.ndarray:
        """(records,) positions of the true classes; a regression has one class."""
        return encode(y, self.classes) if self.scale.has_classes else np.zeros(len(y), dtype=np.int64)

    def fitting(self, data: Data, side: str) -> Data:
        """The records in the form this model reads: its features, and numbers as labels where it predicts some."""
        data = self.reads.fitting(data, side)
        return data if self.scale.has_classes else data.changed(y=_values(data.y, side))

    def needs(self, what: str, told: str = "") -> Callable[..., Any]:
        """The function of a capability; an error that says why the target lacks it.

        Args:
            told: another sentence than that of ``CAPABILITIES``, with ``{name}`` and ``{why}``, the reason after a colon.
        """
        if what in self.can:
            return self.can[what]
        why = f": {self.cannot[what]}" if self.cannot.get(what) else ""
        raise InputError((told or f"{{name}} {CAPABILITIES[what]}{{why}}.").format(name=self.name, why=why))


def _values(y: np.ndarray, side: str) -> np.ndarray:
    """Labels of a regression as numbers."""
    missing = pd.isna(y)
    if missing.any():
        raise InputError(f"{side} has {missing.sum()} records without a label, first in row {missing.argmax()}.")
    try:
        values = np.asarray(y).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The model predicts numbers, but {side} has labels that are not numbers ({reason(error)}). Is it the right column?"
        ) from error
    if np.isinf(values).any():
        raise InputError(
            f"{side} has {np.isinf(values).sum()} infinite labels, first in row {np.isinf(values).argmax()}."
        )
    return values


@dataclass(frozen=True)
class TaughtByValues:
    """Train on predicted values in the place of true ones: soft labels of a regression."""

    train: Trainer

    def __call__(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        return self.train(data.changed(y=soft[:, 0]), rng)


def answers(predict: Predict, x, columns: int, scale: Scale) -> np.ndarray:
    """(records, columns) float64 answers of one model, checked."""
    found = np.asarray(query(predict, x), dtype=np.float64)
    if not scale.has_classes and found.ndim == 1:
        found = found[:, None]
    if found.shape != (len(x), columns):
        means = "(records, classes)" if scale.has_classes else "(records, 1): one predicted value per record"
        raise InputError(f"Expected answers shaped {(len(x), columns)} {means}, found {found.shape}.")
    scale.check(found)
    return found


def as_target(model, train: Recipe | Callable | None = None) -> Target:
    """Return a target from a fitted scikit-learn-style model, from the file of a model, or the target itself.

    Args:
        train: how references are trained, if the model does not tell: a function ``(data, rng) -> model``, or for an
            estimator a recipe ``(model, data, rng) -> model``.
    """
    if isinstance(model, str | Path):
        from guestlist.targets.files import load_model

        model = load_model(model)
    if isinstance(model, Target):
        if train is None:
            return model
        from guestlist.targets.estimators import trained_by

        return trained_by(model, train)
    if isinstance(model, type):
        raise InputError(
            f"{model.__name__} is a class, and no model was made of it. Give a fitted one: {model.__name__}(…).fit(x, y)."
        )
    framework = framework_of(model)
    if framework is None:
        raise InputError(
            f"Expected a fitted scikit-learn-style classifier or regressor, found {type(model).__name__}. "
            "For anything else use gl.function_target(predict, classes=..., train=...)."
        )
    if framework.query is None:
        raise InputError(framework.advice)
    return framework.query(model, train)


def function_target(
    predict: Predict,
    *,
    classes=None,
    train: Trainer | None = None,
    distil: SoftTrainer | None = None,
    scale: Scale | str = "probabilities",
    recipe: str | None = None,
    name: str | None = None,
) -> Target:
    """A target from a plain function.

    Args:
        predict: features to (records, classes) answers; to (records,) numbers where the scale is ``values``, to (records,)
            of the classes where it is ``labels``.
        classes: the labels, one per column of the answers; none for ``values``.
        train: ``(data, rng) -> predict``; trains one reference on ``data.x`` and ``data.y`` with all its
            randomness from ``rng``. Without it, only the attacks that need no references run.
        distil: ``(data, soft, rng) -> predict``, the same with (records, classes) probabilities in the place of labels;
            not needed for ``values``.
        scale: ``probabilities``, ``logits``, ``labels`` or ``values``.
        recipe: text that identifies ``train`` across runs; by default its source code and what it closes over.
    """
    scale = as_scale(scale)
    can: dict[str, Callable] = {} if train is None else {"train": as_function(train)}
    if distil is not None:
        can["distil"] = distil
    elif train is not None and not scale.has_classes:
        can["distil"] = TaughtByValues(train)
    asks: Predict = predict
    if np.ndim(classes) == 1 and len(classes):
        told, trained = (TellLabels, TrainLabels) if scale.name == "labels" else (ByClass, TrainByClass)
        can = {what: trained(does, np.asarray(classes)) for what, does in can.items()}
        asks = told(predict, np.asarray(classes))
    target = Target(
        predict=asks,
        classes=_none() if classes is None else np.asarray(classes),
        scale=scale,
        recipe=describe([train, distil] if distil else train) if recipe is None else recipe,
        name=name or str(getattr(predict, "__name__", type(predict).__name__)),
        can=can,
    )
    return target if train is None else replace(target, can={**can, "retrain": RetrainFunction(target)})


def by_class(found: Any, classes: np.ndarray) -> Any:
    """Outputs with their columns in the order of the classes, where they are a table whose columns have names.

    A column is named after its class, alone or at the end (``p_yes``). A table without names, or an array, is taken as it is.
    """
    if not (hasattr(found, "columns") and hasattr(found, "to_numpy")) or len(found.columns) != len(classes):
        return found
    names = list(found.columns)
    if names == list(range(len(names))) and set(names) != set(classes.tolist()):
        return found  # pandas counts the columns of a table that got no names
    places = [[at for at, name in enumerate(names) if _names(name, label)] for label in classes.tolist()]
    if any(len(at) != 1 for at in places):
        exact = [[at for at, name in enumerate(names) if str(name) == str(label)] for label in classes.tolist()]
        places = [own or ending for own, ending in zip(exact, places, strict=True)]
    order = [at[0] for at in places if len(at) == 1]
    if sorted(order) != list(range(len(names))):
        raise InputError(
            f"The model's outputs have columns named {short_repr(names)}, and its classes are {short_repr(classes.tolist())}: "
            "guestlist cannot match them. Name the columns after the classes, or return an array in the order of the classes."
        )
    return np.asarray(found.to_numpy())[:, order]


def _names(name: Any, label: Any) -> bool:
    """Whether a column of outputs is named after a class."""
    return name == label or str(name) == str(label) or bool(re.search(rf"[\W_]{re.escape(str(label))}$", str(name)))


@dataclass(frozen=True)
class ByClass:
    """A function whose outputs may be a table with a column per class."""

    predict: Predict
    classes: np.ndarray

    def __call__(self, x) -> np.ndarray:
        return by_class(self.predict(x), self.classes)


@dataclass(frozen=True)
class TrainByClass:
    """Train one model whose outputs may be a table with a column per class."""

    train: Callable
    classes: np.ndarray

    def __call__(self, *given) -> Predict:
        return ByClass(self.train(*given), self.classes)


def one_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(records, classes) 1 for the label of each record, 0 for the other classes."""
    place = encode(labels.reshape(len(labels)), classes)
    if (place < 0).any():
        raise InputError(f"The model answers {str(labels[(place < 0).argmax()])!r}, which is none of its classes.")
    return np.eye(len(classes))[place]


@dataclass(frozen=True)
class TellLabels:
    """A function that answers with labels; one that answers with a column per class already is left as it is."""

    predict: Predict
    classes: np.ndarray

    def __call__(self, x) -> np.ndarray:
        found = np.asarray(self.predict(x))
        return found if found.ndim == 2 and found.shape[1] == len(self.classes) else one_of(found, self.classes)


@dataclass(frozen=True)
class TrainLabels:
    """Train one model that answers with labels."""

    train: Callable
    classes: np.ndarray

    def __call__(self, *given) -> Predict:
        return TellLabels(self.train(*given), self.classes)


@dataclass(frozen=True)
class RetrainFunction:
    """A function's own training: it takes no other recipe."""

    target: Target
    trains: ClassVar[str] = "function"
    model: None = None
    recipe: None = None

    def __call__(self, recipe, members: Data, rng: np.random.Generator) -> Target:
        if recipe is not None:
            raise InputError(f"{self.target.name} is a function, which is trained by no recipe but its own.")
        predict = self.target.can["train"](members, rng)
        return replace(self.target, predict=predict, can={**self.target.can, "retrain": self})
