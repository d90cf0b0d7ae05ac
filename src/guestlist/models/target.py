"""The model under audit: its outputs, the training of its references, and its other capabilities."""

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from guestlist._store import spot_digest
from guestlist._util import Stopped, describe, global_generators, integer, one_thread, reason, short_repr
from guestlist.data import Data, as_data, copied, encode
from guestlist.defences import AUTO, Recipe, Training, as_function, prefer_device
from guestlist.errors import AuditError, InputError
from guestlist.models.frameworks import framework_of
from guestlist.models.scales import Probabilities, Scale, as_scale


@contextmanager
def model_code() -> Iterator[None]:
    """Restore the working directory and NumPy's error handling afterwards; report ``sys.exit`` as an error.

    Yields:
        Nothing.

    Raises:
        RuntimeError: If the model's code calls ``sys.exit``.
    """
    before = None
    with suppress(OSError):  # the directory was removed: there is nothing to return to
        before = os.getcwd()
    try:
        with numpy_defaults():
            yield
    except Stopped:  # raised by a signal to this process, not by the model
        raise
    except SystemExit as error:
        raise RuntimeError(f"the model's code called sys.exit({error.code!r})") from error
    finally:
        if before is not None:
            with suppress(OSError):
                os.chdir(before)


def numpy_defaults() -> np.errstate:
    """Use NumPy's own error handling: ``np.seterr(all="raise")`` of a script must not stop an audit half-way.

    Returns:
        A context manager, which is also a decorator.
    """
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def query(predict: Callable[[Any], Any], x) -> Any:
    """Return a model's outputs for a copy of the records.

    A function with ``leaves_input = True`` never writes on its input, and gets the records themselves.

    Args:
        predict: Function from features to outputs.
        x: Features as the model reads them.

    Returns:
        The outputs.
    """
    with model_code():
        return predict(x if getattr(predict, "leaves_input", False) else copied(x))


@contextmanager
def unchanged(pool: Data, who: str) -> Iterator[None]:
    """Check that the records are the same afterwards: otherwise later models would be trained on other records.

    Args:
        pool: Records of the audit.
        who: The model at work, for the message.

    Yields:
        Nothing.

    Raises:
        AuditError: If the records have changed.
    """
    before = spot_digest(pool)
    yield
    if spot_digest(pool) != before:
        raise AuditError(
            f"{who} changed the records of the audit while it was trained or queried, although it was given copies. Find "
            "the code that keeps and changes the arrays passed to guestlist, and pass copies of them."
        )


Predict = Callable[[np.ndarray | pd.DataFrame], np.ndarray]
Trainer = Callable[[Data, np.random.Generator], Predict]
SoftTrainer = Callable[[Data, np.ndarray, np.random.Generator], Predict]

# Capabilities of a target other than outputs, and the end of the message about a target that lacks one.
CAPABILITIES = {
    "train": "has no training recipe",  # (data, rng) -> predict, for one reference
    "distil": "cannot be trained on soft labels",  # (data, soft, rng) -> predict
    "retrain": "cannot be retrained on all members",  # Retraining
    "neighbours": "is not a K-NN model with known distances",  # (x) -> KnnSpace
    "leaves": "is not a tree, forest or boosted trees",  # (x) -> Trees
    "white_box": "is not a torch target, which gradients need",  # (x, labels) -> WhiteBoxFeatures
    "leverage": "is neither a linear, ridge or logistic regression nor a torch target",  # (data, member) -> leverages
    "checkpoints": "has no checkpoints of its training",  # (x) -> outputs of each checkpoint, in order
    "layers": "is not a torch target, which layers need",  # (x) -> layer name to (records, width)
}


