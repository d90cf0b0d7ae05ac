"""Which leaf of each tree a record falls in, and how many training records the model file says are there.

A fitted tree carries its training set along: scikit-learn keeps how many records of each class came to a leaf, LightGBM
and histogram boosting how many, XGBoost the sum of their second derivatives (its "cover"). Whoever has the model file has
these numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import expit, softmax

from guestlist.targets.target import Trees


def tree_leaves(model) -> Callable[[object], Trees] | None:
    """How to find the leaves of a tree, a forest or boosted trees, alone or last in a pipeline; None for other models."""
    from sklearn.pipeline import Pipeline

    find = _finder(model[-1] if isinstance(model, Pipeline) else model)
    return find and (lambda x: find(reaching_last(model, x)))


def reaching_last(model, x):
    """The records as the last step of a pipeline gets them; as they are where there is no pipeline."""
    from sklearn.pipeline import Pipeline

    return model[:-1].transform(x) if isinstance(model, Pipeline) and len(model) > 1 else x


def _finder(model) -> Callable[[object], Trees] | None:
    from sklearn import ensemble, tree

    if isinstance(model, (tree.DecisionTreeClassifier, ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)):
        return partial(_of_forest, model)
    if isinstance(model, (tree.DecisionTreeRegressor, ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)):
        return partial(_of_regression_forest, model)
    if isinstance(model, (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)):
        return partial(_of_boosting, model)
    if isinstance(model, (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)):
        return partial(_of_histograms, model)
    packages = {parent.__module__.partition(".")[0] for parent in type(model).__mro__}
    if "lightgbm" in packages:
        return partial(_of_lightgbm, model)
    if "xgboost" in packages and model.booster in (None, "gbtree"):  # dart drops trees, and gblinear has none
        return partial(_of_xgboost, model)
    return None


def _of_forest(model, x) -> Trees:
    trees = [tree.tree_ for tree in getattr(model, "estimators_", [model])]
    return Trees(_table(model.apply(x)), tuple(map(_by_class, trees)))


def _of_regression_forest(model, x) -> Trees:
    trees = [tree.tree_ for tree in getattr(model, "estimators_", [model])]
    return Trees(_table(model.apply(x)), tuple(map(_counted, trees)))


def _counted(tree) -> np.ndarray:
    """(nodes,) training records in each leaf."""
    return np.where(tree.children_left < 0, tree.n_node_samples, 0).astype(np.float64)


def _by_class(tree) -> np.ndarray:
    """(nodes, classes) training records in each leaf. Repeated draws of a bootstrap count once; class shares are weighted."""
    shares = tree.value[:, 0, :]
    counts = tree.n_node_samples[:, None] * shares / shares.sum(axis=1, keepdims=True)
    return np.where((tree.children_left < 0)[:, None], counts, 0.0)


def _of_boosting(model, x) -> Trees:
    trees = [tree.tree_ for tree in model.estimators_.ravel()]
    # Its trees were fitted without names of columns, and warn where they are given some.
    rows = x.to_numpy() if hasattr(x, "to_numpy") else x
    return Trees(_table(model.apply(rows)), tuple(map(_counted, trees)))


def _of_histograms(model, x) -> Trees:
    """scikit-learn offers no ``apply`` here: copies of the trees are asked, whose leaves answer with their own number."""
    from copy import copy

    binned, leaf, held = model._preprocess_X(x, reset=False), [], []
    categories = model._bin_mapper.make_known_categories_bitsets()
    for tree in (tree for round_ in model._predictors for tree in round_):
        numbered = copy(tree)
        numbered.nodes = tree.nodes.copy()
        numbered.nodes["value"] = np.arange(len(tree.nodes))
        leaf.append(numbered.predict(binned, *categories, 1))
        held.append(np.where(tree.nodes["is_leaf"], tree.nodes["count"], 0).astype(np.float64))
    return Trees(np.stack(leaf, axis=1).astype(np.int32), tuple(held))


def _of_lightgbm(model, x) -> Trees:
    leaf = _table(model.predict(x, pred_leaf=True))
    trees = [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]
    return Trees(leaf, tuple(np.array([count for _, count in sorted(_counts(tree))], dtype=float) for tree in trees))


def _counts(node: dict) -> Iterator[tuple[int, int]]:
    """Number and count of every leaf below a node; a tree that is one leaf does not number it."""
    if "leaf_count" in node:
        yield node.get("leaf_index", 0), node["leaf_count"]
    else:
        yield from _counts(node["left_child"])
        yield from _counts(node["right_child"])


def _of_xgboost(model, x) -> Trees:
    """Leaves with their cover: a sum over training records of a second derivative that is known for every record.

    It is a function of what the earlier trees say about the record, so each record's own is the ``weight`` with which
    it would count; for squared errors it is 1. With other objectives than these three, or weighted classes, the covers are
    not read.
    """
    leaf = _table(model.apply(x))
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
        own = nodes[nodes["Tree"] == tree]
        for column, into in (("Cover", cover), ("Gain", value)):  # a leaf's "gain" is its value
            table = np.zeros(own["Node"].max() + 1)
            table[own["Node"]] = own[column]
            into.append(table)
    if squared:
        return Trees(leaf, tuple(cover))
    said = np.stack([table[leaf[:, tree]] for tree, table in enumerate(value)], axis=1)
    margin = np.asarray(model.predict(x, output_margin=True), dtype=np.float64).reshape(len(leaf), -1)
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]["gbtree_model_param"]
    return Trees(leaf, tuple(cover), _curvature(said, margin, int(settings["num_parallel_tree"])))


def _curvature(said: np.ndarray, margin: np.ndarray, side_by_side: int) -> np.ndarray:
    """(records, trees) second derivative of each record's loss when the tree was grown.

    Args:
        said: (records, trees) what each tree adds to the margin of its class.
        margin: (records, classes) what they add up to; a single column for two classes.
        side_by_side: trees of one class that are grown at once.
    """
    classes = margin.shape[1]
    of_class = np.arange(said.shape[1]) // side_by_side % classes
    rounds = np.arange(said.shape[1]) // (side_by_side * classes)
    found = np.empty(said.shape)
    before = margin - np.stack([said[:, of_class == k].sum(axis=1) for k in range(classes)], axis=1)
    for number in np.unique(rounds):
        p = expit(before) if classes == 1 else softmax(before, axis=1)
        derivative = (1 if classes == 1 else 2) * p * (1 - p)
        for tree in np.flatnonzero(rounds == number):
            found[:, tree] = derivative[:, of_class[tree]]
            before[:, of_class[tree]] += said[:, tree]
    return found


def _table(leaf) -> np.ndarray:
    """(records, trees) whatever shape a library gives."""
    leaf = np.asarray(leaf)
    return leaf.reshape(len(leaf), -1).astype(np.int32)
