"""A fitted scikit-learn-style classifier or regressor is its own recipe: ``clone(model).fit`` trains the references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from guestlist.data import Data, encode
from guestlist.defences.recipe import Recipe, as_function, as_recipe
from guestlist.defences.refit import Refit, check_arguments, weight_parameter
from guestlist.defences.training import training_of
from guestlist.defences.unfitted import package_of, unfitted
from guestlist.errors import InputError
from guestlist.fingerprints import describe, last
from guestlist.fit_params import FitParams
from guestlist.targets.boosted import Start, start_of
from guestlist.targets.frameworks import FRAMEWORKS
from guestlist.targets.leverage import linear_leverage
from guestlist.targets.scales import Labels, Logits, Probabilities, Scale, Values
from guestlist.targets.target import (
    Neighbours,
    Predict,
    Reads,
    RetrainFunction,
    Target,
    TaughtByValues,
    by_class,
    one_of,
)
from guestlist.targets.trees import reaching_last, tree_leaves
from guestlist.targets.weights import WEIGHTS, saw_weights


def estimator_target(
    model, *, train: Recipe | Callable | None = None, untrained=None, recipe: str | None = None
) -> Target:
    """A target from a fitted classifier with ``predict_proba`` (or ``decision_function``), or from a fitted regressor.

    A classifier that has neither, as one that votes hard, tells labels alone.

    Args:
        train: how references are trained: a recipe ``(model, data, rng) -> fitted model``, or a function
            ``(data, rng) -> fitted model``; by default :class:`guestlist.defences.Refit`, a clone fitted anew.
        untrained: what the recipe trains copies of, if that is not a clone of ``model``: a recipe may return another
            kind of model than it is given.
        recipe: text that identifies ``train`` across runs; by default its settings or its source code.
    """
    scale = _scale(model)
    classes = _classes(model) if scale.has_classes else np.array([])
    how = as_recipe(Refit() if train is None else train)
    frozen = _frozen(model) if train is None else ""
    begun = start_of(model) if untrained is None else Start(unfitted(untrained))
    start = begun.model  # unfitted: it travels to every worker
    train_one = Train(start, classes, how)
    can: dict[str, Callable] = {} if frozen else {"train": train_one, "retrain": Retrain(train_one.model, how, recipe)}
    cannot = {"train": frozen, "distil": frozen or _unweighted(model, how)} if scale.has_classes else {"train": frozen}
    if not frozen and not scale.has_classes:
        can["distil"] = TaughtByValues(train_one)
    elif not cannot.get("distil"):
        can["distil"] = SoftTrain(train_one)
    looking = {"neighbours": _neighbours(model), "leaves": tree_leaves(model), "leverage": linear_leverage(model)}
    can |= {name: find for name, find in looking.items() if find}
    return Target(
        predict=Answers(model, classes) if scale.has_classes else Numbers(model),
        classes=classes,
        scale=scale,
        recipe=f"{FRAMEWORKS['scikit-learn'].describe(start)}\n{describe(how)}" if recipe is None else recipe,
        name=_name(model),
        reads=reads_of(model),
        can=can,
        cannot=cannot,
        training=training_of(how, model=" ".join(repr(start).split()) if train is None else ""),
        notes=_notes(model, begun, trained_otherwise=train is not None),
    )


def query_estimator(model, train: Recipe | Callable | None) -> Target:
    """Wrap a fitted estimator with the recipe of its references."""
    return estimator_target(model, train=train)


def retrain_estimator(model, recipe: Recipe, data: Data, members: np.ndarray, fit: Callable, **_options: Any) -> Target:
    """Train a target on the members among some records; see :class:`guestlist.targets.frameworks.Framework`."""
    fitted = fit(recipe, model, reads_of(model).fitting(data, "data").copied(members))
    return estimator_target(fitted, train=recipe, untrained=model)


def trained_by(target: Target, train: Callable) -> Target:
    """Return a target without a recipe, such as an ONNX file, with references trained by a function ``(data, rng) -> model``."""
    if "train" in target.can:
        raise InputError(
            f"{target.name} has a recipe already. Pass train= once: where the target is made, or to the audit."
        )
    train_one = TrainAlike(as_function(train), target.classes, target.scale)
    cannot = {name: why for name, why in target.cannot.items() if name != "train"}
    found = replace(
        target, recipe=f"{target.recipe}\n{describe(train)}", can={**target.can, "train": train_one}, cannot=cannot
    )
    return replace(found, can={**found.can, "retrain": RetrainFunction(found)})


@dataclass(frozen=True)
class TrainAlike:
    """Train one reference by a function of the user's, with outputs on the scale of the target.

    Args:
        train: returns a fitted estimator, or a function from features to outputs like those of the target.
    """

    train: Callable[[Data, np.random.Generator], Any]
    classes: np.ndarray
    scale: Scale

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        model = self.train(data, rng)
        if not hasattr(model, "predict"):
            return model
        if not self.scale.has_classes:
            return Numbers(model)
        own = _scale(model)
        if own.name != self.scale.name:
            raise InputError(
                f"train= returned a {type(model).__name__}, which outputs {own.name}, and the target outputs {self.scale.name}. "
                f"Return a function from features to {self.scale.name} instead."
            )
        return Answers(model, self.classes)


def check_fit(target: Target, params: FitParams | None) -> None:
    """Refuse a target whose estimator's ``fit`` cannot be called as references call it, before anything is trained."""
    how = target.can.get("train")
    if isinstance(how, Train) and isinstance(how.recipe, Refit):
        check_arguments(how.model, {} if params is None else params.arguments)


