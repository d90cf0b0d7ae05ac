"""Models with several outputs: the lines of the message work, and all outputs together leak more than one."""

import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist.models.several_outputs import MAX_COMBINATIONS, select_output

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = (X[:, :3] + RNG.normal(size=(240, 3)) > 0).astype(int)
MEMBERS = (X[:120], Y[:120])
NONMEMBERS = (X[120:], Y[120:])
QUICK = {"references": 2, "attacks": ["correctness"], "jobs": 1, "progress": False, "baseline": False}

MULTI_OUTPUT = {
    "wrapper": MultiOutputClassifier(LogisticRegression()),
    "wrapper of labels": MultiOutputClassifier(LinearSVC()),
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbours": KNeighborsClassifier(),
    "chain": ClassifierChain(LogisticRegression()),
    "one against all": OneVsRestClassifier(LogisticRegression()),
    "network": MLPClassifier((4,), max_iter=20, random_state=0),
    "ridge": RidgeClassifier(),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
    "search": GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, cv=2),
    "search of networks": GridSearchCV(MLPClassifier(max_iter=5), {"alpha": [1.0]}, cv=2),
}


def fitted(model, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop early
        return model.fit(X[:120], y[:120])


def run_lines_of(error: pytest.ExceptionInfo, **names) -> list[gl.Results]:
    """Paste the lines of an error message into a session with the user's model and records; return the results."""
    lines = [line for line in str(error.value).splitlines() if line.startswith("    ")]
    assert len(lines) == 3
    results = []

    def audit(*arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(gl.audit(*arguments, **options, **QUICK))
        return results[-1]

    class Session:
        models = gl.models

    Session.audit = staticmethod(audit)
    exec(textwrap.dedent("\n".join(lines)), {"gl": Session, "x": X[:120], "x2": X[120:], **names})
    return results


@pytest.mark.parametrize("kind", MULTI_OUTPUT)
def test_a_model_with_several_outputs_is_refused_whatever_the_labels(kind):
    model = fitted(MULTI_OUTPUT[kind])
    for members, nonmembers in ((MEMBERS, NONMEMBERS), ((X[:120], Y[:120, 0]), (X[120:], Y[120:, 0]))):
        with pytest.raises(gl.InputError, match="predicts several outputs"):
            gl.audit(model, members, nonmembers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wrapper of labels", "forest", "network"])
def test_the_lines_of_the_message_audit_each_output_and_all_together(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted(MULTI_OUTPUT[kind])
    with pytest.raises(gl.InputError) as error:
        gl.audit(model, MEMBERS, NONMEMBERS)
    results = run_lines_of(error, model=model, y=Y[:120], y2=Y[120:])
    names = [part.subject.name.rpartition(", ")[2] for part in results]
    assert names == ["output 0", "output 1", "output 2", "all outputs"]
    assert all(part.references.count == 2 for part in results)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"output_{part}.html" for part in (0, 1, 2, "all")]


@pytest.mark.slow
def test_the_lines_of_the_message_audit_a_regressor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(QUICK, "attacks", ["loss"])
    values = X[:, :2] + RNG.normal(size=(240, 2))
    model = fitted(RandomForestRegressor(5, random_state=0), values)
    with pytest.raises(gl.InputError, match="several outputs") as error:
        gl.audit(model, (X[:120], values[:120, 0]), (X[120:], values[120:, 0]))
    results = run_lines_of(error, model=model, y=values[:120], y2=values[120:])
    assert [part.subject.name.rpartition(", ")[2] for part in results] == ["output 0", "output 1"]


@pytest.mark.slow
def test_the_lines_of_the_message_audit_boosters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    xgboost = pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    models = {
        "estimator": xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(*MEMBERS),
        "catboost": catboost.CatBoostClassifier(
            iterations=3, loss_function="MultiLogloss", verbose=False, allow_writing_files=False
        ).fit(*MEMBERS),
        "native": xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(*MEMBERS), 3),
    }
    for name, model in models.items():
        with pytest.raises(gl.InputError, match="several outputs") as error:
            gl.audit(model, MEMBERS, NONMEMBERS)
        if name == "native":  # a function, whose training is unknown
            monkeypatch.setitem(QUICK, "references", 0)
        results = run_lines_of(error, model=model, y=Y[:120], y2=Y[120:], xgboost=xgboost)
        assert len(results) == 4


def test_probability_of_a_combination_is_the_product_over_the_outputs():
    model = fitted(MULTI_OUTPUT["forest"])
    target, members, _ = select_output(model, "all", MEMBERS, NONMEMBERS)
    outputs = target.predict(X)
    parts = model.predict_proba(X)
    for k, name in enumerate(target.classes[:-1]):
        labels = map(int, name.split(", "))
        assert np.allclose(outputs[:, k], np.prod([parts[j][:, label] for j, label in enumerate(labels)], axis=0))
    assert np.allclose(outputs.sum(axis=1), 1)
    assert members.y[0] == ", ".join(map(str, Y[0]))
    # The loss of all outputs is the sum of the losses.
    single = [select_output(model, j, MEMBERS, NONMEMBERS)[0].predict(X) for j in range(3)]
    rows = np.arange(240)
    joint = outputs[rows, [target.classes.tolist().index(", ".join(map(str, row))) for row in Y]]
    assert np.allclose(joint, np.prod([single[j][rows, Y[:, j]] for j in range(3)], axis=0))


def test_labels_of_any_type_and_tables_are_read():
    y = pd.DataFrame({"a": np.where(Y[:, 0], "yes", "no"), "b": Y[:, 1]})
    x = pd.DataFrame(X, columns=list("abcd"))
    model = RandomForestClassifier(5, random_state=0).fit(x[:120], y[:120].astype(str))
    target, members, nonmembers = select_output(
        model, 0, (x[:120], y[:120].astype(str)), (x[120:], y[120:].astype(str))
    )
    assert target.classes.tolist() == ["no", "yes"]
    assert members.y[:3].tolist() == y["a"][:3].tolist()
    data = gl.Data(X[120:], y[120:].astype(str).to_numpy(), groups={"g": y["a"][120:].to_numpy()})
    assert select_output(model, 1, (x[:120], y[:120].astype(str)), data)[2].groups.keys() == {"g"}
    assert set(members.ids).isdisjoint(nonmembers.ids)


def test_references_train_on_all_outputs_with_fresh_seeds():
    target, members, _ = select_output(fitted(MULTI_OUTPUT["forest"]), 1, MEMBERS, NONMEMBERS)
    train = target.can["train"]
    reference = train(members, np.random.default_rng(1))
    assert reference.model.n_outputs_ == 3
    assert reference(X).shape == (240, 2)
    assert not np.array_equal(reference(X), train(members, np.random.default_rng(2))(X))
    # A reference that lacks a label of an output still has its column.
    few = members.take(Y[:120, 1] == 1)
    assert train(few, np.random.default_rng(1))(X)[:, 0].tolist() == [0.0] * 240
    with pytest.raises(gl.InputError, match="no labels of all outputs"):
        train(gl.Data(*MEMBERS), np.random.default_rng(1))


def test_fit_params_are_cut_per_record_next_to_the_labels_of_all_outputs():
    weights = []

    class Weighted(DecisionTreeClassifier):
        def fit(self, x, y, sample_weight=None):
            weights.append((len(x), sample_weight))
            return super().fit(x, y, sample_weight)

    target, *records = select_output(fitted(Weighted(max_depth=3)), "all", MEMBERS, NONMEMBERS)
    weights.clear()
    ones = {"sample_weight": (np.ones(120), np.full(120, 2.0))}
    gl.audit(target, *records, fit_params=ones, **QUICK)
    assert [len(weight) for _, weight in weights] == [size for size, _ in weights]
    assert all(set(weight) == {1.0, 2.0} for _, weight in weights)
    weights.clear()
    with pytest.raises(gl.InputError, match="wieght"):
        gl.audit(target, *records, fit_params={"wieght": 1}, **QUICK)
    assert weights == []  # refused before any training


def test_the_labels_of_other_outputs_are_part_of_the_identity():
    model = fitted(MULTI_OUTPUT["forest"])
    changed = (X[:120], np.column_stack([Y[:120, :2], 1 - Y[:120, 2]]))
    first, _, _ = select_output(model, 0, MEMBERS, NONMEMBERS)
    second, _, _ = select_output(model, 0, changed, NONMEMBERS)
    assert first.recipe != second.recipe
    assert first.recipe == select_output(model, 0, MEMBERS, NONMEMBERS)[0].recipe


def test_a_function_may_return_lists_or_an_array_and_may_train():
    model = fitted(MULTI_OUTPUT["forest"])
    listed, _, _ = select_output(model.predict_proba, "all", MEMBERS, NONMEMBERS)
    columns = np.column_stack([part[:, 1] for part in model.predict_proba(X)])

    def train(data, rng):
        assert data.y.shape[1] == 3
        return lambda x: columns

    array, members, _ = select_output(lambda x: columns, "all", MEMBERS, NONMEMBERS, train=train)
    assert np.allclose(listed.predict(X), array.predict(X))
    assert "train" not in listed.can
    assert np.allclose(array.can["train"](members, np.random.default_rng(0))(X), array.predict(X))
    values, _, _ = select_output(lambda x: columns, 2, MEMBERS, NONMEMBERS, scale="values")
    assert np.array_equal(values.predict(X), columns[:, 2])


@pytest.mark.slow
def test_all_outputs_together_leak_more_than_each():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 8))
    y = (x[:, :4] + rng.normal(size=(800, 4)) > 0).astype(int)
    members, nonmembers = (x[:400], y[:400]), (x[400:], y[400:])
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(*members)
    aucs = {}
    for output in (0, 3, "all"):
        target, *records = select_output(model, output, members, nonmembers)
        results = gl.audit(target, *records, references=4, jobs=1, progress=False, baseline=False)
        aucs[output] = results.attack("lira_bayes").auc.value
    assert aucs["all"] > max(aucs[0], aucs[3]) + 0.02


