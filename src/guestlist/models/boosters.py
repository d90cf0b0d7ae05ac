"""Boosted trees of XGBoost, LightGBM and CatBoost: settings that were passed to ``fit`` and that references need too.

A model that stops early does so with validation records passed to ``fit``, and no audit has those. Its references are trained
for the number of rounds that the target kept, on all their records: a held-out part would leave each reference with members
that it was not trained on.
"""

from typing import Any, NamedTuple

from guestlist.defences import package_of, unfitted
from guestlist.models.trees import last_of

# Parameters that stop the training, and those that count its rounds; the first counts if none is set.
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
    from sklearn.pipeline import Pipeline

    start = unfitted(model)
    last = last_of(model)
    package = package_of(last)
    if not package:
        return UntrainedModel(start)
    parameters = last.get_params()
    changed = dict(parameters)
    if package == "catboost":
        changed |= _columns(last, parameters)
    rounds = _rounds(package, last)
    counted = next((name for name in ROUNDS[package] if parameters.get(name) is not None), ROUNDS[package][0])
    if rounds is not None:
        changed = {name: value for name, value in changed.items() if name not in STOPPING[package]}
        changed |= {counted: rounds, **_without_stopping(parameters.get("callbacks"))}
        if package == "catboost":
            changed["learning_rate"] = last.learning_rate_  # by default it depends on the number of rounds
    if changed != parameters:
        rebuilt = type(last)(**changed)
        if isinstance(model, Pipeline):
            start = start.set_params(**{start.steps[-1][0]: rebuilt})
        else:
            start = rebuilt
    if rounds is None:
        return UntrainedModel(start)
    return UntrainedModel(start, rounds, parameters.get(counted) or DEFAULT_ROUNDS[package])


def _rounds(package: str, model) -> int | None:
    """Return the number of rounds that a fitted model kept, if it stopped early or kept the best."""
    if package == "xgboost":
        best = getattr(model, "best_iteration", None)  # missing if it did not stop early
        if best is not None:
            return int(best) + 1
    if package == "lightgbm":
        return int(model.best_iteration_) or None
    if package == "catboost" and model.best_iteration_ is not None:
        return int(model.tree_count_)
    return None


def _columns(model, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the categorical and text columns, if they were passed only to ``fit``."""
    columns = {name: list(getattr(model, find)()) for name, find in COLUMNS.items() if parameters.get(name) is None}
    return {name: positions for name, positions in columns.items() if positions}


def _without_stopping(callbacks) -> dict[str, Any]:
    others = [callback for callback in callbacks or () if type(callback).__name__ != "EarlyStopping"]
    if not callbacks:
        return {}
    return {"callbacks": others or None}