@dataclass(frozen=True)
class Retraining:
    """Training of a new target with the target's own recipe or a different one.

    Args:
        trains: The ``model_type`` of a row of ``FRAMEWORKS``.
        model: Untrained model, of which recipes train copies.
        recipe: The target's own recipe.
        wrap: ``(trained model, *, train, **options) -> Target``.
        classes: Classes whose positions the recipe reads as labels; None if it reads the labels themselves.
        device: Device that trains a torch module.
        text: Text with which the user identifies the own recipe, if any.
        distil: The user's function that trains on soft labels, if any; it belongs to the own recipe.
    """

    trains: str
    model: Any
    recipe: Any
    wrap: Callable[..., "Target"]
    classes: np.ndarray | None = None
    device: str = AUTO
    text: str | None = None
    distil: Callable | None = None

    def __call__(self, recipe: Any, members: Data, rng: np.random.Generator) -> "Target":
        """Train a target on members, with a recipe that also trains its references.

        Args:
            recipe: None for the target's own.
            members: Records in the form that the target reads.
        """
        chosen = recipe or self.recipe
        with prefer_device(self.device):
            trained = chosen(self.model, with_positions(members, self.classes, chosen), rng)
        options: dict[str, Any] = {"recipe": self.text, "distil": self.distil}
        if recipe is not None:
            options = {"recipe": self.text and f"{self.text}\n{describe(recipe)}"}
        options = {name: value for name, value in options.items() if value is not None}
        return self.wrap(trained, train=chosen, **options)


class KnnSpace(NamedTuple):
    """Space of a K-NN model: (records, features), the number of neighbours, and the metric."""

    x: np.ndarray
    k: int
    metric: str


class Trees(NamedTuple):
    """Leaves of a tree model: (records, trees) numbers of leaves, and the counts in the model file.

    ``held`` is a table per tree: (leaves,) training records in each leaf, or (leaves, classes) by class; None if the model
    stores no counts. ``weight`` is the contribution of each record to them, (records, trees); None if it is 1.
    """

    leaf: np.ndarray
    held: tuple[np.ndarray, ...] | None
    weight: np.ndarray | None = None


class WhiteBoxFeatures(NamedTuple):
    """Features of records from a model's parameters: (records, features), and their names."""

    features: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True)
class Reads:
    """Form of the features that a model reads.

    Args:
        features: Names of the columns that the model reads; None if they are not known.
        arrays: True if a table of numbers must be converted to an array.
        width: Number of columns that the model reads; None if it is not known.
        documents: True if the model reads one text per record instead of a table.
    """

    features: tuple[str, ...] | None = None
    arrays: bool = False
    width: int | None = None
    documents: bool = False

    def fitting(self, data: Data, side: str) -> Data:
        """Return the records with features in the form that the model reads."""
        x = _documents(data, side) if self.documents else data.x
        if isinstance(x, np.ndarray) and x.ndim == 1 and self.features is not None:
            if len(self.features) != 1:
                raise InputError(
                    f"The model was fitted on the columns {', '.join(self.features)}, but {side} is one text per record. "
                    "Pass a table with these columns."
                )
            x = pd.DataFrame({self.features[0]: x})
        if isinstance(x, pd.DataFrame) and self.features is not None:
            missing = [name for name in self.features if name not in x.columns]
            if missing:
                raise InputError(
                    f"{side} lacks features that the model was fitted on: {', '.join(missing)}. Add these columns. A column "
                    "that you pass as label= (--label), id= (--id) or person= (--person) is not a feature."
                )
            x = x[list(self.features)]
        if isinstance(x, pd.DataFrame) and self.arrays:
            if self.width is not None and len(x.columns) - len(data.groups) == self.width:
                x = x.drop(columns=list(data.groups))  # groups that are not features
            try:
                x = x.to_numpy(dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"The model was fitted on an array, but {side} has columns that are not numbers ({reason(error)}). "
                    "Audit the full pipeline including its encoder, or pass the encoded array."
                ) from error
        return data.changed(x=x)


def _documents(data: Data, side: str) -> np.ndarray:
    """Return (records,) texts, from an array or from the only column of a table that is not a group."""
    x = data.x
    if isinstance(x, pd.DataFrame):
        columns = [name for name in x.columns if name not in data.groups] or list(x.columns)
        if len(columns) != 1:
            raise InputError(
                f"The model reads one text per record, but {side} has the columns {', '.join(map(str, columns))}. Pass a "
                "table with one text column, apart from label, groups and ids."
            )
        return x[columns[0]].to_numpy(dtype=object)
    if x.ndim == 2 and x.shape[1] == 1:
        return x[:, 0].astype(object)
    return x