def with_fit_params(target: Target, params: FitParams) -> Target:
    """Return the target whose references are trained with these arguments for ``fit``; they are part of its identity."""
    how = target.needs(
        "train", "fit_params= are for the training of references, and {name} has no recipe to train them by{why}."
    )
    retraining = target.can.get("retrain")
    if getattr(retraining, "trains", "function") not in ("estimator", "function"):
        raise InputError(
            f"fit_params= are passed to fit of scikit-learn-style estimators, and {target.name} is trained by "
            f"{type(getattr(retraining, 'recipe', how)).__name__}. Set its options in train= where the target is made."
        )
    told = ", ".join(params.arguments)
    training = target.training and replace(target.training, recipe=f"{target.training.recipe} with fit({told})")
    weighted = any(last(name) == "sample_weight" for name in params.arguments)
    notes = {code: figures for code, figures in target.notes.items() if code != WEIGHTS or not weighted}
    identity = f"{target.recipe}\nfit {describe(dict(params.options))} {sorted(params.values)}"
    return replace(target, recipe=identity, training=training, notes=notes)


def _notes(model, begun: Start, trained_otherwise: bool) -> dict[str, dict[str, int | float | str]]:
    notes: dict[str, dict[str, int | float | str]] = {}
    if begun.rounds is not None:
        notes["GL126"] = {"rounds": begun.rounds, "most": begun.most or 0}
    if not trained_otherwise and saw_weights(model):
        notes[WEIGHTS] = {}
    return notes


def reads_of(model) -> Reads:
    """How features must look for an estimator to read them; of one that is not fitted, as far as that is known."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and package_of(model) == "catboost":
        own = model.feature_names_ if model.is_fitted() else None
        names = None if own == [str(position) for position in range(len(own or ()))] else own  # of an array, numbers
    return Reads(
        features=None if names is None else tuple(names),
        arrays=names is None and hasattr(model, "n_features_in_"),
        width=getattr(model, "n_features_in_", None),
        documents=_reads_documents(model),
    )


def _reads_documents(model) -> bool:
    """Whether what stands first in a model takes one text per record, as ``TfidfVectorizer`` does."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    if isinstance(model, CountVectorizer | HashingVectorizer):
        return model.input == "content"
    if getattr(model, "estimator", None) is not None:  # of a search, or of a calibrated model
        return _reads_documents(model.estimator)
    for name in ("steps", "transformer_list", "estimators"):  # of a pipeline, a union, a vote: pairs of name and part
        parts = [pair[1] for pair in getattr(model, name, None) or () if isinstance(pair, tuple)]
        if parts:
            return _reads_documents(next((part for part in parts if not isinstance(part, str)), None))
    return False


