"""Models with several outputs: audits of one output, and of all outputs together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from guestlist._store import text_digest
from guestlist._util import FitParams, describe, short_repr
from guestlist.data import Data, as_data, encode
from guestlist.defences import Recipe, Refit, as_recipe, check_arguments, training_of
from guestlist.errors import InputError
from guestlist.models.estimators import classes_per_output, name_of, reads_of, untrained_model
from guestlist.models.frameworks import FRAMEWORKS
from guestlist.models.scales import as_scale
from guestlist.models.target import Predict, Reads, Target, aligned_columns, one_hot_labels

ALL = "all"  # outputs
OTHER = "other"  # class of every combination of labels that no record has
SIDES = ("members", "nonmembers", "population")
LABELS = "labels of all outputs"  # name of the values that accompany the records to the training
MAX_COMBINATIONS = 2_000


def select_output(
    model,
    output: int | str,
    *records,
    train: Recipe | Callable | None = None,
    scale: str | None = None,
) -> tuple[Any, ...]:
    """Select one output of a model with several outputs, or all of them together, for an audit.

    An audit reads one label per record. For one output it is the label of that output. For all outputs it is the combination of
    their labels, whose probability is the product of the probabilities of the outputs; so the loss of a record is the sum of its
    losses. Reference models train on all outputs, like the target.

    Args:
        model: Fitted multi-output or multi-label estimator; or a function from features to a list of (records, classes)
            probabilities per output, to (records, outputs) probabilities of label 1, or to (records, outputs) values.
        output: Number of the output, from 0; or ``"all"``, for classifiers.
        records: Members, non-members and, if any, the population: each ``(x, y)`` or ``Data`` with (records, outputs) labels.
        train: Training of reference models: a function ``(data, rng) -> model``, where ``data.y`` has the labels of all outputs;
            by default ``clone(model).fit``. Without it a function has no reference models.
        scale: ``probabilities`` or ``values``, for a function; ``probabilities`` by default.

    Returns:
        The target, and each set of records with one label per record, in the order of the arguments of ``audit``.

    Raises:
        InputError: If the labels do not have one column per output, or there is no such output.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(400, 4))
        >>> y = (x[:, :2] + rng.normal(size=(400, 2)) > 0).astype(int)
        >>> members, nonmembers = (x[:200], y[:200]), (x[200:], y[200:])
        >>> model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(*members)
        >>> target, *records = gl.models.select_output(model, "all", members, nonmembers)
        >>> target.name, target.classes.tolist()
        ('DecisionTreeClassifier, all outputs', ['0, 0', '0, 1', '1, 0', '1, 1', 'other'])
        >>> results = gl.audit(target, *records, references=4, jobs=1, progress=False)
        >>> results.references.count
        4
    """
    if not 2 <= len(records) <= len(SIDES):
        raise InputError(
            f"select_output needs members and nonmembers, and accepts a population; found {len(records)} sets of records."
        )
    labels = [_labels(source, side) for source, side in zip(records, SIDES, strict=False)]
    n_outputs = labels[0].shape[1]
    if any(part.shape[1] != n_outputs for part in labels):
        raise InputError(
            "Every set needs labels with the same number of columns; found the shapes "
            f"{', '.join(str(part.shape) for part in labels)}."
        )
    if output != ALL and not (isinstance(output, int | np.integer) and 0 <= output < n_outputs):
        raise InputError(
            f"output={short_repr(output)} must be a number from 0 to {n_outputs - 1}, or 'all': the labels have {n_outputs} "
            "columns."
        )
    if FRAMEWORKS["keras"].recognises(model) or not (hasattr(model, "predict") or callable(model)):
        raise InputError(
            f"{type(model).__name__} is neither a fitted estimator nor a function. Pass a function, for Keras: "
            "lambda x: model.predict(x, verbose=0)."
        )
    reader = _reader(model, labels, scale)
    if output == ALL:
        selection: OneOutput | AllOutputs = _combined(reader, labels)
    else:
        selection = OneOutput(reader, int(output))
    sets = []
    for source, all_labels, side in zip(records, labels, SIDES, strict=False):
        y = selection.labels_of(all_labels)
        data = source.changed(y=y) if isinstance(source, Data) else as_data((source[0], y), side=side)
        # Reference models train on the labels of all outputs.
        sets.append(data.changed(fit_params=FitParams(values={LABELS: all_labels})))
    return (_target(model, selection, labels, train), *sets)


def _labels(source: Any, side: str) -> np.ndarray:
    """Return the (records, outputs) labels of a set."""
    labels = source.y if isinstance(source, Data) else None
    if isinstance(source, tuple) and len(source) == 2:
        labels = source[1]
    if labels is None:
        raise InputError(
            f"{side} must be (x, y), or gl.Data(x, y, …); found an object of type {type(source).__name__}."
        )
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.shape[1] < 2:
        raise InputError(
            f"{side} needs labels of several outputs, (records, outputs); found labels shaped {labels.shape}. Pass the model to "
            "gl.audit if it has one output."
        )
    return labels


@dataclass(frozen=True)
class OutputReader:
    """Reader of the outputs of a model, one array per output.

    Args:
        classes: Labels of each output; empty for values.
        scale: Scale of the outputs.
    """

    classes: tuple[np.ndarray, ...]
    scale: str

    def __call__(self, model, x) -> list[np.ndarray]:
        """Return a (records, classes) array per output; (records,) for values."""
        if self.scale == "probabilities":
            return self._probabilities(model, x)
        predicted = np.asarray(model.predict(x) if hasattr(model, "predict") else model(x))
        if self.scale == "values":
            return list(predicted.T)
        return [one_hot_labels(predicted[:, j], classes) for j, classes in enumerate(self.classes)]

    def _probabilities(self, model, x) -> list[np.ndarray]:
        if hasattr(model, "predict_proba"):
            outputs = model.predict_proba(x)
        elif hasattr(model, "decision_function"):
            outputs = expit(model.decision_function(x))
        else:
            outputs = model(x)
        if not isinstance(outputs, list | tuple):
            outputs = list(np.asarray(outputs).T)  # probabilities of the second label
        if len(outputs) != len(self.classes):
            raise InputError(f"The model has {len(outputs)} outputs, but the labels have {len(self.classes)} columns.")
        present = classes_per_output(model) or self.classes
        return [_aligned(*parts) for parts in zip(outputs, present, self.classes, strict=True)]


def _aligned(outputs: Any, present: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return (records, classes) probabilities of one output; a class that the model lacks gets 0."""
    outputs = np.asarray(outputs, dtype=np.float64)
    outputs = outputs.reshape(len(outputs), -1)
    if outputs.shape[1] == 1 and len(present) == 2:
        outputs = np.column_stack([1 - outputs, outputs])
    if outputs.shape[1] != len(present):
        raise InputError(
            f"An output of the model has {outputs.shape[1]} columns for the labels {short_repr(present.tolist())}. Return one "
            "column per label."
        )
    return aligned_columns(outputs, present, classes)


