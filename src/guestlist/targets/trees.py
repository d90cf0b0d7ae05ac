"""Leaves of tree models: the leaf of each record in each tree, and the training records that the model file counts there.

A fitted tree stores facts about its training set: scikit-learn the number of records of each class in a leaf, LightGBM and
histogram boosting the number of records, XGBoost the sum of their second derivatives (its "cover"). Anyone who has the model
file has these numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import expit, softmax

from guestlist.targets.frameworks import packages_of
from guestlist.targets.target import Trees


def tree_leaves(model) -> Callable[[object], Trees] | None:
    """Return the leaves of a tree, a forest or boosted trees, also in a pipeline; None for other models."""
    find = _finder(last_of(model))
    return find and (lambda x: find(input_of_last_step(model, x)))


def last_of(model):
    """Return the last step of a pipeline, or the model itself."""
    from sklearn.pipeline import Pipeline

    return model[-1] if isinstance(model, Pipeline) else model


def input_of_last_step(model, x):
    """Return the records as the last step of a pipeline reads them; unchanged without a pipeline."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline) and len(model) > 1:
        return model[:-1].transform(x)
    return x


def _finder(model) -> Callable[[object], Trees] | None:
    from sklearn import ensemble, tree

    if isinstance(model, (tree.DecisionTreeClassifier, ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)):
        return partial(_forest_leaves, model)
    if isinstance(model, (tree.DecisionTreeRegressor, ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)):
        return partial(_regression_forest_leaves, model)
    if isinstance(model, (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)):
        return partial(_boosting_leaves, model)
    if isinstance(model, (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)):
        return partial(_histogram_leaves, model)
    packages = packages_of(model)
    if "lightgbm" in packages:
        return partial(_lightgbm_leaves, model)
    if "xgboost" in packages and model.booster in (None, "gbtree"):  # dart drops trees, and gblinear has none
        return partial(_xgboost_leaves, model)
    return None


def _forest_leaves(model, x) -> Trees:
    trees = [tree.tree_ for tree in getattr(model, "estimators_", [model])]
    return Trees(_leaf_table(model.apply(x)), tuple(map(_by_class, trees)))


def _regression_forest_leaves(model, x) -> Trees:
    trees = [tree.tree_ for tree in getattr(model, "estimators_", [model])]
    return Trees(_leaf_table(model.apply(x)), tuple(map(_counted, trees)))


def _counted(tree) -> np.ndarray:
    """Return (nodes,) the number of training records in each leaf."""
    return np.where(tree.children_left < 0, tree.n_node_samples, 0).astype(np.float64)


def _by_class(tree) -> np.ndarray:
    """Return (nodes, classes) training records in each leaf. A bootstrap's repeated draws count once."""
    shares = tree.value[:, 0, :]
    counts = tree.n_node_samples[:, None] * shares / shares.sum(axis=1, keepdims=True)
    return np.where((tree.children_left < 0)[:, None], counts, 0.0)


def _boosting_leaves(model, x) -> Trees:
    trees = [tree.tree_ for tree in model.estimators_.ravel()]
    # Its trees were fitted without column names, and warn if they are given some.
    rows = x.to_numpy() if hasattr(x, "to_numpy") else x
    return Trees(_leaf_table(model.apply(rows)), tuple(map(_counted, trees)))


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
    would count; for squared errors it is 1. Covers are not read for other objectives than these three, or weighted classes.
    """
    leaf = _leaf_table(model.apply(x))
    squared = model.objective == "reg:squarederror"
    known = squared or model.objective in ("binary:logistic", "multi:softprob")
    if not known or model.scale_pos_weight not in (None, 1):
        return Trees(leaf, None)
    booster = model.get_booster()
    nodes = booster.trees_to_dataframe()
    nodes = nodes[nodes["Feature"] == "Leaf"]
    cover: list[np.ndarray] = []
    value: list[np.ndarray] = []
    for tree in range(leaf.shape[1]):
        leaves = nodes[nodes["Tree"] == tree]
        for column, into in (("Cover", cover), ("Gain", value)):  # a leaf's "gain" is its value
            table = np.zeros(leaves["Node"].max() + 1)
            table[leaves["Node"]] = leaves[column]
            into.append(table)
    if squared:
        return Trees(leaf, tuple(cover))
    outputs = np.stack([table[leaf[:, tree]] for tree, table in enumerate(value)], axis=1)
    margin = np.asarray(model.predict(x, output_margin=True), dtype=np.float64).reshape(len(leaf), -1)
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]["gbtree_model_param"]
    return Trees(leaf, tuple(cover), _curvature(outputs, margin, int(settings["num_parallel_tree"])))


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