@dataclass(frozen=True)
class Answers:
    """A fitted estimator's answers, with columns ordered as ``classes``; a class it never saw gets 0."""

    model: object
    classes: np.ndarray
    own_classes: np.ndarray | None = None

    def __call__(self, x) -> np.ndarray:
        if not hasattr(self.model, "predict_proba"):
            decides = hasattr(self.model, "decision_function")
            return (_decisions if decides else _labels)(self.model, x, self.classes)
        own = _classes(self.model) if self.own_classes is None else self.own_classes
        found = np.asarray(by_class(self.model.predict_proba(x), own))
        if found.ndim != 2:
            raise InputError("The model answers for several outputs at once; audit one output at a time.")
        if np.array_equal(own, self.classes):
            return found
        aligned = np.zeros((len(found), len(self.classes)))
        aligned[:, encode(own, self.classes)] = found
        return aligned


@dataclass(frozen=True)
class Numbers:
    """A fitted regressor's predictions."""

    model: Any

    def __call__(self, x) -> np.ndarray:
        found = np.asarray(self.model.predict(x))
        if found.ndim == 2 and found.shape[1] > 1:
            raise InputError("The model predicts several values at once; audit one output at a time.")
        return found.reshape(len(found))


@dataclass(frozen=True)
class Train:
    """Train one reference by a recipe.

    Args:
        model: unfitted.
        classes: none for a regressor.
    """

    model: Any
    classes: np.ndarray
    recipe: Any

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        return self._trained(data, lambda model, given: self.recipe(model, given, rng))

    def weighted(self, data: Data, weight: np.ndarray, rng: np.random.Generator) -> Predict:
        """The same with a weight per record."""
        return self._trained(data, lambda model, given: self.recipe.weighted(model, given, weight, rng))

    def _trained(self, data: Data, train: Callable) -> Predict:
        if not len(self.classes):
            return _asked(train(self.model, data), Numbers)
        present, positions = np.unique(encode(data.y, self.classes), return_inverse=True)
        if len(present) < 2:
            raise InputError("A reference would train on one class only: the audit needs more records of the others.")
        # XGBoost takes the labels 0, 1, … without gaps, and a fitted one remembers an objective for all of them; a
        # reference may miss a rare class.
        if len(present) < len(self.classes) and type(self.model).__module__.startswith("xgboost"):
            trained = train(unfitted(self.model).set_params(objective=None), data.changed(y=positions))
            return _asked(trained, lambda model: Answers(model, self.classes, self.classes[present]))
        return _asked(train(self.model, data), lambda model: Answers(model, self.classes))


@dataclass(frozen=True)
class Retrain:
    """Train the target anew by its own recipe or by another.

    Args:
        model: unfitted.
        text: that the user gave to identify the recipe, if any.
    """

    model: Any
    recipe: Any
    text: str | None = None
    trains: ClassVar[str] = "estimator"

    def __call__(self, recipe, members: Data, rng: np.random.Generator) -> Target:
        how = self.recipe if recipe is None else recipe
        text = self.text if recipe is None or self.text is None else f"{self.text}\n{describe(how)}"
        return estimator_target(how(self.model, members, rng), train=how, untrained=self.model, recipe=text)