@dataclass(frozen=True)
class Target:
    """A model that can be queried, and the recipe that trains its references.

    Create one with ``estimator_target``, ``torch_target``, ``onnx_target`` or ``function_target``.

    Attributes:
        predict: Function from features to (records, classes) outputs on the given ``scale``, columns ordered as ``classes``;
            for the scale ``values``, to (records,) predicted numbers.
        classes: Labels, one per column of the outputs; empty for regression.
        scale: ``Probabilities()``, ``Logits()`` (preferred: they never saturate), ``Labels()`` or ``Values()``.
        recipe: Text that changes if the training changes; part of the audit's fingerprint.
        name: Name in reports.
        reads: Form of the features.
        can: Capability, from ``CAPABILITIES``, to the function that implements it.
        cannot: Capability to the reason why the target lacks it, if there is one.
        training: Description of the training and of the attacker's knowledge of it.
        notes: Codes of diagnostics about the training of references, with their values.

    Raises:
        InputError: If the classes do not fit the scale.
        ValueError: If a capability is unknown.

    Examples:
        >>> model, _, _ = gl.testing.small_model()
        >>> target = gl.estimator_target(model)
        >>> target.name, target.classes.tolist(), target.scale.name
        ('DecisionTreeClassifier', [0, 1], 'probabilities')
        >>> "train" in target.can  # so reference models can be trained
        True
    """

    predict: Predict
    classes: np.ndarray = field(default_factory=lambda: np.array([]))
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
                    "A model that predicts values has no classes; found "
                    f"classes={short_repr(np.asarray(self.classes).tolist())}. Remove classes=."
                )
        elif np.ndim(self.classes) != 1:
            raise InputError(
                f"classes={short_repr(np.asarray(self.classes).tolist())} must be a list of labels, one per output "
                "column, such as [0, 1]."
            )
        elif not len(self.classes):
            raise InputError(
                "The classes of the output columns are unknown. Pass classes=[…], or scale='values' for a regression."
            )
        elif len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError(
                "A classifier needs at least two classes, each with its own name; found "
                + ", ".join(map(str, self.classes))
                + "."
            )

    @property
    def columns(self) -> int:
        """Number of columns of the outputs: one per class, or one for a predicted value."""
        return len(self.classes) or 1

    def labels_of(self, y: np.ndarray) -> np.ndarray:
        """Return (records,) positions of the true classes, or true values."""
        if self.scale.has_classes:
            return encode(y, self.classes)
        return np.asarray(y, dtype=np.float64)

    def classes_of(self, y: np.ndarray) -> np.ndarray:
        """Return (records,) positions of the true classes; a regression has one class."""
        if self.scale.has_classes:
            return encode(y, self.classes)
        return np.zeros(len(y), dtype=np.int64)

    def fitting(self, data: Data, side: str) -> Data:
        """Return the records in the form that the model reads; labels of a regression become numbers."""
        data = self.reads.fitting(data, side)
        if self.scale.has_classes:
            return data
        return data.changed(y=_values(data.y, side))

    def needs(self, what: str, message: str = "") -> Callable[..., Any]:
        """Return the function of a capability; raise if the target lacks it.

        Args:
            message: Error message instead of that of ``CAPABILITIES``, with ``{name}`` and ``{why}``, the reason after a colon.
        """
        if what in self.can:
            return self.can[what]
        why = f": {self.cannot[what]}" if self.cannot.get(what) else ""
        raise InputError((message or f"{{name}} {CAPABILITIES[what]}{{why}}.").format(name=self.name, why=why))


def check_labelled(y: Any, source: str) -> None:
    """Raise if a label is missing.

    Args:
        y: (records,) labels.
        source: Name of the set of records, or path of its file, for the message.
    """
    missing = np.asarray(pd.isna(y))
    if missing.any():
        raise InputError(
            f"{source} has {missing.sum()} records without a label, first in row {missing.argmax()}. Fill in the labels, or "
            "drop these records."
        )


def _values(y: np.ndarray, side: str) -> np.ndarray:
    """Return labels of a regression as numbers."""
    check_labelled(y, side)
    try:
        values = np.asarray(y).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The model predicts numbers, but {side} has labels that are not numbers ({reason(error)}). Check label= "
            "(--label)."
        ) from error
    if np.isinf(values).any():
        raise InputError(
            f"{side} has {np.isinf(values).sum()} infinite labels, first in row {np.isinf(values).argmax()}. Fix them, or "
            "drop these records."
        )
    return values


def with_positions(data: Data, classes: np.ndarray | None, recipe: Any) -> Data:
    """Return the records with positions of classes as labels, unless it is a regression or the recipe reads the user's labels."""
    if classes is None or not len(classes) or getattr(recipe, "given_labels", False):
        return data
    return data.changed(y=encode(data.y, classes))


