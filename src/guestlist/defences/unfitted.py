"""Unfitted copies of estimators, which recipes train."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from guestlist.targets.frameworks import FRAMEWORKS, packages_of

# Attributes of scikit-learn's estimators that are not parameters: the form of outputs, and requested metadata.
_ATTRIBUTES = ("_sklearn_output_config", "_metadata_request")


def unfitted(model) -> Any:
    """Return an unfitted copy with the same parameters.

    scikit-learn's ``clone`` refuses models whose constructors change their parameters, such as CatBoost's ``cat_features``.
    """
    from sklearn.base import clone

    try:
        return clone(model)
    except RuntimeError:
        return _rebuilt(model)


def _rebuilt(value):
    if isinstance(value, list | tuple):
        return type(value)([_rebuilt(part) for part in value])
    if not hasattr(value, "get_params") or isinstance(value, type):
        return deepcopy(value)
    made = type(value)(**{name: _rebuilt(part) for name, part in value.get_params(deep=False).items()})
    for name in _ATTRIBUTES:
        if hasattr(value, name):
            setattr(made, name, deepcopy(getattr(value, name)))
    return made


def package_of(model) -> str:
    """Return the booster's package, such as xgboost, also for a user's subclass; "" for other models."""
    packages = packages_of(model)
    return next((name for name in FRAMEWORKS["boosters"].packages if name in packages), "")