def _reader(model, labels: Sequence[np.ndarray], scale: str | None) -> OutputReader:
    """Return the reader of a model's outputs; its classes are those of the model, or else those of the labels."""
    from sklearn.base import is_regressor

    if scale not in (None, "probabilities", "values"):
        raise InputError(f"scale={short_repr(scale)} must be 'probabilities' or 'values'.")
    if scale == "values" or (hasattr(model, "get_params") and is_regressor(model)):
        return OutputReader((), "values")
    classes = classes_per_output(model)
    if classes is None:
        classes = [_labels_of_column(column) for column in np.concatenate(labels).T]
    if len(classes) != labels[0].shape[1]:
        raise InputError(f"The model has {len(classes)} outputs, but the labels have {labels[0].shape[1]} columns.")
    has_probabilities = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    only_labels = hasattr(model, "predict") and not has_probabilities
    return OutputReader(tuple(classes), "labels" if only_labels else "probabilities")


def _labels_of_column(column: np.ndarray) -> np.ndarray:
    """Return the labels of an output; 0 and 1 if the records have only one of them."""
    labels = np.unique(column)
    if len(labels) == 1 and labels[0] in (0, 1):
        return np.array([0, 1], dtype=labels.dtype)
    return labels


@dataclass(frozen=True)
class OneOutput:
    """Selection of one output."""

    reader: OutputReader
    output: int

    @property
    def classes(self) -> np.ndarray:
        """Labels of the output; empty for values."""
        if self.reader.scale == "values":
            return np.array([])
        return self.reader.classes[self.output]

    @property
    def name(self) -> str:
        return f"output {self.output}"

    def labels_of(self, labels: np.ndarray) -> np.ndarray:
        """Return (records,) labels of the output."""
        return labels[:, self.output]

    def __call__(self, model, x) -> np.ndarray:
        """Return the outputs for this label."""
        return self.reader(model, x)[self.output]


