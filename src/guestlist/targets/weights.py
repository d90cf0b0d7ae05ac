"""Traces of ``sample_weight`` in a fitted estimator. Most models keep none: one without a trace may have seen weights too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

WEIGHTS = "GL133"  # the check that reports them
# Standard deviations below the expected number of distinct records in bootstrap samples: fewer than one false positive in 10^8.
FEWER = 6.0


def saw_weights(model) -> bool:
    """Return whether a fitted estimator, or the last step of a pipeline, was certainly fitted with ``sample_weight``."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if getattr(model, "steps", None):
        model = model[-1]
    if type(model).__module__.partition(".")[0] != "sklearn" or getattr(model, "class_weight", None) is not None:
        return False
    if getattr(model, "_fitted_with_sw", False):  # histogram-based boosting
        return True
    counts = getattr(model, "class_count_", None)  # naive Bayes
    if counts is not None and (np.asarray(counts) % 1 != 0).any():
        return True
    if getattr(model, "bootstrap", False):
        return _unequal_bootstrap(model)
    return any(
        not np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples)
        for tree in _trees(model)
        if tree is not None
    )


def _trees(model) -> Iterator[Any]:
    """Trees that get the weights of ``fit`` and no others: not those of AdaBoost or bagging."""
    name = type(model).__name__
    if name.startswith(("DecisionTree", "ExtraTreeC", "ExtraTreeR")):
        yield getattr(model, "tree_", None)
    elif name.startswith(("ExtraTrees", "RandomForest", "GradientBoosting")):
        for tree in np.ravel(getattr(model, "estimators_", [])):
            yield getattr(tree, "tree_", None)


def _unequal_bootstrap(model) -> bool:
    """Return whether bootstrap samples of a forest were drawn or weighted by unequal weights.

    Older versions of scikit-learn multiply by weights; newer ones draw by them, which gives fewer distinct records.
    """
    trees = [tree for tree in _trees(model) if tree is not None]
    n = getattr(model, "_n_samples", None)
    drawn = getattr(model, "_n_samples_bootstrap", None)
    if not trees or not n or not drawn:
        return False
    if any((tree.weighted_n_node_samples % 1 != 0).any() for tree in trees):
        return True
    missed = (1 - 1 / n) ** drawn
    both = (1 - 2 / n) ** drawn if n > 1 else 0.0
    variance = n * missed + n * (n - 1) * both - (n * missed) ** 2
    distinct = np.mean([tree.n_node_samples[0] for tree in trees])
    return bool(distinct < n * (1 - missed) - FEWER * np.sqrt(max(variance, 1.0) / len(trees)) - 0.5)
