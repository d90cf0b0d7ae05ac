"""Fitted scikit-learn-style estimators as targets: ``clone(model).fit`` trains references."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from guestlist._util import FitParams, describe, names_ending
from guestlist.data import Data, encode, native_byte_order
from guestlist.defences import (
    Recipe,
    Refit,
    as_function,
    as_recipe,
    check_arguments,
    package_of,
    training_of,
    unfitted,
    weight_parameter,
)
from guestlist.errors import InputError
from guestlist.models.frameworks import FRAMEWORKS
from guestlist.models.leverage import dense, linear_leverage
from guestlist.models.scales import Labels, Logits, Probabilities, Scale, Values
from guestlist.models.target import (
    KnnSpace,
    Predict,
    Reads,
    RetrainFunction,
    Retraining,
    Target,
    aligned_columns,
    by_class,
    one_hot_labels,
    several_outputs,
    train_on_values,
)
from guestlist.models.trees import input_of_last_step, last_of, tree_leaves

# Boosted trees that stop early use validation records passed to ``fit``, which an audit does not have. Their references
# are trained for the number of rounds that the target kept, on all their records: a held-out part would leave each
# reference with members that it was not trained on. Parameters that stop the training, and those that count its rounds;
# the first counts if none is set.
STOPPING = {
    "xgboost": ("early_stopping_rounds",),
    "lightgbm": ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"),
    "catboost": ("early_stopping_rounds", "od_wait", "od_type", "od_pval", "use_best_model"),
}
ROUNDS = {
    "xgboost": ("n_estimators",),
    "lightgbm": ("n_estimators",),
    "catboost": ("iterations", "n_estimators", "num_boost_round", "num_trees"),
}
DEFAULT_ROUNDS = {"xgboost": 100, "lightgbm": 100, "catboost": 1000}  # default number of rounds
# Settings that CatBoost accepts in ``fit``, and the methods that return them.
COLUMNS = {"cat_features": "get_cat_feature_indices", "text_features": "get_text_feature_indices"}


class UntrainedModel(NamedTuple):
    """Unfitted model for references; the rounds that the target kept and their maximum, if it stopped early."""

    model: Any
    rounds: int | None = None
    max_rounds: int | None = None


def untrained_model(model) -> UntrainedModel:
    """Return a fitted model before its fit, with the rounds it kept and the columns that were passed to ``fit``."""
    start = unfitted(model)
    last = last_of(model)
    package = package_of(last)
    if getattr(model, "stopped_early", None):  # a native booster
        return UntrainedModel(start, *model.stopped_early)
    if not package:
        return UntrainedModel(start)
    parameters = last.get_params()
    changed = dict(parameters)
    if package == "catboost":
        columns = {name: list(getattr(last, find)()) for name, find in COLUMNS.items() if parameters.get(name) is None}
        changed |= {name: positions for name, positions in columns.items() if positions}
    rounds = _rounds(package, last)
    max_rounds = None
    if rounds is not None:
        counted = next((name for name in ROUNDS[package] if parameters.get(name) is not None), ROUNDS[package][0])
        max_rounds = parameters.get(counted) or DEFAULT_ROUNDS[package]
        changed = {name: value for name, value in changed.items() if name not in STOPPING[package]}
        changed[counted] = rounds
        if changed.get("callbacks"):
            changed["callbacks"] = [
                callback for callback in changed["callbacks"] if type(callback).__name__ != "EarlyStopping"
            ] or None
        if package == "catboost":
            changed["learning_rate"] = last.learning_rate_  # by default it depends on the number of rounds
    if changed != parameters and last is model:
        start = type(last)(**changed)
    elif changed != parameters:
        start.set_params(**{start.steps[-1][0]: type(last)(**changed)})
    return UntrainedModel(start, rounds, max_rounds)


def _rounds(package: str, model) -> int | None:
    """Return the number of rounds that a fitted model kept, if it stopped early or kept the best."""
    if package == "xgboost" and getattr(model, "best_iteration", None) is not None:  # missing if it did not stop early
        return int(model.best_iteration) + 1
    if package == "lightgbm":
        return int(model.best_iteration_) or None
    if package == "catboost" and model.best_iteration_ is not None:
        return int(model.tree_count_)
    return None


def estimator_target(
    model, *, train: Recipe | Callable | None = None, untrained=None, recipe: str | None = None
) -> Target:
    """Return a target from a fitted classifier or regressor.

    ``audit`` calls it for a model; call it yourself to choose how references are trained. A classifier without ``predict_proba``
    and ``decision_function``, such as a hard vote, outputs only labels.

    Args:
        model: Fitted scikit-learn-style estimator or pipeline, or a model of XGBoost, LightGBM or CatBoost, also without the
            scikit-learn interface (``Booster``).
        train: Training of references: a recipe ``(model, data, rng) -> fitted model``, or a function
            ``(data, rng) -> fitted model``; by default :class:`guestlist.defences.Refit`, which fits a clone.
        untrained: Model that the recipe trains copies of, if that is not a clone of ``model``: a recipe may return a different
            type of model.
        recipe: Text that identifies ``train`` across runs; by default its settings or its source code.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the model is not fitted, or predicts several outputs at once.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> target = gl.estimator_target(model, train=lambda data, rng: DecisionTreeClassifier().fit(data.x, data.y))
        >>> results = gl.audit(target, members, nonmembers, references=4, attacks=["reference"], baseline=False, jobs=1)
        >>> results.references.count
        4
    """
    model = with_estimator_interface(model)
    scale = _scale(model)
    default = train is None
    training_recipe = as_recipe(Refit() if default else train)
    # An unfitted copy is sent to every worker.
    start = (
        untrained_model(model) if untrained is None else UntrainedModel(unfitted(with_estimator_interface(untrained)))
    )
    predict: Predict = RegressorPredict(model)
    classes = np.array([])
    if scale.has_classes:
        classes = _classes(model)
        predict = EstimatorPredict(model, classes)
    trainer = Train(start.model, classes, training_recipe)
    capabilities = {
        "neighbours": _neighbours(model),
        "leaves": tree_leaves(model),
        "leverage": linear_leverage(model),
    }
    can: dict[str, Callable] = {name: function for name, function in capabilities.items() if function}
    untrainable = _untrainable(model) if default else ""
    cannot = {"train": untrainable, "distil": untrainable}
    if not untrainable:
        can["train"] = trainer
        can["retrain"] = Retraining(
            trains="estimator",
            model=start.model,
            recipe=training_recipe,
            wrap=partial(estimator_target, untrained=start.model),
            text=recipe,
        )
        if not scale.has_classes:
            can["distil"] = partial(train_on_values, trainer)
        elif not hasattr(training_recipe, "weighted"):
            cannot["distil"] = f"its recipe, {type(training_recipe).__name__}, takes no weights of records"
        elif not weight_parameter(model):
            cannot["distil"] = f"{name_of(model)} takes no sample_weight in fit"
        else:
            can["distil"] = trainer.distil
    notes: dict[str, dict[str, int | float | str]] = {}
    if start.rounds is not None:
        notes["GL126"] = {"rounds": start.rounds, "most": start.max_rounds or 0}
    if default and saw_weights(model):
        notes[WEIGHTS] = {}
    if recipe is None:
        recipe = f"{FRAMEWORKS['scikit-learn'].describe(start.model)}\n{describe(training_recipe)}"
    return Target(
        predict=predict,
        classes=classes,
        scale=scale,
        recipe=recipe,
        name=name_of(model),
        reads=reads_of(model),
        can=can,
        cannot=cannot,
        training=training_of(training_recipe, model=" ".join(repr(start.model).split()) if default else ""),
        notes=notes,
    )


def with_estimator_interface(model) -> Any:
    """Return a native booster as an estimator; other models unchanged."""
    if not package_of(model) or type(model).__name__ not in ("Booster", "CatBoost"):
        return model
    from guestlist.models.native_boosters import as_estimator

    return as_estimator(model)


def retrain_estimator(model, recipe: Recipe, data: Data, members: np.ndarray, fit: Callable, **_options: Any) -> Target:
    """Train a target on the members among some records; see :class:`guestlist.models.frameworks.Framework`."""
    fitted = fit(recipe, model, reads_of(model).fitting(data, "data").copied(members))
    return estimator_target(fitted, train=recipe, untrained=model)


def trained_by(target: Target, train: Callable) -> Target:
    """Return a target, such as an ONNX file, with references trained by a function ``(data, rng) -> model``."""
    if "train" in target.can:
        raise InputError(
            f"{target.name} has a recipe already. Pass train= only once: to the function that makes the target, or to the "
            "audit."
        )
    trainer = partial(_train_alike, as_function(train), target.classes, target.scale)
    cannot = {name: why for name, why in target.cannot.items() if name != "train"}
    trainable = replace(
        target, recipe=f"{target.recipe}\n{describe(train)}", can={**target.can, "train": trainer}, cannot=cannot
    )
    return replace(trainable, can={**trainable.can, "retrain": RetrainFunction(trainable)})


def _train_alike(
    train: Callable[[Data, np.random.Generator], Any],
    classes: np.ndarray,
    target_scale: Scale,
    data: Data,
    rng: np.random.Generator,
) -> Predict:
    """Train one reference with the user's function, with outputs on the scale of the target.

    Args:
        train: Function that returns a fitted estimator, or a function from features to outputs like those of the target.
    """
    model = train(data, rng)
    if not hasattr(model, "predict"):
        return model
    model = with_estimator_interface(model)
    if not target_scale.has_classes:
        return RegressorPredict(model)
    scale = _scale(model)
    if scale.name != target_scale.name:
        raise InputError(
            f"train= returned a {type(model).__name__}, which outputs {scale.name}, and the target outputs "
            f"{target_scale.name}. Return a function from features to {target_scale.name} instead."
        )
    return EstimatorPredict(model, classes)


def check_fit(target: Target, params: FitParams | None) -> None:
    """Check, before anything is trained, that the estimator's ``fit`` can be called as references call it.

    Args:
        target: Target of the audit.
        params: Arguments of ``fit`` besides features and labels, if any.

    Raises:
        InputError: If it cannot.
    """
    trainer: Any = target.can.get("train")
    if isinstance(trainer, Train) and isinstance(trainer.recipe, Refit):
        check_arguments(trainer.model, params.arguments if params else {})
    parts: list[Any] = [trainer, getattr(trainer, "recipe", None)]
    for part in parts:
        if hasattr(part, "check_fit_params"):
            part.check_fit_params(params)


def with_fit_params(target: Target, params: FitParams) -> Target:
    """Return the target with arguments for ``fit`` of its references; they are part of its fingerprint.

    Args:
        target: Target of the audit.
        params: Arguments of ``fit`` besides features and labels.

    Returns:
        The target with these arguments.

    Raises:
        InputError: If the target's references are not trained by ``fit``.
    """
    trainer = target.needs(
        "train",
        "fit_params= are for training reference models, and {name} has no recipe for that{why}. Remove fit_params=.",
    )
    retraining = target.can.get("retrain")
    if getattr(retraining, "trains", "function") not in ("estimator", "function", "Keras model"):
        raise InputError(
            f"fit_params= are passed to fit of estimators and Keras models, but {target.name} is trained by "
            f"{type(getattr(retraining, 'recipe', trainer)).__name__}. Set its options in train= of the function that "
            "makes the target."
        )
    training = target.training and replace(
        target.training, recipe=f"{target.training.recipe} with fit({', '.join(params.arguments)})"
    )
    weighted = bool(names_ending(params.arguments, ("sample_weight",)))
    notes = {code: values for code, values in target.notes.items() if code != WEIGHTS or not weighted}
    identity = f"{target.recipe}\nfit {describe(dict(params.options))} {sorted(params.values)}"
    return replace(target, recipe=identity, training=training, notes=notes)


def reads_of(model) -> Reads:
    """Return the form of the features that an estimator reads, as far as it is known before it is fitted."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and package_of(model) == "catboost" and model.is_fitted():
        names = model.feature_names_
        if names == [str(position) for position in range(len(names))]:
            names = None  # CatBoost numbers the columns of an array
    return Reads(
        features=None if names is None else tuple(names),
        arrays=names is None and hasattr(model, "n_features_in_"),
        width=getattr(model, "n_features_in_", None),
        documents=_reads_documents(model),
    )


