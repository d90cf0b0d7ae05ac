"""The leaves of every library, against walking the trees by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from guestlist.models import as_target


def leaves_of(model, x):
    return as_target(model).can["leaves"](x)


def walked(tree, x):
    """The leaf of each record, by the path that scikit-learn reports."""
    path = tree.decision_path(x.astype(np.float32)).toarray()
    return np.array([next(n for n in np.flatnonzero(row) if tree.children_left[n] == -1) for row in path])


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(5, bootstrap=False, random_state=0),
        ExtraTreesClassifier(5, max_depth=5, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_forests_count_the_members_of_each_class_in_each_leaf(model, blobs):
    (x, y), (other, _) = blobs
    model.fit(x, y)
    leaves = leaves_of(model, x)
    for t, tree in enumerate(getattr(model, "estimators_", [model])):
        leaf = walked(tree.tree_, x)
        np.testing.assert_array_equal(leaves.leaf[:, t], leaf)
        for node in np.unique(leaf):
            np.testing.assert_allclose(leaves.held[t][node], np.bincount(y[leaf == node], minlength=3))
        assert leaves.held[t].sum() == pytest.approx(len(y))
        np.testing.assert_array_equal(leaves_of(model, other).leaf[:, t], walked(tree.tree_, other))


def test_a_bootstrap_counts_each_record_once(blobs):
    x, y = blobs[0]
    model = RandomForestClassifier(5, random_state=0).fit(x, y)
    leaves = leaves_of(model, x)
    for t, drawn in enumerate(model.estimators_samples_):
        distinct = np.unique(drawn)
        assert leaves.held[t].sum() == pytest.approx(len(distinct))
        counts = np.bincount(leaves.leaf[distinct, t], minlength=len(leaves.held[t]))
        np.testing.assert_allclose(leaves.held[t].sum(axis=1), counts)


@pytest.mark.parametrize("classes", [2, 3])
def test_boosted_trees_count_the_members_in_each_leaf(classes, blobs):
    x, y = blobs[0][0], blobs[0][1] % classes
    model = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(x, y)
    leaves = leaves_of(model, x)
    trees = model.estimators_.ravel()
    assert leaves.leaf.shape == (len(x), len(trees))
    for t, tree in enumerate(trees):
        np.testing.assert_array_equal(leaves.leaf[:, t], walked(tree.tree_, x))
    counts_are_those_of_members(leaves)


def test_histogram_boosting_with_categories_and_missing_values(blobs):
    x, y = blobs[0]
    table = pd.DataFrame(x, columns=list("abcde")).assign(town=pd.Categorical(np.where(x[:, 0] > 0, "n", "s")))
    table.loc[::7, "b"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype", min_samples_leaf=5)
    model.fit(table, y)
    leaves = leaves_of(model, table)
    counts_are_those_of_members(leaves)
    # The leaves are right if their values add up to the output of the model.
    values = [tree.nodes["value"] for round_ in model._predictors for tree in round_]
    outputs = np.stack([value[leaves.leaf[:, t]] for t, value in enumerate(values)], axis=1)
    total = outputs.reshape(len(y), -1, 3).sum(axis=1) + model._baseline_prediction
    np.testing.assert_allclose(total, model.decision_function(table))


@pytest.mark.parametrize("settings", [{}, {"min_child_samples": 1000}, {"subsample": 0.5, "subsample_freq": 1}])
def test_lightgbm_counts_the_members_in_each_leaf(settings, blobs):
    lightgbm = pytest.importorskip("lightgbm")
    x, y = blobs[0]
    model = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1, **settings).fit(x, y)
    leaves = leaves_of(model, x)
    assert leaves.leaf.shape == (len(x), 3 if "min_child_samples" in settings else 12)  # it stops where nothing splits
    if "subsample" not in settings:
        counts_are_those_of_members(leaves)
        return
    for t, held in enumerate(leaves.held):
        assert 80 < held.sum() < 160
        assert (held <= np.bincount(leaves.leaf[:, t], minlength=len(held))).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("side_by_side", [1, 2])
def test_the_covers_of_xgboost_are_sums_of_the_members_curvatures(classes, side_by_side, blobs):
    xgboost = pytest.importorskip("xgboost")
    x, y = blobs[0][0], blobs[0][1] % classes
    model = xgboost.XGBClassifier(n_estimators=4, n_jobs=1, num_parallel_tree=side_by_side).fit(x, y)
    leaves = leaves_of(model, x)
    assert leaves.leaf.shape == (len(x), 4 * side_by_side * (1 if classes == 2 else classes))
    for t, held in enumerate(leaves.held):
        sums = np.bincount(leaves.leaf[:, t], leaves.weight[:, t], len(held))
        np.testing.assert_allclose(held, sums, rtol=1e-4, atol=1e-4)


def test_covers_that_are_no_such_sums_are_not_read(blobs):
    xgboost = pytest.importorskip("xgboost")
    x, y = blobs[0][0], blobs[0][1] % 2
    leaves = leaves_of(xgboost.XGBClassifier(n_estimators=3, n_jobs=1, scale_pos_weight=2.0).fit(x, y), x)
    assert leaves.leaf.shape == (len(x), 3)
    assert leaves.held is None


def test_a_pipeline_is_queried_as_its_last_step(blobs):
    x, y = blobs[0]
    table = pd.DataFrame(x, columns=list("abcde")).assign(town=np.where(x[:, 0] > 0, "n", "s"))
    before = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(before, RandomForestClassifier(3, random_state=0)).fit(table, y)
    np.testing.assert_array_equal(leaves_of(model, table).leaf, model[-1].apply(model[:-1].transform(table)))
    sparse = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(table[["town"]], y)
    assert leaves_of(sparse, table[["town"]]).leaf.shape == (len(y), 1)


def test_other_models_have_no_leaves(blobs):
    assert "leaves" not in as_target(LogisticRegression().fit(*blobs[0])).can
    xgboost = pytest.importorskip("xgboost")
    assert "leaves" not in as_target(xgboost.XGBClassifier(n_estimators=2, booster="dart").fit(*blobs[0])).can


def counts_are_those_of_members(leaves):
    for t, held in enumerate(leaves.held):
        np.testing.assert_array_equal(held, np.bincount(leaves.leaf[:, t], minlength=len(held)))


def test_columns_with_names_bring_no_warning_and_the_same_leaves(recwarn):
    rng = np.random.default_rng(0)
    table, y = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]), np.arange(60) % 2
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(table, y)
    leaves = as_target(model).can["leaves"](table).leaf
    assert not [warning for warning in recwarn if "feature names" in str(warning.message)]
    assert (leaves == model.apply(table.to_numpy()).reshape(60, -1)).all()
