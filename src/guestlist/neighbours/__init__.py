"""Exact values of training records for K-NN classifiers: Shapley, WaKA, leave-one-out, likelihood ratio.

Names are loaded when first used: importing this package alone compiles nothing.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "Knn": "knn",
    "MinimisationCurve": "applications",
    "NeighbourLists": "influence",
    "OnionEffect": "applications",
    "knn_banzhaf": "values",
    "knn_banzhaf_blocks": "values",
    "knn_likelihood_ratio": "losses",
    "knn_loo": "values",
    "knn_loo_blocks": "values",
    "knn_loss_distributions": "losses",
    "knn_shapley": "values",
    "knn_shapley_blocks": "values",
    "minimisation_curve": "applications",
    "neighbour_lists": "influence",
    "onion_effect": "applications",
    "self_shapley": "values",
    "self_waka": "values",
    "stack_blocks": "values",
    "t_waka": "losses",
    "waka": "values",
    "waka_influence": "influence",
    "waka_influence_of_each": "influence",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
