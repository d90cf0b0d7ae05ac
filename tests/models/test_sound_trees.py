"""Forged trees: files that would end the process, or never end, are refused when they are read."""

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from guestlist import InputError
from guestlist.models import load_model
from guestlist.models.trees import check_trees

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(60, 3)).astype(float)
Y = (X[:, 0] + RNG.normal(size=60) > 1).astype(int)
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(3, max_depth=3),
    "extra": ExtraTreesClassifier(3, max_depth=3),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[0]),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=2),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(2, max_depth=3)),
    "wider inside": make_pipeline(OneHotEncoder(), DecisionTreeClassifier(max_depth=3)),
}


def fitted(name):
    model = MODELS[name]
    return model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {})).fit(X, Y)


def forged(tree, column, node, value):
    """The tree with one number of one node changed, as a file could hold it."""
    state = tree.__reduce__()[2]
    state["nodes"] = state["nodes"].copy()
    state["nodes"][column][node] = value
    tree.__setstate__(state)


@pytest.mark.parametrize("name", MODELS)
def test_unmodified_models_are_accepted(name, tmp_path):
    model = fitted(name)
    check_trees(model)
    skops.io.dump(model, tmp_path / "m.skops")
    trust = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    assert np.array_equal(load_model(tmp_path / "m.skops", trust=trust).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("left_child", 2 * 10**9, "refers to node 2000000000"),
        ("right_child", -7, "refers to node -7"),
        ("right_child", 0, "refers to node 0"),  # and would never end
        ("feature", 10**6, "reads feature 1000000, but the model has 3"),
        ("feature", -5, "reads feature -5"),
    ],
)
@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "pipeline", "adaboost"])
def test_a_forged_node_is_refused(name, column, value, words, tmp_path):
    model = fitted(name)
    inner = model[-1] if name == "pipeline" else model
    tree = inner if name == "tree" else np.ravel(inner.estimators_)[-1]
    forged(tree.tree_, column, 0, value)
    with pytest.raises(InputError, match=words):
        check_trees(model)
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(InputError, match=f"m.skops as skops: A tree of the model .*{words}"):
        load_model(tmp_path / "m.skops", trust=skops.io.get_untrusted_types(file=tmp_path / "m.skops"))


def test_a_tree_with_more_features_than_its_forest_is_refused():
    model = fitted("forest")
    model.estimators_[1].n_features_in_ = 10**7
    forged(model.estimators_[1].tree_, "feature", 0, 10**6)
    with pytest.raises(InputError, match="reads feature 1000000, but the model has 3"):
        check_trees(model)


@pytest.mark.parametrize(("column", "value"), [("left", 10**9), ("right", 0), ("feature_idx", 400), ("bitset_idx", 50)])
def test_forged_histogram_trees_are_refused(column, value):
    model = fitted("histograms")
    predictor = model._predictors[0][0]
    inner = np.flatnonzero((predictor.nodes["is_leaf"] == 0) & (predictor.nodes["is_categorical"] == 1))
    assert len(inner)
    predictor.nodes[column][inner[0]] = value
    with pytest.raises(InputError, match="damaged or was tampered with"):
        check_trees(model)
