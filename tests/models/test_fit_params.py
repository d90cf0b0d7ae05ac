"""Arguments of ``fit`` reach every reference, cut to its records; weights that an audit lacks are noticed."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._collect import prepare
from guestlist._collect.engines.engine import pickle_task
from guestlist._util import FitParams
from guestlist.errors import FolderError
from guestlist.models.estimators import saw_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = (X[:, 0] + RNG.normal(size=160) > 0).astype(int)
MEMBERS, NONMEMBERS = (X[:80], Y[:80]), (X[80:], Y[80:])


def weight(x) -> np.ndarray:
    return np.exp(2 * x[:, 1])  # a function of the record, so that it can be recomputed wherever the record is


WEIGHTS = {"sample_weight": (weight(X[:80]), weight(X[80:]))}


def fitted(model=None):
    return (model or LogisticRegression()).fit(*MEMBERS, sample_weight=weight(X[:80]))


def by_weight(data, rng):
    return LogisticRegression().fit(data.x, data.y, sample_weight=weight(data.x))


def losses(model, folder, **options) -> np.ndarray:
    options = {"references": 4, "baseline": False, "engine": gl.Here(), "progress": False, **options}
    return gl.collect(model, MEMBERS, NONMEMBERS, folder=folder, **options).view.reference("loss")


@pytest.mark.slow
def test_every_reference_trains_with_the_weights_of_its_records(tmp_path):
    computed = losses(fitted(), tmp_path / "weights", fit_params=WEIGHTS)
    expected = losses(fitted(), tmp_path / "function", train=by_weight, fit_params=WEIGHTS)
    without = losses(fitted(), tmp_path / "without")
    assert np.array_equal(computed, expected)
    assert not np.allclose(computed, without)


@pytest.mark.slow
@pytest.mark.long  # the routed weights of the next test are passed to processes in the same way
def test_weights_give_the_same_numbers_in_processes(tmp_path):
    here = losses(fitted(), tmp_path / "here", fit_params=WEIGHTS)
    assert np.array_equal(here, losses(fitted(), tmp_path / "jobs", fit_params=WEIGHTS, engine=gl.Local(2)))


@pytest.mark.slow
def test_weights_are_routed_in_processes_as_in_this_one(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        last = LogisticRegression().set_fit_request(sample_weight=True)
        model = fitted(make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last))
        here = losses(model, tmp_path / "here", fit_params=WEIGHTS)
        jobs = losses(model, tmp_path / "jobs", fit_params=WEIGHTS, engine=gl.Local(2))
    assert np.array_equal(here, jobs)


def test_only_options_of_scikit_learn_that_were_set_are_sent_to_other_processes():
    task = TaskOfOptions()
    assert pickle.loads(pickle_task(task)) == task
    with sklearn.config_context(transform_output="pandas"):
        sent = pickle.loads(pickle_task(task))
    assert sent.options == {"transform_output": "pandas"}
    assert sent.files(1, None)["transform_output"] == "pandas"


@dataclass(frozen=True)
class TaskOfOptions:
    def files(self, k, pool):
        return sklearn.get_config()


def test_a_pipeline_takes_them_under_the_name_of_its_step():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*MEMBERS)
    prepared = prepare(
        model, MEMBERS, NONMEMBERS, fit_params={"logisticregression__sample_weight": WEIGHTS["sample_weight"]}
    )
    data = prepared.pool.take(np.arange(50))
    trained = prepared.target.can["train"](data, np.random.default_rng(0)).model
    alone = make_pipeline(StandardScaler(), LogisticRegression())
    alone.fit(data.x, data.y, logisticregression__sample_weight=weight(data.x))
    assert np.array_equal(trained.predict_proba(data.x), alone.predict_proba(data.x))


def test_defences_and_soft_labels_keep_them():
    data = gl.Data(*MEMBERS, fit_params=FitParams(values={"sample_weight": weight(X[:80])}))
    stronger = gl.defences.Regularised({"C": 0.01})(LogisticRegression(), data, np.random.default_rng(0))
    expected = LogisticRegression(C=0.01).fit(*MEMBERS, sample_weight=weight(X[:80]))
    assert np.array_equal(stronger.coef_, expected.coef_)
    soft = gl.defences.Refit().weighted(LogisticRegression(), data, np.full(80, 0.5), np.random.default_rng(0))
    expected = LogisticRegression().fit(*MEMBERS, sample_weight=weight(X[:80]) / 2)
    assert np.array_equal(soft.coef_, expected.coef_)


@pytest.mark.parametrize(
    ("fit_params", "message"),
    [
        ([1], "must be a dict"),
        ({"sample_weight": weight(X[:80])}, r"one array for each of members, nonmembers: fit_params=\{'sample_weight'"),
        ({"sample_weight": weight(X)}, "one array for each of members, nonmembers"),
        ({"sample_weight": weight(X[:80]).tolist()}, "one array for each of members, nonmembers"),
        ({"sample_weight": (weight(X[:80]),)}, "tuple of 1"),
        ({"sample_weight": (weight(X[:80]), weight(X[80:90]))}, "10 values for nonmembers, which has 80 records"),
        ({"sample_weight": (1.0, 2.0)}, "a single value for members"),
        ({"eval_set": (X[:10], X[:10, 0])}, r"as a list, for example \[\(x_val, y_val\)\]"),
        (
            {"sample_weigth": WEIGHTS["sample_weight"]},
            "LogisticRegression.fit with x, y, sample_weigth",
        ),
    ],
)
def test_what_fit_cannot_take_is_refused_before_anything_is_trained(fit_params, message, tmp_path):
    with pytest.raises(gl.InputError, match=message):
        gl.audit(fitted(), MEMBERS, NONMEMBERS, fit_params=fit_params, folder=tmp_path / "none", references=2)
    assert not (tmp_path / "none").exists()


def test_a_population_has_a_part_of_its_own():
    three = (X[:60], Y[:60]), (X[60:120], Y[60:120]), (X[120:], Y[120:])
    values = tuple(weight(x) for x, _ in three)
    prepared = prepare(fitted(), *three, fit_params={"sample_weight": values})
    assert np.array_equal(prepared.pool.fit_params.values["sample_weight"], weight(prepared.pool.x))
    with pytest.raises(gl.InputError, match="members, nonmembers, population"):
        prepare(fitted(), *three, fit_params={"sample_weight": values[:2]})


@pytest.mark.slow
def test_other_fit_params_are_another_audit(tmp_path):
    tree = fitted(DecisionTreeClassifier(random_state=0))
    losses(tree, tmp_path, references=1, fit_params=WEIGHTS)
    halves = tuple(part / 2 for part in WEIGHTS["sample_weight"])
    for other in ({"sample_weight": halves}, {**WEIGHTS, "check_input": True}):
        with pytest.raises(FolderError):
            losses(tree, tmp_path, references=1, fit_params=other)
    losses(tree, tmp_path, references=1, fit_params=dict(WEIGHTS))


class Needing(ClassifierMixin, BaseEstimator):
    """An estimator that cannot be fitted without a third argument."""

    def fit(self, x, y, prior):
        self.classes_, self.prior_ = np.unique(y), prior
        return self

    def predict_proba(self, x):
        return np.tile(self.prior_, (len(x), 1))

    def predict(self, x):
        return self.classes_[self.predict_proba(x).argmax(axis=1)]


def test_a_fit_that_needs_arguments_explains_how_to_pass_them(tmp_path):
    model = Needing().fit(*MEMBERS, prior=[0.5, 0.5])
    with pytest.raises(gl.InputError, match=r"'prior'.*fit_params="):
        gl.audit(model, MEMBERS, NONMEMBERS, folder=tmp_path / "none", references=2)
    prepared = prepare(model, MEMBERS, NONMEMBERS, fit_params={"prior": [0.3, 0.7]})
    trained = prepared.target.can["train"](prepared.pool.take(np.arange(50)), np.random.default_rng(0))
    assert np.array_equal(trained(X[:2]), [[0.3, 0.7]] * 2)


def test_a_list_of_validation_records_is_passed_unchanged():
    xgboost = pytest.importorskip("xgboost")
    members, nonmembers, validation = ((X[part], Y[part]) for part in (slice(60), slice(60, 120), slice(120, 160)))
    model = xgboost.XGBClassifier(n_estimators=50, early_stopping_rounds=2, n_jobs=1)
    fit_params = {"eval_set": [validation], "verbose": False}
    model.fit(*members, **fit_params)
    inputs = prepare(model, members, nonmembers, fit_params=fit_params)
    trained = inputs.target.can["train"](inputs.pool.take(np.arange(50)), np.random.default_rng(0)).model
    losses = trained.evals_result()["validation_0"]["logloss"]
    assert len(losses) == model.best_iteration + 1  # the rounds that the target kept
    with pytest.raises(gl.InputError, match="as a list"):
        prepare(model, members, nonmembers, fit_params={"eval_set": (validation,)})


# -- weights that are noticed ---------------------------------------------------------------------------------------------

KEEP_TRACES = [
    DecisionTreeClassifier(),
    ExtraTreesClassifier(5),
    RandomForestClassifier(20, random_state=0),
    RandomForestRegressor(20, random_state=0),
    GradientBoostingClassifier(n_estimators=3, subsample=0.7),
    HistGradientBoostingClassifier(max_iter=3),
    GaussianNB(),
]


@pytest.mark.parametrize("model", KEEP_TRACES, ids=lambda model: type(model).__name__)
def test_weights_are_detected_in_fitted_models(model):
    assert saw_weights(clone(model).fit(*MEMBERS, sample_weight=weight(X[:80])))
    assert not saw_weights(clone(model).fit(*MEMBERS))


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(class_weight="balanced"),
        RandomForestClassifier(20, class_weight="balanced_subsample"),
        RandomForestClassifier(20, max_samples=0.3),
        AdaBoostClassifier(n_estimators=3),
        LogisticRegression(),
    ],
    ids=str,
)
def test_no_weights_are_detected_where_there_were_none(model):
    assert not saw_weights(model.fit(*MEMBERS))


@pytest.mark.slow
def test_forests_without_weights_are_never_taken_for_weighted_ones():
    reports = [
        RandomForestClassifier(t, max_depth=1, random_state=s).fit(X[:n], Y[:n])
        for s in range(8)
        for t, n in ((1, 20), (10, 160))
    ]
    assert not any(map(saw_weights, reports))


def test_weights_are_detected_in_a_pipeline_and_in_a_search():
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    assert saw_weights(tree.fit(*MEMBERS, decisiontreeclassifier__sample_weight=weight(X[:80])))
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2]}, cv=2)
    assert saw_weights(search.fit(*MEMBERS, sample_weight=weight(X[:80])))


def test_a_target_with_weights_is_reported_unless_the_audit_has_them():
    tree = fitted(DecisionTreeClassifier(random_state=0))
    assert "GL133" in prepare(tree, MEMBERS, NONMEMBERS).target.notes
    assert "GL133" not in prepare(tree, MEMBERS, NONMEMBERS, fit_params=WEIGHTS).target.notes
    assert "GL133" not in gl.estimator_target(tree, train=by_weight).notes


@pytest.mark.slow
def test_the_report_names_the_remedy():
    tree = fitted(DecisionTreeClassifier(random_state=0))
    with pytest.warns(gl.AuditWarning, match="fit_params="):
        results = gl.audit(tree, MEMBERS, NONMEMBERS, references=2, attacks=["loss"], baseline=False, engine=gl.Here())
    assert results.check("GL133").state == "issue"


# -- train= ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_target_without_a_recipe_is_given_one(tmp_path):
    model = LogisticRegression().fit(*MEMBERS)
    bare = gl.function_target(model.predict_proba, classes=[0, 1])
    expected = losses(model, tmp_path / "clone")
    assert np.array_equal(
        losses(bare, tmp_path / "bare", train=lambda data, rng: LogisticRegression().fit(data.x, data.y)), expected
    )
    plain = losses(
        bare, tmp_path / "plain", train=lambda data, rng: LogisticRegression().fit(data.x, data.y).predict_proba
    )
    assert np.array_equal(plain, expected)


def test_train_is_given_once_and_outputs_what_the_target_does():
    model = LogisticRegression().fit(*MEMBERS)
    full = gl.function_target(model.predict_proba, classes=[0, 1], train=by_weight)
    with pytest.raises(gl.InputError, match="has a recipe already"):
        gl.audit(full, MEMBERS, NONMEMBERS, train=by_weight)
    logits = gl.function_target(lambda x: model.decision_function(x)[:, None] * [0, 1], classes=[0, 1], scale="logits")
    with pytest.raises(gl.AuditError, match="outputs probabilities, and the target outputs logits"):
        gl.audit(logits, MEMBERS, NONMEMBERS, train=by_weight, references=2, engine=gl.Here(), baseline=False)


def test_without_a_recipe_the_warning_names_an_argument_that_exists():
    bare = gl.function_target(LogisticRegression().fit(*MEMBERS).predict_proba, classes=[0, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gl.audit(bare, MEMBERS, NONMEMBERS, attacks=["loss"], baseline=False)
    assert any(
        "Pass train=, a function (data, rng) -> model, to gl.audit" in str(warning.message) for warning in caught
    )
