"""Validation of trees in a model file: a forged tree makes its reader access foreign memory.

scikit-learn follows the children of a node in compiled code without checking their indices. An index beyond the tree ends the
process, and one that points back loops for ever. Trees that scikit-learn writes have children after their parents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from guestlist.errors import InputError

PLAIN = (str, bytes, int, float, bool, complex, type(None), type, np.generic)


def check_trees(model: Any) -> None:
    """Raise an InputError if a tree of scikit-learn anywhere in a model has nodes that it cannot have."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree

    for part, features in _reachable(model):
        if isinstance(part, Tree):
            _check(part.children_left, part.children_right, part.feature, part.children_left != -1, features)
        elif isinstance(part, TreePredictor):
            _check_histogram_tree(part, features)


def _reachable(model: Any) -> Iterator[tuple[Any, int | None]]:
    """Yield every object inside a model once, with the number of features that it reads, if known."""
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree

    # These pass their records to their trees unchanged. Other containers of estimators may pass different features.
    unchanged = (BaseDecisionTree, BaseForest, BaseGradientBoosting, BaseHistGradientBoosting)
    pending: list[tuple[Any, int | None]] = [(model, None)]
    visited: set[int] = set()
    while pending:
        part, features = pending.pop()
        if isinstance(part, PLAIN) or id(part) in visited:
            continue
        visited.add(id(part))
        yield part, features
        width = _width(part)
        if width is not None:
            features = min(width, features or width) if isinstance(part, unchanged) else None
        pending += [(child, features) for child in _parts(part)]


def _width(part: Any) -> int | None:
    width = getattr(part, "__dict__", {}).get("n_features_in_")
    if isinstance(width, int | np.integer) and width > 0:
        return int(width)
    return None


def _parts(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return [*part.keys(), *part.values()]
    if isinstance(part, list | tuple | set | frozenset):
        return list(part)
    if isinstance(part, np.ndarray) and part.dtype == object:
        return list(part.flat)
    return list(getattr(part, "__dict__", {}).values())


def _check_histogram_tree(tree: Any, features: int | None) -> None:
    nodes = np.asarray(tree.nodes)
    inner = nodes["is_leaf"] == 0
    _check(nodes["left"], nodes["right"], nodes["feature_idx"], inner, features)
    sets = min(len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets))
    if (nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)] >= sets).any():
        raise InputError(
            f"A tree of the model has a set of categories beyond its {sets}: the file is damaged, or forged."
        )


def _check(
    left_child: np.ndarray, right_child: np.ndarray, feature: np.ndarray, inner: np.ndarray, features: int | None
) -> None:
    """Raise unless children of inner nodes follow them within the tree, and read existing features."""
    count = len(left_child)
    here = np.flatnonzero(inner)
    for children in (left_child, right_child):
        to = np.asarray(children)[here].astype(np.int64)
        wrong = (to <= here) | (to >= count)
        if wrong.any():
            raise InputError(
                f"A tree of the model has {count} nodes, and one of them leads to node {to[wrong][0]}: the file is damaged, or "
                "forged."
            )
    read = np.asarray(feature)[here].astype(np.int64)
    for wrong_feature in (read.min(initial=0), read.max(initial=0)):
        if wrong_feature < 0 or (len(read) and features is not None and wrong_feature >= features):
            raise InputError(
                f"A tree of the model reads feature {wrong_feature}, and the model has {features}: the file is damaged, or "
                "forged."
            )