def _reads_documents(model) -> bool:
    """Return whether the first step of a model reads one text per record, as ``TfidfVectorizer`` does."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    if isinstance(model, CountVectorizer | HashingVectorizer):
        return model.input == "content"
    if getattr(model, "estimator", None) is not None:  # a search, or a calibrated model
        return _reads_documents(model.estimator)
    for name in ("steps", "transformer_list", "estimators"):  # pairs of name and part of a pipeline, a union or a vote
        parts = [pair[1] for pair in getattr(model, name, None) or () if isinstance(pair, tuple)]
        if parts:
            return _reads_documents(next((part for part in parts if not isinstance(part, str)), None))
    return False


@dataclass(frozen=True)
class EstimatorPredict:
    """Outputs of a fitted classifier, with columns ordered as ``classes``; an unseen class gets 0."""

    model: object
    classes: np.ndarray
    own_classes: np.ndarray | None = None

    def __call__(self, x) -> np.ndarray:
        if not hasattr(self.model, "predict_proba"):
            if hasattr(self.model, "decision_function"):
                return _decisions(self.model, x, self.classes)
            return one_hot_labels(np.asarray(self.model.predict(x)), self.classes)  # type: ignore[attr-defined]
        columns = _classes(self.model) if self.own_classes is None else self.own_classes
        probabilities = np.asarray(by_class(self.model.predict_proba(x), columns))
        if probabilities.ndim != 2:
            raise InputError(several_outputs())
        if np.array_equal(columns, self.classes):
            return probabilities
        return aligned_columns(probabilities, columns, self.classes)


@dataclass(frozen=True)
class RegressorPredict:
    """Predictions of a fitted regressor."""

    model: Any

    def __call__(self, x) -> np.ndarray:
        values = np.asarray(self.model.predict(x))
        if values.ndim == 2 and values.shape[1] > 1:
            raise InputError(several_outputs(scale="values"))
        return values.reshape(len(values))


@dataclass(frozen=True)
class Train:
    """Train one reference with a recipe.

    Attributes:
        model: Unfitted estimator.
        classes: Labels; empty for a regressor.
        recipe: Recipe ``(model, data, rng) -> fitted model``.
    """

    model: Any
    classes: np.ndarray
    recipe: Any

    def __call__(self, data: Data, rng: np.random.Generator) -> Predict:
        return self._trained(data, lambda model, records: self.recipe(model, records, rng))

    def weighted(self, data: Data, weight: np.ndarray, rng: np.random.Generator) -> Predict:
        """Train one reference with a weight per record."""
        return self._trained(data, lambda model, records: self.recipe.weighted(model, records, weight, rng))

    def distil(self, data: Data, soft: np.ndarray, rng: np.random.Generator) -> Predict:
        """Train on probabilities instead of labels: one copy of each record per class, weighted by its probability.

        A loss that is a weighted sum over records is then the expected loss under the soft labels. Steps that count records
        instead of weights (the scaler of a pipeline, a smallest leaf) see each record once per class.
        """
        copies = data.take(np.repeat(np.arange(len(data)), len(self.classes)))
        return self.weighted(replace(copies, y=np.tile(self.classes, len(data))), soft.ravel(), rng)

    @property
    def is_robust(self) -> bool:
        """True if only scikit-learn's own code trains, so that a crash of the process is not to be expected."""
        return type(self.recipe) is Refit and all(
            type(part).__module__.startswith("sklearn.") or not (callable(part) or hasattr(part, "fit"))
            for part in (self.model, *self.model.get_params().values())
        )

    def _trained(self, data: Data, train: Callable) -> Predict:
        if not len(self.classes):
            return _predict_function(train(self.model, data), RegressorPredict)
        present, positions = np.unique(encode(data.y, self.classes), return_inverse=True)
        if len(present) < 2:
            raise InputError(
                "A reference model would be trained on records of one class only. Provide more records of the other classes."
            )
        # XGBoost needs labels 0, 1, … without gaps, and a fitted one keeps an objective for all of them. A reference may lack
        # a rare class.
        if len(present) < len(self.classes) and type(self.model).__module__.startswith("xgboost"):
            trained = train(unfitted(self.model).set_params(objective=None), data.changed(y=positions))
            return _predict_function(
                trained, lambda model: EstimatorPredict(model, self.classes, self.classes[present])
            )
        return _predict_function(train(self.model, data), lambda model: EstimatorPredict(model, self.classes))


