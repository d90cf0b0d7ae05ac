"""A model before it is fitted: what recipes train copies of."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from guestlist.targets.frameworks import FRAMEWORKS, packages_of

# What scikit-learn keeps beside the parameters of an estimator: the form of its output, and the metadata that it asks for.
_BESIDE = ("_sklearn_output_config", "_metadata_request")


def unfitted(model) -> Any:
    """An unfitted copy with the same parameters, also of models whose constructors change what they are given.

    scikit-learn's ``clone`` refuses those; CatBoost's copies its ``cat_features``.
    """
    from sklearn.base import clone

    try:
        return clone(model)
    except RuntimeError:
        return _made_anew(model)


def _made_anew(value):
    if isinstance(value, list | tuple):
        return type(value)([_made_anew(part) for part in value])
    if not hasattr(value, "get_params") or isinstance(value, type):
        return deepcopy(value)
    made = type(value)(**{name: _made_anew(part) for name, part in value.get_params(deep=False).items()})
    for name in _BESIDE:
        if hasattr(value, name):
            setattr(made, name, deepcopy(getattr(value, name)))
    return made


def package_of(model) -> str:
    """Return the booster's package, such as xgboost, also for a user's subclass; "" for other models."""
    packages = packages_of(model)
    return next((name for name in FRAMEWORKS["boosters"].packages if name in packages), "")
