"""Leaves of tree models, and validation of tree structures read from files."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from guestlist.errors import InputError
from guestlist.models.frameworks import packages_of
from guestlist.models.target import Trees


def tree_leaves(model) -> Callable[[object], Trees] | None:
    """Return the leaves of a tree, a forest or boosted trees, also in a pipeline; None for other models."""
    from sklearn import ensemble, tree

    last = last_of(model)
    classifiers = (tree.DecisionTreeClassifier, ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)
    regressors = (tree.DecisionTreeRegressor, ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)
    boosting = (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)
    histograms = (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)
    packages = packages_of(last)
    rows: list[tuple[bool, Callable[..., Trees]]] = [
        (isinstance(last, classifiers), partial(_forest_leaves, counts=_by_class)),
        (isinstance(last, regressors), partial(_forest_leaves, counts=_counted)),
        (isinstance(last, boosting), _boosting_leaves),
        (isinstance(last, histograms), _histogram_leaves),
        ("lightgbm" in packages, _lightgbm_leaves),
        # A booster "dart" drops trees, and "gblinear" has none.
        ("xgboost" in packages and last.booster in (None, "gbtree"), _xgboost_leaves),
    ]
    leaves = next((function for applies, function in rows if applies), None)
    if leaves is None:
        return None
    return lambda x: leaves(last, input_of_last_step(model, x))


def last_of(model):
    """Return the last step of a pipeline, or the model itself."""
    if getattr(model, "steps", None):
        return model.steps[-1][1]
    return model


def input_of_last_step(model, x):
    """Return the records as the last step of a pipeline reads them; unchanged without a pipeline."""
    if len(getattr(model, "steps", ())) > 1:
        return model[:-1].transform(x)
    return x


def _forest_leaves(model, x, counts: Callable[[Any], np.ndarray]) -> Trees:
    trees = np.ravel(getattr(model, "estimators_", [model]))
    return Trees(_leaf_table(model.apply(x)), tuple(counts(tree.tree_) for tree in trees))


def _counted(tree) -> np.ndarray:
    """Return (nodes,) the number of training records in each leaf."""
    return np.where(tree.children_left < 0, tree.n_node_samples, 0).astype(np.float64)


def _by_class(tree) -> np.ndarray:
    """Return (nodes, classes) training records in each leaf. A bootstrap's repeated draws count once."""
    shares = tree.value[:, 0, :]
    counts = tree.n_node_samples[:, None] * shares / shares.sum(axis=1, keepdims=True)
    return np.where((tree.children_left < 0)[:, None], counts, 0.0)


def _boosting_leaves(model, x) -> Trees:
    # Its trees were fitted without column names, and warn if they are given some.
    return _forest_leaves(model, x.to_numpy() if hasattr(x, "to_numpy") else x, _counted)


def _histogram_leaves(model, x) -> Trees:
    """Query copies of the trees whose leaves output their number: scikit-learn has no ``apply`` for them."""
    from copy import copy

    leaf = []
    held = []
    binned = model._preprocess_X(x, reset=False)
    categories = model._bin_mapper.make_known_categories_bitsets()
    for tree in (tree for round_ in model._predictors for tree in round_):
        numbered = copy(tree)
        numbered.nodes = tree.nodes.copy()
        numbered.nodes["value"] = np.arange(len(tree.nodes))
        leaf.append(numbered.predict(binned, *categories, 1))
        held.append(np.where(tree.nodes["is_leaf"], tree.nodes["count"], 0).astype(np.float64))
    return Trees(np.stack(leaf, axis=1).astype(np.int32), tuple(held))


def _lightgbm_leaves(model, x) -> Trees:
    leaf = _leaf_table(model.predict(x, pred_leaf=True))
    trees = [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]
    return Trees(leaf, tuple(np.array([count for _, count in sorted(_counts(tree))], dtype=float) for tree in trees))


def _counts(node: dict) -> Iterator[tuple[int, int]]:
    """Yield the number and count of every leaf below a node; the only leaf of a tree has no number."""
    if "leaf_count" in node:
        yield node.get("leaf_index", 0), node["leaf_count"]
    else:
        yield from _counts(node["left_child"])
        yield from _counts(node["right_child"])


