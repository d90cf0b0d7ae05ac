"""Boosters without the scikit-learn interface: ``xgboost.Booster``, ``lightgbm.Booster`` and ``catboost.CatBoost``.

:func:`as_estimator` gives such a model the interface of an estimator. References are trained with the library's own ``train``,
the parameters that the booster stores, and its number of rounds.
"""

import json
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from guestlist._util import LazyModule
from guestlist.errors import InputError
from guestlist.models.frameworks import packages_of
from guestlist.models.target import several_outputs

catboost: Any = LazyModule("catboost")
lightgbm: Any = LazyModule("lightgbm")
xgboost: Any = LazyModule("xgboost")
CATBOOST_CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
WRAP = "To audit it anyway, wrap it with gl.function_target(predict, classes=…, train=…)."


def as_estimator(model) -> Any:
    """Return a native booster as a fitted estimator.

    Args:
        model: ``xgboost.Booster``, ``lightgbm.Booster`` or ``catboost.CatBoost``.

    Returns:
        Estimator with ``predict``, and with ``predict_proba`` and ``classes_`` if it classifies.

    Raises:
        InputError: If its objective is neither a classification nor a regression of one label.
    """
    packages = packages_of(model)
    if "xgboost" in packages:
        return XgboostBooster.from_booster(model)
    if "lightgbm" in packages:
        return LightgbmBooster.from_booster(model)
    if not model.is_fitted():
        raise InputError("CatBoost is not fitted. Fit it on the members first.")
    loss = str(model.get_all_params()["loss_function"]).partition(":")[0]
    if loss in CATBOOST_CLASSIFIERS:
        return catboost.to_classifier(model)
    try:
        return catboost.to_regressor(model)
    except catboost.CatBoostError as error:
        raise InputError(
            f"CatBoost was trained with loss_function={loss!r}, which is neither a classification nor a regression. {WRAP}"
        ) from error