@dataclass(frozen=True)
class AllOutputs:
    """All outputs together: each combination of labels is a class.

    Args:
        combinations: (combinations, outputs) positions of the labels among the classes of each output.
    """

    reader: OutputReader
    combinations: np.ndarray
    name = "all outputs"

    @property
    def classes(self) -> np.ndarray:
        """Names of the combinations, and one for all other combinations."""
        columns = [classes[self.combinations[:, j]] for j, classes in enumerate(self.reader.classes)]
        return np.array([*_joined(columns), OTHER], dtype=object)

    def labels_of(self, labels: np.ndarray) -> np.ndarray:
        """Return (records,) names of the combinations."""
        codes = _codes(self.reader, labels)
        return _joined([classes[codes[:, j]] for j, classes in enumerate(self.reader.classes)])

    def __call__(self, model, x) -> np.ndarray:
        """Return (records, combinations + 1) probabilities: products over the outputs, and the remainder."""
        outputs = self.reader(model, x)
        product = np.ones((len(outputs[0]), len(self.combinations)))
        for j, probabilities in enumerate(outputs):
            product *= probabilities[:, self.combinations[:, j]]
        return np.column_stack([product, np.clip(1 - product.sum(axis=1), 0, None)])


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([", ".join(map(str, row)) for row in zip(*columns, strict=True)], dtype=object)


def _codes(reader: OutputReader, labels: np.ndarray) -> np.ndarray:
    """Return (records, outputs) positions of the labels among the classes of each output."""
    codes = np.column_stack([encode(labels[:, j], classes) for j, classes in enumerate(reader.classes)])
    if (codes < 0).any():
        row, j = np.argwhere(codes < 0)[0]
        raise InputError(
            f"The model does not know the label {str(labels[row, j])!r} of output {j}. Its labels are "
            f"{short_repr(reader.classes[j].tolist())}."
        )
    return codes


def _combined(reader: OutputReader, labels: Sequence[np.ndarray]) -> AllOutputs:
    if reader.scale == "values":
        raise InputError(
            "output='all' needs a classifier, and this model predicts values. Audit its outputs one by one."
        )
    combinations = np.unique(np.concatenate([_codes(reader, part) for part in labels]), axis=0)
    if len(combinations) > MAX_COMBINATIONS:
        raise InputError(
            f"The records have {len(combinations):,} combinations of labels, and output='all' supports at most "
            f"{MAX_COMBINATIONS:,}. Audit the outputs one by one, or pass fewer columns of labels and outputs."
        )
    return AllOutputs(reader, combinations)


@dataclass(frozen=True)
class OutputPredict:
    """The selected outputs of a fitted model."""

    model: Any  # searched for stored records
    selection: OneOutput | AllOutputs

    def __call__(self, x) -> np.ndarray:
        return self.selection(self.model, x)


@dataclass(frozen=True)
class TrainAllOutputs:
    """Train one reference on the labels of all outputs, and select the output of the audit.

    Args:
        model: Unfitted estimator; None for a function.
        recipe: Recipe ``(model, data, rng) -> fitted model``.
    """

    model: Any
    recipe: Any
    selection: OneOutput | AllOutputs

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        labels = None if data.fit_params is None else data.fit_params.values.get(LABELS)
        if labels is None:
            raise InputError(
                "The records have no labels of all outputs, which reference models train on. Pass the records that select_output "
                "returned."
            )
        records = data.changed(y=labels, fit_params=_user_params(data.fit_params))
        return OutputPredict(self.recipe(self.model, records, rng), self.selection)

    def check_fit_params(self, params: FitParams | None) -> None:
        """Raise, before anything is trained, for arguments that ``fit`` does not accept."""
        if isinstance(self.recipe, Refit):
            check_arguments(self.model, _user_params(params).arguments)


def _user_params(params: FitParams | None) -> FitParams:
    """Return the user's arguments of ``fit``, without the labels of all outputs."""
    if params is None:
        return FitParams()
    return FitParams(params.options, {name: values for name, values in params.values.items() if name != LABELS})


def _target(
    model, selection: OneOutput | AllOutputs, labels: Sequence[np.ndarray], train: Recipe | Callable | None
) -> Target:
    is_estimator = hasattr(model, "get_params")
    can: dict[str, Callable] = {}
    training = None
    # The labels of all outputs are part of the training, and an audit only knows one label of each record.
    identity = [selection.name, text_digest(*(describe(part.tolist()) for part in labels))]
    if train is not None or is_estimator:
        recipe = as_recipe(Refit() if train is None else train)
        untrained = untrained_model(model).model if is_estimator else None
        can["train"] = TrainAllOutputs(untrained, recipe, selection)
        training = training_of(recipe, model=" ".join(repr(untrained).split()) if train is None else "")
        identity += [describe(untrained), describe(recipe)]
    name = name_of(model) if is_estimator else "function"
    return Target(
        predict=OutputPredict(model, selection),
        classes=selection.classes,
        scale=as_scale(selection.reader.scale),
        recipe="\n".join(identity),
        name=f"{name}, {selection.name}",
        reads=reads_of(model) if is_estimator else Reads(),
        can=can,
        training=training,
    )