def _xgboost_leaves(model, x) -> Trees:
    """Return leaves with their cover: the sum of the training records' second derivatives.

    A record's second derivative is a function of the outputs of the earlier trees, and is the ``weight`` with which the record
    would count; for squared errors it is 1. Covers are read only for these three objectives, and not for weighted
    classes.
    """
    leaf = _leaf_table(model.apply(x))
    known_objectives = ("reg:squarederror", "binary:logistic", "multi:softprob")
    if model.objective not in known_objectives or model.scale_pos_weight not in (None, 1):
        return Trees(leaf, None)
    booster = model.get_booster()
    nodes = booster.trees_to_dataframe()
    nodes = nodes[nodes["Feature"] == "Leaf"]

    def by_leaf(tree: int, column: str) -> np.ndarray:
        leaves = nodes[nodes["Tree"] == tree]
        table = np.zeros(leaves["Node"].max() + 1)
        table[leaves["Node"]] = leaves[column]
        return table

    trees = range(leaf.shape[1])
    cover = tuple(by_leaf(tree, "Cover") for tree in trees)
    if model.objective == "reg:squarederror":
        return Trees(leaf, cover)
    outputs = np.stack([by_leaf(tree, "Gain")[leaf[:, tree]] for tree in trees], axis=1)  # a leaf's "gain" is its value
    margin = np.asarray(model.predict(x, output_margin=True), dtype=np.float64).reshape(len(leaf), -1)
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]["gbtree_model_param"]
    return Trees(leaf, cover, _curvature(outputs, margin, int(settings["num_parallel_tree"])))


def _curvature(outputs: np.ndarray, margin: np.ndarray, side_by_side: int) -> np.ndarray:
    """Return (records, trees) the second derivative of each record's loss when the tree was grown.

    Args:
        outputs: (records, trees) the term that each tree adds to the margin of its class.
        margin: (records, classes) the sums of these terms; a single column for two classes.
        side_by_side: Trees of one class that are grown at once.
    """
    classes = margin.shape[1]
    of_class = np.arange(outputs.shape[1]) // side_by_side % classes
    rounds = np.arange(outputs.shape[1]) // (side_by_side * classes)
    curvature = np.empty(outputs.shape)
    before = margin - np.stack([outputs[:, of_class == k].sum(axis=1) for k in range(classes)], axis=1)
    for number in np.unique(rounds):
        if classes == 1:
            p = expit(before)
            derivative = p * (1 - p)
        else:
            p = softmax(before, axis=1)
            derivative = 2 * p * (1 - p)
        for tree in np.flatnonzero(rounds == number):
            curvature[:, tree] = derivative[:, of_class[tree]]
            before[:, of_class[tree]] += outputs[:, tree]
    return curvature


def _leaf_table(leaf) -> np.ndarray:
    """Return leaf numbers as (records, trees)."""
    leaf = np.asarray(leaf)
    return leaf.reshape(len(leaf), -1).astype(np.int32)


PLAIN = (str, bytes, int, float, bool, complex, type(None), type, np.generic)


def check_trees(model: Any) -> None:
    """Raise an InputError if a tree of scikit-learn anywhere in a model has nodes that it cannot have."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree

    for part, features in _reachable(model):
        if isinstance(part, Tree):
            _check(part.children_left, part.children_right, part.feature, part.children_left != -1, features)
        elif isinstance(part, TreePredictor):
            nodes = np.asarray(part.nodes)
            inner = nodes["is_leaf"] == 0
            _check(nodes["left"], nodes["right"], nodes["feature_idx"], inner, features)
            sets = min(len(part.raw_left_cat_bitsets), len(part.binned_left_cat_bitsets))
            if (nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)] >= sets).any():
                raise InputError(
                    f"A tree of the model has a set of categories beyond its {sets}: the file is damaged or was tampered "
                    "with. Save the model again."
                )


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
        width = getattr(part, "__dict__", {}).get("n_features_in_")
        if isinstance(width, int | np.integer) and width > 0:
            features = min(int(width), features or int(width)) if isinstance(part, unchanged) else None
        pending += [(child, features) for child in _parts(part)]


def _parts(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return [*part.keys(), *part.values()]
    if isinstance(part, list | tuple | set | frozenset):
        return list(part)
    if isinstance(part, np.ndarray) and part.dtype == object:
        return list(part.flat)
    return list(getattr(part, "__dict__", {}).values())


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
                f"A tree of the model has {count} nodes, but one refers to node {to[wrong][0]}: the file is damaged or "
                "was tampered with. Save the model again."
            )
    read = np.asarray(feature)[here].astype(np.int64)
    for wrong_feature in (read.min(initial=0), read.max(initial=0)):
        if wrong_feature < 0 or (len(read) and features is not None and wrong_feature >= features):
            raise InputError(
                f"A tree of the model reads feature {wrong_feature}, but the model has {features}: the file is damaged or "
                "was tampered with. Save the model again."
            )
