"""A fitted scikit-learn-style classifier is its own recipe: ``clone(model).fit`` trains the references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from guestlist.data import Data, encode
from guestlist.errors import InputError
from guestlist.fingerprints import SEEDS, THREADS, describe, last
from guestlist.targets.target import Neighbours, Predict, Target
from guestlist.targets.trees import reaching_last, tree_leaves


def estimator_target(model) -> Target:
    """A target from a fitted classifier with ``predict_proba`` (or, failing that, ``decision_function``)."""
    from sklearn.base import clone

    classes = _classes(model)
    probabilistic = hasattr(model, "predict_proba")
    if not probabilistic and not hasattr(model, "decision_function"):
        raise InputError(
            f"{type(model).__name__} has neither predict_proba nor decision_function; nothing but labels to audit."
        )
    names = getattr(model, "feature_names_in_", None)
    frozen = _frozen(model)
    refit = None if frozen else Refit(clone(model), classes)  # unfitted: it travels to every worker
    weight = weight_parameter(model)
    return Target(
        predict=Answers(model, classes),
        classes=classes,
        scale="probabilities" if probabilistic else "logits",
        train=refit,
        untrainable=frozen,
        distil=refit and weight and SoftRefit(refit, weight),
        undistillable=frozen or ("" if weight else f"{_name(model)} takes no sample_weight in fit"),
        recipe=describe(model),
        name=_name(model),
        features=None if names is None else tuple(names),
        arrays=names is None and hasattr(model, "n_features_in_"),
        width=getattr(model, "n_features_in_", None),
        neighbours=_neighbours(model),
        leaves=tree_leaves(model),
    )


@dataclass(frozen=True)
class Answers:
    """A fitted estimator's answers, with columns ordered as ``classes``; a class it never saw gets 0."""

    model: object
    classes: np.ndarray
    own_classes: np.ndarray | None = None

    def __call__(self, x) -> np.ndarray:
        if not hasattr(self.model, "predict_proba"):
            return _decisions(self.model, x, self.classes)
        found = np.asarray(self.model.predict_proba(x))
        if isinstance(found, np.ndarray) and found.ndim != 2:
            raise InputError("The model answers for several outputs at once; audit one output at a time.")
        own = _classes(self.model) if self.own_classes is None else self.own_classes
        if np.array_equal(own, self.classes):
            return found
        aligned = np.zeros((len(found), len(self.classes)))
        aligned[:, encode(own, self.classes)] = found
        return aligned


@dataclass(frozen=True)
class Refit:
    """Train a clone on other records, with fresh seeds and one thread.

    Fresh seeds, even where the user fixed one: an attacker does not know the target's. One thread, because
    models are trained side by side, and so that the bits do not depend on how many there are.
    """

    model: object
    classes: np.ndarray

    def __call__(self, data: Data, rng: np.random.Generator, **more) -> Predict:
        """A model trained on the records; ``more`` goes to its ``fit``."""
        from sklearn.base import clone

        model = clone(self.model)
        parameters = model.get_params(deep=True)
        fresh = {name: int(rng.integers(2**31 - 1)) for name in sorted(parameters) if last(name) in SEEDS}
        single = {name: 1 for name in parameters if last(name) in THREADS}
        # CatBoost has two names for its seed and takes only one of them: set those that are listed.
        model.set_params(**fresh, **single)
        present, positions = np.unique(encode(data.y, self.classes), return_inverse=True)
        if len(present) < 2:
            raise InputError("A reference would train on one class only: the audit needs more records of the others.")
        # XGBoost takes the labels 0, 1, … without gaps, and a fitted one remembers an objective for all of them; a
        # reference may miss a rare class.
        gaps = len(present) < len(self.classes) and type(model).__module__.startswith("xgboost")
        if gaps:
            model.set_params(objective=None)
        model.fit(data.x, positions if gaps else data.y, **more)
        return Answers(model, self.classes, self.classes[present] if gaps else None)


@dataclass(frozen=True)
class SoftRefit:
    """Train on probabilities in the place of labels: one copy of each record per class, weighted by its probability.

    Every loss that adds up over weighted records is then the expected loss under the soft labels. What counts
    records instead of weights (the scaler of a pipeline, a smallest leaf) sees each of them once per class.
    """

    refit: Refit
    weight: str

    def __call__(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        classes = len(self.refit.classes)
        copies = data.take(np.repeat(np.arange(len(data)), classes))
        labelled = replace(copies, y=np.tile(self.refit.classes, len(data)))
        return self.refit(labelled, rng, **{self.weight: soft.ravel()})


def weight_parameter(model) -> str | None:
    """The name under which ``fit`` takes weights of records, through a pipeline if it is one; None if it takes none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        name, final = model.steps[-1]
        inner = weight_parameter(final)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def _frozen(model) -> str:
    """Why a clone of the model would not be trained anew, if it would not: a frozen part stays the target's own."""
    for name, part in {"": model, **model.get_params(deep=True)}.items():
        if type(part).__name__ == "FrozenEstimator":
            where = f"its part {name!r} is" if name else "it is"
            return f"{where} a FrozenEstimator, which keeps what it learnt from the target's members"
    return ""


def _neighbours(model) -> Callable[[object], Neighbours] | None:
    """How to find neighbours as a K-NN model does, alone or last in a pipeline; None if it is none that we know."""
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


def _classes(model) -> np.ndarray:
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InputError(
            f"{type(model).__name__} has no classes_: it is not fitted, or it is no classifier. "
            "Fit it on the members first."
        )
    if isinstance(classes, list):
        raise InputError("The model answers for several outputs at once; audit one output at a time.")
    return np.asarray(classes)


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


def _name(model) -> str:
    steps = getattr(model, "steps", None)
    return " + ".join(type(step).__name__ for _, step in steps) if steps else type(model).__name__
