"""Trees of a model file as they should be: a forged one leads its reader out of its own memory.

scikit-learn follows the children of a node without a look at where they stand, in compiled code: an index beyond the tree ends
the process, and one that points back never ends. Its own trees have children after their parents.
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

    for found, features in _reachable(model):
        if isinstance(found, Tree):
            _check(found.children_left, found.children_right, found.feature, found.children_left != -1, features)
        elif isinstance(found, TreePredictor):
            _check_histogram_tree(found, features)


def _reachable(model: Any) -> Iterator[tuple[Any, int | None]]:
    """Everything that a model holds, each once, with the number of features that it is handed, where that is known."""
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree

    # These hand their records on to their trees as they are; whatever else holds estimators may give them other features.
    unchanged = (BaseDecisionTree, BaseForest, BaseGradientBoosting, BaseHistGradientBoosting)
    left: list[tuple[Any, int | None]] = [(model, None)]
    seen: set[int] = set()
    while left:
        one, features = left.pop()
        if isinstance(one, PLAIN) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one, features
        own = _width(one)
        if own is not None:
            features = min(own, features or own) if isinstance(one, unchanged) else None
        left += [(part, features) for part in _parts(one)]


def _width(one: Any) -> int | None:
    found = getattr(one, "__dict__", {}).get("n_features_in_")
    return int(found) if isinstance(found, int | np.integer) and found > 0 else None


def _parts(one: Any) -> list[Any]:
    if isinstance(one, dict):
        return [*one.keys(), *one.values()]
    if isinstance(one, list | tuple | set | frozenset):
        return list(one)
    if isinstance(one, np.ndarray):
        return list(one.flat) if one.dtype == object else []
    return list(getattr(one, "__dict__", {}).values())


def _check_histogram_tree(tree: Any, features: int | None) -> None:
    nodes = np.asarray(tree.nodes)
    inner = nodes["is_leaf"] == 0
    _check(nodes["left"], nodes["right"], nodes["feature_idx"], inner, features)
    sets = min(len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets))
    if (nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)] >= sets).any():
        raise InputError(
            f"A tree of the model has a set of categories beyond its {sets}: the file is damaged, or forged."
        )


def _check(left: np.ndarray, right: np.ndarray, feature: np.ndarray, inner: np.ndarray, features: int | None) -> None:
    """Children of inner nodes stand after them and within the tree, and their features are among those there are."""
    count, here = len(left), np.flatnonzero(inner)
    for children in (left, right):
        to = np.asarray(children)[here].astype(np.int64)
        wrong = (to <= here) | (to >= count)
        if wrong.any():
            raise InputError(
                f"A tree of the model has {count} nodes, and one of them leads to node {to[wrong][0]}: the file is damaged, or "
                "forged."
            )
    read = np.asarray(feature)[here].astype(np.int64)
    if len(read) and (read.min() < 0 or (features is not None and read.max() >= features)):
        raise InputError(
            f"A tree of the model reads feature {read.max() if read.min() >= 0 else read.min()}, and the model has "
            f"{features}: the file is damaged, or forged."
        )