def train_on_values(train: Trainer, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
    """Train on predicted values instead of true ones: soft labels of a regression."""
    return train(data.changed(y=soft[:, 0]), rng)


def predict_outputs(predict: Predict, x, columns: int, scale: Scale) -> np.ndarray:
    """Query one model and check its outputs.

    Args:
        predict: Function from features to outputs.
        x: Features as the model reads them.
        columns: Number of columns of the outputs.
        scale: Scale of the outputs.

    Returns:
        (records, columns) float64 outputs.

    Raises:
        InputError: If the outputs have another shape, or cannot be on this scale.
    """
    outputs = np.asarray(query(predict, x), dtype=np.float64)
    if not scale.has_classes and outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.shape != (len(x), columns):
        means = "(records, classes)" if scale.has_classes else "(records, 1): one predicted value per record"
        is_labels = scale.has_classes and outputs.ndim == 1
        remedy = " If they are predicted labels, pass scale='labels'." if is_labels else ""
        raise InputError(
            f"The model's outputs must have the shape {(len(x), columns)} {means}; found {outputs.shape}.{remedy}"
        )
    scale.check(outputs)
    return outputs


def as_target(model, train: Recipe | Callable | None = None, name: str | None = None) -> Target:
    """Return the target of a fitted model, of a model file, or the target itself.

    Args:
        model: Target, path of a model file, or model of a framework in ``FRAMEWORKS``.
        train: Training of references, if the model does not define it: a function ``(data, rng) -> model``, or for an
            estimator a recipe ``(model, data, rng) -> model``.
        name: Name in reports, if it is not that of the model's class.

    Returns:
        The target.

    Raises:
        InputError: If the model is a class, not fitted, of an unknown type, or needs a target of its framework.
        ValueError: If ``name`` is not a text.
    """
    if name is not None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"Expected name={short_repr(name)} to be a text.")
        return replace(as_target(model, train), name=name)
    if isinstance(model, str | Path):
        from guestlist.models.files import load_model

        model = load_model(model)
    if isinstance(model, Target):
        if train is None:
            return model
        from guestlist.models.estimators import trained_by

        return trained_by(model, train)
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class. Pass a fitted model: {model.__name__}(…).fit(x, y).")
    framework = framework_of(model)
    if framework is None:
        raise InputError(
            f"{type(model).__name__} is not a fitted scikit-learn-style classifier or regressor. Wrap other models with "
            "gl.function_target(predict, classes=..., train=...)."
        )
    if framework.query is None:
        raise InputError(framework.advice)
    return framework.query(model, train=train)


def function_target(
    predict: Predict,
    *,
    classes=None,
    train: Trainer | None = None,
    distil: SoftTrainer | None = None,
    scale: Scale | str = "probabilities",
    recipe: str | None = None,
    name: str | None = None,
    params: Any = None,
    batch_size: int | None = None,
) -> Target:
    """Return a target from a function.

    Args:
        predict: Function from features to (records, classes) outputs, or of two classes to (records,) of the second; to
            (records,) numbers for the scale ``values``, and to (records,) labels for the scale ``labels``. With ``params``, a
            function ``(params, x) -> outputs``.
        classes: Labels, one per column of the outputs; None for ``values``.
        train: ``(data, rng) -> predict``; trains one reference on ``data.x`` and ``data.y`` with all its
            randomness from ``rng``. Without it, only the attacks that need no references run.
        distil: ``(data, soft, rng) -> predict``, the same with (records, classes) probabilities instead of labels;
            not needed for ``values``.
        scale: ``probabilities``, ``logits``, ``labels`` or ``values``.
        recipe: Text that identifies ``train`` across runs; by default its source code and closure.
        name: Name in reports; by default that of the function.
        params: Parameters of the model, as for a function of JAX. ``train`` and ``distil`` then return parameters.
        batch_size: Largest number of records in one call of ``predict``; by default all.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the classes do not fit the scale.
        ValueError: If the scale is unknown, or the batch size is not positive.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> target = gl.function_target(model.predict_proba, classes=[0, 1], name="service")
        >>> results = gl.audit(target, members, nonmembers, attacks=["loss"], baseline=False)
        >>> results.subject.name
        'service'
    """
    scale = as_scale(scale)
    can: dict[str, Callable] = {}
    if train is not None:
        can["train"] = as_function(train)
    if distil is not None:
        can["distil"] = distil
    if batch_size is not None:
        batch_size = integer("batch_size", batch_size, low=1)
    wrapper = functools.partial(
        _as_predict,
        of_params=None if params is None else predict,
        batch_size=batch_size,
        classes=np.asarray(classes) if np.ndim(classes) == 1 else np.array([]),
        scale=scale.name,
    )
    can = {capability: WrappedTrainer(train_one, wrapper) for capability, train_one in can.items()}
    if distil is None and train is not None and not scale.has_classes:
        can["distil"] = functools.partial(train_on_values, can["train"])
    if recipe is None:
        recipe = describe([train, distil] if distil else train)
    target = Target(
        predict=wrapper(predict if params is None else params),
        classes=np.array([] if classes is None else classes),
        scale=scale,
        recipe=recipe,
        name=name or _function_name(predict),
        can=can,
    )
    if train is None:
        return target
    return replace(target, can={**can, "retrain": RetrainFunction(target)})