def _predict_function(trained, reader: Callable[[object], Predict]) -> Predict:
    """Return the function that queries a trained model; a model without ``predict`` is such a function itself."""
    if hasattr(trained, "predict"):
        return reader(with_estimator_interface(trained))
    return trained


def _untrainable(model) -> str:
    """Return the reason why a clone of the model cannot be trained like it: a frozen part, lost parameters; "" if it can."""
    if getattr(model, "no_training", ""):  # a native booster
        return model.no_training
    for name, part in {"": model, **model.get_params(deep=True)}.items():
        if type(part).__name__ == "FrozenEstimator":
            where = name and f"its part {name!r} is"
            return f"{where or 'it is'} a FrozenEstimator, which stays fitted on the target's members"
    return ""


def _neighbours(model) -> Callable[[object], KnnSpace] | None:
    """Return the space of a K-NN classifier, also as the last step of a pipeline; None for other models."""
    from sklearn.neighbors import KNeighborsClassifier

    last = last_of(model)
    if not isinstance(last, KNeighborsClassifier) or last.weights != "uniform":
        return None
    metric = last.effective_metric_  # "euclidean" for "minkowski" with p=2
    if metric not in ("euclidean", "cosine"):
        return None
    return lambda x: KnnSpace(dense(input_of_last_step(model, x)), last.n_neighbors, metric)