class NativeBooster(BaseEstimator):
    """Native booster with the interface of an estimator.

    Args:
        n_estimators: Number of rounds.
        random_state: Random seed.
        n_jobs: Number of threads.
        **params: Parameters of the library's ``train``.
    """

    library = ""
    no_training = ""  # reason why the parameters of the training are not known
    stopped_early: tuple[int, int] | None = None  # rounds that it kept, and their maximum (0 if it is not known)
    # Objectives of classifiers by number of classes (None: the parameter num_class), and prefixes of those of regressors.
    classifiers: dict[str, int | None]
    regressors: tuple[str, ...]

    def __init__(self, *, n_estimators: int = 100, random_state: int = 0, n_jobs: int = 1, **params: Any):
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the training."""
        return {
            "n_estimators": self.n_estimators,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            **self.params,
        }

    def set_params(self, **params: Any) -> "NativeBooster":
        """Change parameters of the training."""
        NativeBooster.__init__(self, **{**self.get_params(), **params})
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown_params = ("objective", "learning_rate", "max_depth", "num_leaves")
        settings = "".join(f", {name}={self.params[name]!r}" for name in shown_params if name in self.params)
        return f"{self.library}.train(n_estimators={self.n_estimators}{settings})"

    @property
    def display_name(self) -> str:
        """Name in reports."""
        return f"{self.library}.Booster"

    @property
    def is_classifier(self) -> bool:
        """Whether the objective is a classification."""
        return self.params.get("objective") in self.classifiers

    @property
    def _estimator_type(self) -> str:  # read by scikit-learn before 1.6
        return "classifier" if self.is_classifier else "regressor"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = self._estimator_type
        return tags

    def fit(self, x, y, sample_weight=None) -> "NativeBooster":
        """Train a booster with the parameters."""
        labels = np.asarray(y)
        if self.is_classifier and not np.isin(labels, np.arange(self._class_count())).all():
            raise InputError(
                f"{self.display_name} was trained on labels 0 to {self._class_count() - 1}, but other labels were passed. "
                "Encode them as in its training."
            )
        return self._set_booster(self._train(x, labels.astype(np.float64), sample_weight))

    def predict_proba(self, x) -> np.ndarray:
        """Return (records, classes) probabilities."""
        probabilities = self._outputs(x)
        if probabilities.ndim == 1:
            return np.column_stack([1 - probabilities, probabilities])
        return probabilities / probabilities.sum(axis=1, keepdims=True)  # those of one-against-all do not sum to 1

    def predict(self, x) -> np.ndarray:
        """Return the likeliest class, or the predicted value, of each record."""
        if self.is_classifier:
            return self.classes_[self.predict_proba(x).argmax(axis=1)]
        return self._outputs(x)

    def _set_booster(self, booster) -> "NativeBooster":
        self.booster_ = booster
        if self.is_classifier:
            self.classes_ = np.arange(self._class_count())
        names, width = self._features()
        self.n_features_in_ = width
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _class_count(self) -> int:
        return self.classifiers[self.params["objective"]] or int(self.params["num_class"])

    def _check_objective(self) -> None:
        objective = self.params.get("objective")
        if objective is None:
            raise InputError(
                f"{self.display_name} was trained with a custom objective, so its outputs have no known scale. {WRAP}"
            )
        if not self.is_classifier and not str(objective).startswith(self.regressors):
            raise InputError(
                f"{self.display_name} was trained with objective={objective!r}, which is neither a classification nor a "
                f"regression. {WRAP}"
            )

    def _train(self, x, y: np.ndarray, sample_weight) -> Any:
        raise NotImplementedError

    def _outputs(self, x) -> np.ndarray:
        raise NotImplementedError

    def _features(self) -> tuple[list[str] | None, int]:
        raise NotImplementedError


def xgboost_targets(booster) -> int:
    """Return the number of labels that a ``xgboost.Booster`` predicts per record."""
    return int(json.loads(booster.save_config())["learner"]["learner_model_param"].get("num_target", 1))


class XgboostBooster(NativeBooster):
    """An ``xgboost.Booster``, queried with all its rounds as ``Booster.predict`` does."""

    library = "xgboost"
    classifiers = {  # noqa: RUF012
        "binary:logistic": 2,
        "binary:logitraw": 2,
        "binary:hinge": 2,
        "multi:softprob": None,
        "multi:softmax": None,
    }
    regressors = ("reg:", "count:")

    @classmethod
    def from_booster(cls, booster) -> "XgboostBooster":
        """Wrap a trained booster, with the parameters of its configuration."""
        learner = json.loads(booster.save_config())["learner"]
        model = cls(n_estimators=booster.num_boosted_rounds(), **_xgboost_params(learner))
        if xgboost_targets(booster) > 1:
            scale = "probabilities" if model.params.get("objective") == "binary:logistic" else "values"
            raise InputError(several_outputs("lambda x: model.predict(xgboost.DMatrix(x))", scale))
        model._check_objective()
        model.no_training = _xgboost_lost(learner)
        if booster.attr("best_iteration") is not None:
            model.stopped_early = (model.n_estimators, 0)  # it does not store the largest number of rounds
        return model._set_booster(booster)

    def _train(self, x, y: np.ndarray, sample_weight) -> Any:
        params = {**self.params, "seed": self.random_state, "nthread": self.n_jobs, "validate_parameters": False}
        records = xgboost.DMatrix(x, y, weight=sample_weight, enable_categorical=True)
        return xgboost.train({"verbosity": 0, **params}, records, self.n_estimators)

    def _outputs(self, x) -> np.ndarray:
        records = xgboost.DMatrix(x, enable_categorical=True)
        if not self.is_classifier:
            return self.booster_.predict(records)
        # Margins give probabilities for every objective; softmax and hinge output labels.
        margins = self.booster_.predict(records, output_margin=True).astype(np.float64)
        if margins.ndim == 1:
            return expit(margins)
        return softmax(margins, axis=1)

    def _features(self) -> tuple[list[str] | None, int]:
        return self.booster_.feature_names, self.booster_.num_features()


def _xgboost_lost(learner: dict[str, Any]) -> str:
    """Return the reason why a booster does not know its training parameters; "" if it does."""
    train_param = learner["learner_train_param"]
    reason = ""
    # XGBoost reports its defaults after a booster was loaded. Training always sets a metric, unless this is disabled.
    if not learner["metrics"] and train_param["disable_default_eval_metric"] == "0":
        reason = "it was loaded from a file, and files of XGBoost do not store training parameters"
    elif train_param["booster"] == "gblinear":
        reason = "XGBoost does not report the penalties of booster='gblinear'"
    return reason and (
        f"{reason}; for example, pass train=lambda data, rng: xgboost.train({{**params, 'seed': int(rng.integers(2**31))}}, "
        "xgboost.DMatrix(data.x, data.y), rounds)"
    )


# Names of one parameter in the configuration of XGBoost that differ from those of its scikit-learn interface.
XGBOOST_ALIASES = ("alpha", "eta", "gamma", "lambda")
XGBOOST_DERIVED = (
    "name",
    "num_trees",
    "updater",
    "updater_seq",
)  # results of the training, or derived from other parameters


def _xgboost_params(learner: dict[str, Any]) -> dict[str, Any]:
    """Return the training parameters in the configuration of a booster."""
    texts = {
        **_leaves(learner["objective"]),
        **_leaves(learner["gradient_booster"]),
        **learner["learner_train_param"],
    }
    fitted = learner["learner_model_param"]
    if fitted.get("boost_from_average") == "0":  # otherwise it is estimated from the training records
        texts["base_score"] = fitted["base_score"].strip("[]")
    dropped = (*XGBOOST_ALIASES, *XGBOOST_DERIVED)
    return {name: _number(text) for name, text in texts.items() if name not in dropped and text not in ("", "()")}


def _leaves(config: dict[str, Any]) -> dict[str, str]:
    """Return all texts in a nested configuration, by the last part of their name."""
    leaves: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            leaves |= _leaves(value)
        elif isinstance(value, str):
            leaves[name] = value
    return leaves


def _number(text: str) -> Any:
    """Return a number of 32 bits without the digits that its conversion to text added; other texts unchanged."""
    for convert in (int, lambda value: float(str(np.float32(value)))):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


class LightgbmBooster(NativeBooster):
    """A ``lightgbm.Booster``, queried with the rounds that it kept as ``Booster.predict`` does."""

    library = "lightgbm"
    classifiers = {"binary": 2, "cross_entropy": 2, "multiclass": None, "multiclassova": None}  # noqa: RUF012
    regressors = ("regression", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie")

    @classmethod
    def from_booster(cls, booster) -> "LightgbmBooster":
        """Wrap a trained booster, with the parameters that its text form stores."""
        # The text form holds every parameter under its main name; a booster in memory only those that the user named.
        params: dict[str, Any] = dict(lightgbm.Booster(model_str=booster.model_to_string()).params)
        max_rounds = params.pop("num_iterations", 0)
        stopped = bool(booster.best_iteration > 0 and params.pop("early_stopping_round", 0))
        settings = {
            LIGHTGBM_NAMES.get(name, name): value
            for name, value in params.items()
            if name not in LIGHTGBM_DROPPED and not name.endswith("_seed")
        }
        if not booster.dump_model(num_iteration=1).get("objective"):
            settings.pop("objective", None)
        rounds = booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration()
        model = cls(n_estimators=rounds, **settings)
        model._check_objective()
        if stopped or rounds < booster.current_iteration():
            model.stopped_early = (rounds, max_rounds)
        return model._set_booster(booster)

    def _train(self, x, y: np.ndarray, sample_weight) -> Any:
        params = {**self.params, "seed": self.random_state, "num_threads": self.n_jobs, "verbosity": -1}
        categories = params.pop("categorical_feature", "auto")
        records = lightgbm.Dataset(x, y, weight=sample_weight, categorical_feature=categories, params={"verbosity": -1})
        return lightgbm.train(params, records, self.n_estimators)

    def _outputs(self, x) -> np.ndarray:
        return np.asarray(self.booster_.predict(x))

    def _features(self) -> tuple[list[str] | None, int]:
        names = self.booster_.feature_name()
        if names == [f"Column_{position}" for position in range(len(names))]:
            return None, len(names)  # LightGBM numbers the columns of an array
        return names, len(names)


# Names of parameters that the scikit-learn interface of LightGBM uses, by the main name.
LIGHTGBM_NAMES = {"min_data_in_leaf": "min_child_samples", "lambda_l2": "reg_lambda"}
# Parameters that do not belong to the training of a reference: seeds, threads, validation and files.
LIGHTGBM_DROPPED = ("seed", "num_threads", "verbosity", "metric", "early_stopping_round", "early_stopping_min_delta")