def _function_name(predict: Any) -> str:
    """Return the name of a function, of the function in a ``partial``, or of a callable's class; "function" for a lambda."""
    while isinstance(predict, functools.partial):
        predict = predict.func
    name = str(getattr(predict, "__name__", type(predict).__name__))
    if name == "<lambda>":
        return "function"
    return name


def several_outputs(model: str = "model", scale: str = "probabilities") -> str:
    """Return the error message about a model that predicts several outputs, with the lines that audit them.

    Args:
        model: Python expression of the model, or of a function that returns its outputs.
        scale: Scale of the outputs.
    """
    outputs = '[*range(y.shape[1]), "all"]'
    advice = "In Python, audit each output, and all together"
    options = ""
    if scale == "values":
        outputs = "range(y.shape[1])"
        advice = "In Python, audit each output"
    if scale == "values" and model != "model":
        options = ', scale="values"'
    return (
        f"The model predicts several outputs, and an audit reads one label per record. {advice}:\n"
        f"    for output in {outputs}:\n"
        f"        target, *records = gl.models.select_output({model}, output, (x, y), (x2, y2){options})\n"
        '        gl.audit(target, *records).to_html(f"output_{output}.html")'
    )


def by_class(outputs: Any, classes: np.ndarray) -> Any:
    """Return outputs with columns in the order of the classes, if they are a table with named columns.

    The name of a column is its class, or ends with it (``p_yes``). A table without names, or an array, is returned unchanged.
    """
    if not (hasattr(outputs, "columns") and hasattr(outputs, "to_numpy")) or len(outputs.columns) != len(classes):
        return outputs
    names = list(outputs.columns)
    if names == list(range(len(names))) and set(names) != set(classes.tolist()):
        return outputs  # pandas counts the columns of a table that got no names
    positions = [_positions_of(label, names) for label in classes.tolist()]
    if sorted(positions) != [[index] for index in range(len(names))]:
        raise InputError(
            f"The model's outputs have columns named {short_repr(names)}, and its classes are {short_repr(classes.tolist())}: "
            "guestlist cannot match them. Name the columns after the classes, or return an array in the order of the classes."
        )
    return np.asarray(outputs.to_numpy())[:, [index for (index,) in positions]]


def aligned_columns(outputs: np.ndarray, columns: np.ndarray, classes: np.ndarray, missing: Any = 0.0) -> np.ndarray:
    """Return (records, classes) outputs from those with other columns; classes without a column get ``missing``."""
    aligned = np.full((len(outputs), len(classes)), missing)
    aligned[:, encode(columns, classes)] = outputs
    return aligned


def _positions_of(label: Any, names: list[Any]) -> list[int]:
    """Return the columns that are named after a class; if there are none, those with a name that ends with it."""
    ending = re.compile(rf"[\W_]{re.escape(str(label))}$")
    exact = [index for index, name in enumerate(names) if name == label or str(name) == str(label)]
    return exact or [index for index, name in enumerate(names) if ending.search(str(name))]


def both_classes(outputs: np.ndarray, scale: str) -> np.ndarray:
    """Return (records, 2) probabilities or logits from those of the second class, (records,) or (records, 1)."""
    second = outputs.reshape(len(outputs), 1)
    first = 1 - second if scale == "probabilities" else np.zeros_like(second)
    return np.hstack([first, second])