def _scale(model) -> Scale:
    """Return the scale of a fitted model's outputs."""
    from sklearn.base import is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if _has_several_outputs(model):
        raise InputError(several_outputs())
    classes = getattr(model, "classes_", None)
    if (classes is None or not len(classes)) and is_regressor(model):  # CatBoost's regressors have an empty list
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
    return native_byte_order(np.asarray(classes))


def classes_per_output(model) -> list[np.ndarray] | None:
    """Return the labels of each output of a fitted model that stores them per output; None for other models."""
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, list) or not any(np.ndim(labels) for labels in classes):
        return None
    return [np.asarray(labels) for labels in classes]


def _has_several_outputs(model) -> bool:
    """Return whether a fitted classifier predicts several labels per record."""
    if classes_per_output(model) is not None:
        return True
    while hasattr(model, "best_estimator_"):  # a search over parameters
        model = model.best_estimator_
    last = last_of(model)
    package = package_of(last)
    if package == "xgboost" and hasattr(last, "predict_proba") and last.__sklearn_is_fitted__():
        from guestlist.models.native_boosters import xgboost_targets

        return xgboost_targets(last.get_booster()) > 1
    if package == "catboost":
        return str(last.get_params().get("loss_function")).partition(":")[0] in ("MultiLogloss", "MultiCrossEntropy")
    binarizer = getattr(last, "_label_binarizer", None)  # of scikit-learn's networks and ridge classifiers
    return bool(getattr(last, "multilabel_", False)) or "multilabel" in getattr(binarizer, "y_type_", "")