@pytest.mark.parametrize("kind", [tuple, lambda part: gl.Data(*part)])
def test_labels_of_several_outputs_are_refused_for_a_model_with_one(kind):
    model = DecisionTreeClassifier().fit(X[:120], Y[:120, 0])
    with pytest.raises(gl.InputError, match=r"labels shaped \(120, 3\).*select_output"):
        gl.audit(model, kind(MEMBERS), kind(NONMEMBERS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, MEMBERS), "found 1 sets"),
        ((3, MEMBERS, NONMEMBERS), "from 0 to 2, or 'all'"),
        (("every", MEMBERS, NONMEMBERS), "from 0 to 2, or 'all'"),
        ((0, MEMBERS, (X[120:], Y[120:, 0])), "nonmembers needs labels of several outputs"),
        ((0, MEMBERS, (X[120:], Y[120:, :2])), "same number of columns"),
        ((0, MEMBERS, "records.csv"), "nonmembers must be"),
        ((0, (X[:120], Y[:120, :2]), (X[120:], Y[120:, :2])), "has 3 outputs, but the labels have 2 columns"),
        (("all", MEMBERS, (X[120:], Y[120:] + 1)), "does not know the label '2' of output 0"),
    ],
)
def test_wrong_outputs_and_labels_are_refused(arguments, message):
    with pytest.raises(gl.InputError, match=message):
        select_output(fitted(MULTI_OUTPUT["forest"]), *arguments)