@dataclass(frozen=True)
class ColumnOrderPredict:
    """Function that outputs labels, a table with a column per class, or numbers of the second of two classes."""

    predict: Predict
    classes: np.ndarray
    scale: str

    def __call__(self, x) -> np.ndarray:
        outputs = np.asarray(by_class(self.predict(x), self.classes))
        if outputs.ndim not in (1, 2) or outputs.shape[1:] not in ((), (1,)):
            return outputs
        if self.scale == "labels":
            return one_hot_labels(outputs, self.classes)
        if len(self.classes) == 2 and outputs.dtype.kind == "f":  # whole numbers are predicted labels
            return both_classes(outputs, self.scale)
        return outputs


def one_hot_labels(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return (records, classes): 1 for the label of each record, 0 for the other classes."""
    positions = encode(labels.reshape(len(labels)), classes)
    if (positions < 0).any():
        raise InputError(
            f"The model predicts {str(labels[(positions < 0).argmax()])!r}, which is not one of its classes. Check classes= "
            "(--class)."
        )
    return np.eye(len(classes))[positions]


@dataclass(frozen=True)
class WrappedTrainer:
    """Train one model, and return the function that queries it."""

    train: Callable
    wrapper: Callable[[Any], Predict]

    def __call__(self, *arguments) -> Predict:
        return self.wrapper(self.train(*arguments))


def _as_predict(
    returned: Any, *, of_params: Callable[..., Any] | None, batch_size: int | None, classes: np.ndarray, scale: str
) -> Predict:
    """Return a function of features from what a user's function returned: such a function, or parameters of ``of_params``."""
    if of_params is not None:
        returned = functools.partial(of_params, returned)
    if batch_size is not None:
        returned = _BatchedPredict(returned, batch_size)
    if len(classes):
        returned = ColumnOrderPredict(returned, classes, scale)
    return returned


@dataclass(frozen=True)
class _BatchedPredict:
    """Function of features, called with at most ``batch_size`` records."""

    predict: Predict
    batch_size: int

    def __call__(self, x) -> np.ndarray:
        starts = range(0, len(x), self.batch_size)
        parts: list[Any] = [self.predict(x[start : start + self.batch_size]) for start in starts]
        if all(isinstance(part, pd.DataFrame) for part in parts):
            return pd.concat(parts, ignore_index=True)
        return np.concatenate([np.asarray(part) for part in parts])


@dataclass(frozen=True)
class RetrainFunction:
    """Training of a function's target: it has no model and accepts no other recipe; see :class:`Retraining`."""

    target: Target
    trains: ClassVar[str] = "function"
    model: None = None
    recipe: None = None

    def __call__(self, recipe, members: Data, rng: np.random.Generator) -> Target:
        if recipe is not None:
            raise InputError(
                f"{self.target.name} is a function and cannot be trained by another recipe. Wrap the model with "
                "gl.torch_target or gl.estimator_target instead."
            )
        return replace(
            self.target, predict=self.target.can["train"](members, rng), can={**self.target.can, "retrain": self}
        )


def train_target(target: Target, members, *, label: str | None = None, seed: int = 0) -> Target:
    """Train a target on its members with its own recipe, from new random parameters.

    Reference models are trained in the same way. The trained target keeps the recipe.

    Args:
        target: Target with a training recipe, such as ``torch_target(module, train=Fit())``.
        members: Training records: ``(x, y)``, a table with a ``label`` column, or a path to one.
        label: Label column of the table.
        seed: Random seed.

    Returns:
        The trained target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the target has no training recipe, or does not fit the records.
        ValueError: If the seed is out of range.

    Examples:
        >>> import torch
        >>> _, members, nonmembers = gl.testing.small_model()
        >>> target = gl.torch_target(torch.nn.Linear(20, 2), train=gl.defences.Fit(epochs=2))
        >>> trained = gl.models.train_target(target, members, seed=1)
        >>> results = gl.audit(trained, members, nonmembers, references=4, attacks=["loss"], baseline=False, jobs=1)
        >>> results.references.count
        4
    """
    from guestlist.models.input_checks import check_sides

    rng = np.random.default_rng(integer("seed", seed))
    retrain = target.needs("retrain")
    records = target.fitting(as_data(members, side="members", label=label, group=(), id=None, person=None), "members")
    check_sides({"members": records}, target.classes)
    with one_thread(), global_generators(rng), model_code():
        return retrain(None, records.copied(), rng)
