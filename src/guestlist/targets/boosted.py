"""Boosted trees of XGBoost, LightGBM and CatBoost: what was told to ``fit``, and a reference must be told as well.

A model that stops early does so by records that are given to ``fit`` beside the members, and no audit has those. Its
references are trained for as many rounds as the target kept, on all their records: holding out a part of these would leave each
reference with members that it did not learn from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from guestlist.defences.unfitted import package_of, unfitted

# Parameters that stop the training, and those that count its rounds, the first of which is taken where none is set.
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
USUAL = {"xgboost": 100, "lightgbm": 100, "catboost": 1000}  # rounds where nobody says how many
# What CatBoost may be told in ``fit`` instead of before.
COLUMNS = {"cat_features": "get_cat_feature_indices", "text_features": "get_text_feature_indices"}


class Start(NamedTuple):
    """What references are copies of, and how many rounds the target kept, of how many: None where it did not stop early."""

    model: Any
    rounds: int | None = None
    most: int | None = None


def start_of(model) -> Start:
    """A fitted model as it was before, with what it learnt about its rounds and was told about its columns."""
    from sklearn.pipeline import Pipeline

    start, piped = unfitted(model), isinstance(model, Pipeline)
    last = model[-1] if piped else model
    package = package_of(last)
    if not package:
        return Start(start)
    given = last.get_params()
    told, rounds = {**given, **(_columns(last, given) if package == "catboost" else {})}, _rounds(package, last)
    counted = next((name for name in ROUNDS[package] if given.get(name) is not None), ROUNDS[package][0])
    if rounds is not None:
        told = {name: value for name, value in told.items() if name not in STOPPING[package]}
        told |= {counted: rounds, **_without_stopping(given.get("callbacks"))}
        if package == "catboost":
            told["learning_rate"] = last.learning_rate_  # which it chooses by the number of rounds, unless it is told
    if told != given:
        made = type(last)(**told)
        start = start.set_params(**{start.steps[-1][0]: made}) if piped else made
    return Start(start) if rounds is None else Start(start, rounds, given.get(counted) or USUAL[package])


def _rounds(package: str, model) -> int | None:
    """How many rounds a fitted model kept, if it stopped early or keeps the best."""
    if package == "xgboost":
        best = getattr(model, "best_iteration", None)  # there is none where it did not stop early
        return None if best is None else int(best) + 1
    if package == "lightgbm":
        return int(model.best_iteration_) or None
    return None if model.best_iteration_ is None else int(model.tree_count_)


def _columns(model, given: dict[str, Any]) -> dict[str, Any]:
    """Which columns are categories, or texts, if that was said in ``fit`` alone."""
    told = {name: list(getattr(model, find)()) for name, find in COLUMNS.items() if given.get(name) is None}
    return {name: positions for name, positions in told.items() if positions}


def _without_stopping(callbacks) -> dict[str, Any]:
    kept = [one for one in callbacks or () if type(one).__name__ != "EarlyStopping"]
    return {"callbacks": kept or None} if callbacks else {}