@dataclass(frozen=True)
class SoftTrain:
    """Train on probabilities in the place of labels: one copy of each record per class, weighted by its probability.

    Every loss that adds up over weighted records is then the expected loss under the soft labels. What counts
    records instead of weights (the scaler of a pipeline, a smallest leaf) sees each of them once per class.
    """

    train: Train

    def __call__(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        classes = self.train.classes
        copies = data.take(np.repeat(np.arange(len(data)), len(classes)))
        labelled = replace(copies, y=np.tile(classes, len(data)))
        return self.train.weighted(labelled, soft.ravel(), rng)


def _asked(trained, reader: Callable[[object], Predict]) -> Predict:
    """How a trained model is asked; what has no ``predict`` is a function that is asked as it is."""
    return reader(trained) if hasattr(trained, "predict") else trained


def _unweighted(model, recipe: Recipe) -> str:
    """Why soft labels cannot be taught, if they cannot."""
    if not hasattr(recipe, "weighted"):
        return f"its recipe, {type(recipe).__name__}, takes no weights of records"
    return "" if weight_parameter(model) else f"{_name(model)} takes no sample_weight in fit"


def _frozen(model) -> str:
    """Why a clone of the model would not be trained anew, if it would not: a frozen part stays the target's own."""
    for name, part in {"": model, **model.get_params(deep=True)}.items():
        if type(part).__name__ == "FrozenEstimator":
            where = f"its part {name!r} is" if name else "it is"
            return f"{where} a FrozenEstimator, which keeps what it learnt from the target's members"
    return ""


def _neighbours(model) -> Callable[[object], Neighbours] | None:
    """How to find neighbours as a K-NN model does, alone or last in a pipeline; None if it is not one that we know."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import Pipeline

    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, KNeighborsClassifier) or last.weights != "uniform":
        return None
    metric = "euclidean" if (last.metric, last.p) == ("minkowski", 2) else last.metric
    if metric not in ("euclidean", "cosine"):
        return None

    def space(x) -> Neighbours:
        before = reaching_last(model, x)
        dense = before.toarray() if hasattr(before, "toarray") else before
        return Neighbours(np.asarray(dense, dtype=np.float64), last.n_neighbors, metric)

    return space


def _scale(model) -> Scale:
    """What the model answers with."""
    from sklearn.base import is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    classes = getattr(model, "classes_", None)
    if (classes is None or not len(classes)) and is_regressor(model):  # CatBoost's regressors have a list of none
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise InputError(f"{type(model).__name__} is not fitted. Fit it on the members first.") from error
        return Values()
    _classes(model)
    if hasattr(model, "predict_proba"):
        return Probabilities()
    if hasattr(model, "decision_function"):
        return Logits()
    return Labels()


def _classes(model) -> np.ndarray:
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InputError(
            f"{type(model).__name__} has no classes_: it is not fitted, or it is neither a classifier nor a regressor. "
            "Fit it on the members first."
        )
    if isinstance(classes, list) and any(np.ndim(one) for one in classes):
        raise InputError("The model answers for several outputs at once; audit one output at a time.")
    found = np.asarray(classes)
    return found.astype(found.dtype.newbyteorder("=")) if found.dtype.byteorder == ">" else found


def _decisions(model, x, classes: np.ndarray) -> np.ndarray:
    """Decision values as logits: monotone in what the model thinks, though not calibrated."""
    found, own = np.asarray(model.decision_function(x)), _classes(model)
    if found.ndim == 1:
        found = np.column_stack([np.zeros(len(found)), found])
    if found.shape[1] != len(own):
        raise InputError(
            f"decision_function answers with {found.shape[1]} columns for {len(own)} classes; use "
            "decision_function_shape='ovr', or a model with probabilities."
        )
    aligned = np.full((len(found), len(classes)), found.min(axis=1, keepdims=True))
    aligned[:, encode(own, classes)] = found
    return aligned


def _labels(model, x, classes: np.ndarray) -> np.ndarray:
    """1 for the class that the model answers, 0 for the others."""
    return one_of(np.asarray(model.predict(x)), classes)


def _name(model) -> str:
    steps = getattr(model, "steps", None)
    return " + ".join(type(step).__name__ for _, step in steps) if steps else type(model).__name__
