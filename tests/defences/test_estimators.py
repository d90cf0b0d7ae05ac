"""An estimator's own regularisation: every value is another one, and stronger; the present one changes nothing."""

import importlib

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist import InputError
from guestlist._util import describe
from guestlist.defences import grid
from guestlist.defences.estimators import REGULARISATION, family

# Native boosters have the parameters of their scikit-learn interfaces.
ESTIMATORS = [name for name in REGULARISATION if not name.endswith("Booster")]
MODULES = {
    "DecisionTree": "sklearn.tree",
    "RandomForest": "sklearn.ensemble",
    "ExtraTrees": "sklearn.ensemble",
    "GradientBoosting": "sklearn.ensemble",
    "HistGradientBoosting": "sklearn.ensemble",
    "XGB": "xgboost",
    "LGBM": "lightgbm",
    "KNeighbors": "sklearn.neighbors",
    "MLP": "sklearn.neural_network",
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "LinearSVC": "sklearn.svm",
}
# Small enough to train in no time; what is regularised has its default.
SMALL = {"MLPClassifier": {"max_iter": 20}, "MLPRegressor": {"max_iter": 20}, "LGBMClassifier": {"verbose": -1}}
SMALL |= {"LGBMRegressor": {"verbose": -1}, "RandomForestClassifier": {"n_estimators": 5}}
SMALL |= {"ExtraTreesClassifier": {"n_estimators": 5}}
# Where a larger value regularises more; of the others, a smaller one does.
RISING = {"min_samples_leaf", "l2_regularization", "min_child_weight", "reg_lambda", "min_child_samples", "alpha"}
RISING |= {"n_neighbors", "early_stopping"}


def estimator(name):
    stem = name.removesuffix("Classifier").removesuffix("Regressor")
    module = pytest.importorskip(MODULES.get(name, MODULES.get(stem, "sklearn.linear_model")))
    return getattr(importlib.import_module(module.__name__), name)(**SMALL.get(name, {}))


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100)
    return gl.Data(rng.normal(size=(100, 3)) + y[:, None], y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_value_is_another_parameter_with_another_identity(name):
    model = estimator(name)
    tried = list(grid(model, 10_000))
    assert {parameter for candidate in tried for parameter in candidate.parameters} == {
        k.parameter for k in REGULARISATION[name]
    }
    now = model.get_params()
    for recipe in tried:
        ((parameter, value),) = recipe.parameters.items()
        assert recipe.set_in(model).get_params() == now | {parameter: value} != now
        assert describe(recipe.set_in(model)) != describe(model)
    assert len({candidate.describe() for candidate in tried}) == len(tried)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_of_one_parameter_regularise_more_and_more(name):
    model = estimator(name)
    for knob in REGULARISATION[name]:
        values = [
            recipe.parameters[knob.parameter] for recipe in grid(model, 10_000) if knob.parameter in recipe.parameters
        ]
        now = model.get_params()[knob.parameter]
        signs = np.sign(np.diff([*([] if now is None else [float(now)]), *map(float, values)]))
        assert set(signs) <= {1.0 if knob.parameter in RISING else -1.0}
        assert values


@pytest.mark.filterwarnings("ignore")  # of perceptrons that have not converged
@pytest.mark.parametrize("name", [name for name in REGULARISATION if name.endswith("Classifier")])
def test_the_present_value_is_plain_training_and_every_other_trains(name, some):
    model = estimator(name)
    knob = REGULARISATION[name][0]
    same = gl.defences.Regularised({knob.parameter: model.get_params()[knob.parameter]})
    first, plain = (train(model, some, np.random.default_rng(1)) for train in (same, gl.defences.Refit()))
    np.testing.assert_array_equal(ask(first, some.x), ask(plain, some.x))
    strongest = {parameter: value for recipe in grid(model, 100) for parameter, value in recipe.parameters.items()}
    for parameter, value in strongest.items():
        trained = gl.defences.Regularised({parameter: value})(model, some, np.random.default_rng(1))
        assert trained.get_params()[parameter] == value
        assert np.isfinite(ask(trained, some.x)).all()


def ask(model, x):
    return model.predict_proba(x) if hasattr(model, "predict_proba") else model.decision_function(x)


def test_the_last_step_of_a_pipeline_is_regularised(some):
    model = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), estimator("KNeighborsClassifier")))
    recipe = next(grid(model, 1000))
    assert recipe.parameters == {"n_neighbors": 15}
    assert recipe(model, some, np.random.default_rng(0))[-1][-1].n_neighbors == 15


def test_where_there_was_no_penalty_there_are_some_to_try():
    assert [recipe.parameters["C"] for recipe in grid(LogisticRegression(C=np.inf), 100)] == [0.1, 0.01, 0.001]


def test_neighbours_and_leaves_stay_a_part_of_the_records():
    assert [recipe.parameters["n_neighbors"] for recipe in grid(estimator("KNeighborsClassifier"), 200)] == [15]
    leaves = [recipe.parameters.get("min_samples_leaf") for recipe in grid(estimator("DecisionTreeClassifier"), 100)]
    assert [leaf for leaf in leaves if leaf] == [5, 20]


def test_unknown_estimators_have_no_grid_and_missing_parameters_are_named(some):
    assert family(StandardScaler()) == ()
    assert not list(grid(StandardScaler(), 100))
    with pytest.raises(InputError, match="has no parameter 'leaves'"):
        gl.defences.Regularised({"leaves": 3})(estimator("DecisionTreeClassifier"), some, np.random.default_rng(0))


def test_weights_reach_the_estimator(some):
    model, weight = estimator("DecisionTreeClassifier"), np.repeat([1.0, 0.0], 50)
    weighted = gl.defences.Regularised({"min_samples_leaf": 5}).weighted(model, some, weight, np.random.default_rng(0))
    other = gl.defences.Refit().weighted(model.set_params(min_samples_leaf=5), some, weight, np.random.default_rng(0))
    np.testing.assert_array_equal(ask(weighted, some.x), ask(other, some.x))