def _decisions(model, x, classes: np.ndarray) -> np.ndarray:
    """Return decision values as logits: monotone in the model's confidence, though not calibrated."""
    decisions = np.asarray(model.decision_function(x))
    columns = _classes(model)
    if decisions.ndim == 1:
        decisions = np.column_stack([np.zeros(len(decisions)), decisions])
    if decisions.shape[1] != len(columns):
        raise InputError(
            f"decision_function returns {decisions.shape[1]} columns for {len(columns)} classes. Set "
            "decision_function_shape='ovr', or use a model with probabilities."
        )
    return aligned_columns(decisions, columns, classes, missing=decisions.min(axis=1, keepdims=True))


def name_of(model) -> str:
    """Return the name of an estimator in reports: that of its class, or those of the steps of a pipeline."""
    if getattr(model, "display_name", ""):  # a native booster
        return model.display_name
    if hasattr(model, "best_estimator_"):  # a search over parameters
        return name_of(model.best_estimator_)
    if not getattr(model, "steps", None):
        return type(model).__name__
    return " + ".join(name_of(step) for _, step in model.steps if step not in (None, "passthrough"))


WEIGHTS = "GL133"  # code of the check that reports sample weights
# Standard deviations below the expected number of distinct records in bootstrap samples: fewer than one false positive in 10^8.
FEWER = 6.0