def test_a_path_is_refused():
    with pytest.raises(gl.InputError, match="str is neither a fitted estimator nor a function"):
        select_output("model.onnx", 0, MEMBERS, NONMEMBERS)


def test_what_all_outputs_cannot_do_is_refused():
    values = RandomForestRegressor(2).fit(X[:120], X[:120, :2])
    with pytest.raises(gl.InputError, match="needs a classifier"):
        select_output(values, "all", (X[:120], X[:120, :2]), (X[120:], X[120:, :2]))
    many = np.arange(2 * (MAX_COMBINATIONS + 1)).reshape(-1, 2)
    with pytest.raises(gl.InputError, match="2,001 combinations"):
        select_output(lambda x: x, "all", (many, many), (many, many))
    wrong_columns = [np.zeros((240, 3)), np.zeros((240, 2)), np.zeros((240, 2))]
    with pytest.raises(gl.InputError, match="3 columns for the labels"):
        select_output(lambda x: wrong_columns, 0, MEMBERS, NONMEMBERS)[0].predict(X)
    with pytest.raises(gl.InputError, match="has 2 outputs"):
        select_output(lambda x: wrong_columns[1:], 0, MEMBERS, NONMEMBERS)[0].predict(X)
    with pytest.raises(gl.InputError, match="must be 'probabilities' or 'values'"):
        select_output(lambda x: x, 0, MEMBERS, NONMEMBERS, scale="logits")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_lines_of_the_message_audit_a_keras_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(QUICK, "references", 0)  # a function, whose training is unknown
    keras = pytest.importorskip("keras")
    inputs = keras.layers.Input((4,))
    heads = [keras.layers.Dense(2, "softmax")(inputs), keras.layers.Dense(2, "softmax")(inputs)]
    labels = keras.layers.Dense(2, "sigmoid")(inputs)
    for model in (keras.Model(inputs, heads), keras.Model(inputs, labels)):
        with pytest.raises(gl.InputError, match="several outputs") as error:
            gl.audit(model, (X[:120], Y[:120, 0]), (X[120:], Y[120:, 0]))
        with pytest.raises(gl.InputError, match="neither a fitted estimator nor a function"):
            select_output(model, 0, (X[:120], Y[:120, :2]), (X[120:], Y[120:, :2]))
        results = run_lines_of(error, model=model, y=Y[:120, :2], y2=Y[120:, :2])
        assert [part.subject.name.rpartition(", ")[2] for part in results] == ["output 0", "output 1", "all outputs"]