def saw_weights(model) -> bool:
    """Return whether a fitted estimator, or the last step of a pipeline, was certainly fitted with ``sample_weight``."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    model = last_of(model)
    if type(model).__module__.partition(".")[0] != "sklearn" or getattr(model, "class_weight", None) is not None:
        return False
    if getattr(model, "_fitted_with_sw", False):  # histogram-based boosting
        return True
    counts = getattr(model, "class_count_", None)  # naive Bayes
    if counts is not None and (np.asarray(counts) % 1 != 0).any():
        return True
    if getattr(model, "bootstrap", False):
        return _unequal_bootstrap(model)
    return any(not np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples) for tree in _trees(model))


def _trees(model) -> list[Any]:
    """Return trees that get exactly the weights of ``fit``: not those of AdaBoost or bagging."""
    name = type(model).__name__
    parts: Any = []
    if name.startswith(("DecisionTree", "ExtraTreeC", "ExtraTreeR")):
        parts = [model]
    elif name.startswith(("ExtraTrees", "RandomForest", "GradientBoosting")):
        parts = np.ravel(getattr(model, "estimators_", []))
    return [part.tree_ for part in parts if hasattr(part, "tree_")]


def _unequal_bootstrap(model) -> bool:
    """Return whether bootstrap samples of a forest were drawn or weighted by unequal weights.

    Older versions of scikit-learn multiply by weights; newer ones draw by them, which gives fewer distinct records.
    """
    trees = _trees(model)
    n = getattr(model, "_n_samples", None)
    drawn = getattr(model, "_n_samples_bootstrap", None)
    if not trees or not n or not drawn:
        return False
    if any((tree.weighted_n_node_samples % 1 != 0).any() for tree in trees):
        return True
    missed = (1 - 1 / n) ** drawn
    variance = n * missed + n * (n - 1) * (1 - 2 / n) ** drawn - (n * missed) ** 2
    distinct = np.mean([tree.n_node_samples[0] for tree in trees])
    return bool(distinct < n * (1 - missed) - FEWER * np.sqrt(max(variance, 1.0) / len(trees)) - 0.5)
