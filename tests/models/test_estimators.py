import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import guestlist as gl
from guestlist import InputError
from guestlist._util import describe
from guestlist.data import as_data
from guestlist.models import as_target


def frames(blobs):
    """The blobs as raw tables with a text column, and labels that are words."""
    words = np.array(["low", "mid", "high"])
    made = []
    for x, y in blobs:
        table = pd.DataFrame(x, columns=list("abcde")).assign(town=np.where(x[:, 0] > 0, "north", "south"))
        made.append((table, words[y]))
    return made


@pytest.mark.slow
def test_a_pipeline_on_raw_columns_is_audited_with_its_own_recipe(blobs):
    (x, y), nonmembers = frames(blobs)
    encode = ColumnTransformer([("town", OneHotEncoder(), ["town"]), ("rest", StandardScaler(), list("abcde"))])
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(x, y)
    results = gl.audit(model, (x, y), nonmembers, references=8, jobs=1, group="town", attacks=["lira", "class_mentr"])
    assert results.subject.name == "ColumnTransformer + RandomForestClassifier"
    assert results.attack("lira").auc.low > 0.6
    assert {g.value for g in results.groups} == {"north", "south"}
    assert set(results.records["label"]) == {"low", "mid", "high"}


@pytest.mark.slow
@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosting_libraries_are_audited(package, blobs):
    library = pytest.importorskip(package)
    kind = {"xgboost": "XGBClassifier", "lightgbm": "LGBMClassifier"}[package]
    quiet = {"xgboost": {"verbosity": 0}, "lightgbm": {"verbose": -1}}[package]
    members, nonmembers = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(library, kind)(n_estimators=15, **quiet).fit(*members)
        results = gl.audit(model, members, nonmembers, references=6, jobs=1)
    assert results.attack("lira").auc.value > 0.55


@pytest.mark.slow
def test_a_reference_without_a_class_still_outputs_all_classes(blobs):
    xgboost = pytest.importorskip("xgboost")
    x, y = blobs[0]
    for model in (xgboost.XGBClassifier(n_estimators=3).fit(x, y), RandomForestClassifier(5).fit(x, y)):
        target = as_target(model)
        without = as_data((x[y != 1], y[y != 1]), side="members")
        probabilities = target.can["train"](without, np.random.default_rng(0))(x)
        assert probabilities.shape == (len(x), 3)
        assert (probabilities[:, 1] == 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_references_get_fresh_seeds_and_one_thread(blobs):
    x, y = blobs[0]
    target = as_target(RandomForestClassifier(5, random_state=7, n_jobs=2).fit(x, y))
    data = as_data((x, y), side="members")
    first, again, other = (target.can["train"](data, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first.model.n_jobs == 1
    assert (first(x) == again(x)).all()
    assert not (first(x) == other(x)).all()


@pytest.mark.slow
def test_decision_values_serve_where_there_are_no_probabilities(blobs):
    members, nonmembers = blobs
    model = LinearSVC(random_state=0).fit(*members)
    target = as_target(model)
    assert target.scale == gl.models.Logits()
    np.testing.assert_array_equal(target.predict(members[0]), model.decision_function(members[0]))
    assert gl.audit(model, members, nonmembers, references=0).attack("loss").auc.value > 0.4
    binary = LinearSVC(random_state=0).fit(members[0], members[1] == 1)
    assert as_target(binary).predict(members[0]).shape == (len(members[0]), 2)


@pytest.mark.slow
def test_a_model_fitted_on_arrays_takes_tables_of_numbers_and_refuses_words(blobs):
    (x, y), (x2, y2) = blobs
    model = LogisticRegression().fit(x, y)
    table, table2 = (
        pd.DataFrame(x, columns=list("abcde")).assign(y=y),
        pd.DataFrame(x2, columns=list("abcde")).assign(y=y2),
    )
    by_table = gl.audit(model, table, table2, label="y", references=0)
    by_array = gl.audit(model, (x, y), (x2, y2), references=0)
    assert by_table.attack("loss").auc == by_array.attack("loss").auc
    with pytest.raises(InputError, match="columns that are not numbers"):
        gl.audit(model, table.assign(e="word"), table2.assign(e="word"), label="y", references=0)


@pytest.mark.slow
def test_columns_the_model_was_not_fitted_on_are_left_out_and_missing_ones_named(blobs):
    (x, y), (x2, y2) = frames(blobs)
    model = HistGradientBoostingClassifier(max_iter=3).fit(x[list("abc")], y)
    assert gl.audit(model, (x, y), (x2, y2), references=0).subject.members == len(y)
    with pytest.raises(InputError, match=r"nonmembers lacks features that the model was fitted on: a. .*id="):
        gl.audit(model, (x, y), (x2.drop(columns="a"), y2), references=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: RandomForestClassifier(), "not fitted"),
        (lambda x, y: MultiOutputClassifier(LogisticRegression()).fit(x, np.c_[y, y]), "several outputs"),
        (lambda x, y: "model.pkl", "There is no file model.pkl"),
        (lambda x, y: 5, "int is not a fitted"),
        (lambda x, y: lambda z: z, "function_target"),
    ],
)
def test_targets_that_cannot_be_audited_explain_why(make, message, blobs):
    with pytest.raises(InputError, match=message):
        gl.audit(make(*blobs[0]), *blobs)


def test_the_recipe_ignores_seeds_and_threads_but_no_other_parameter():
    recipe = describe(RandomForestClassifier(10, random_state=0, n_jobs=2))
    assert recipe == describe(RandomForestClassifier(10, random_state=1))
    assert recipe != describe(RandomForestClassifier(11))
    nested = make_pipeline(StandardScaler(), LogisticRegression(C=2))
    assert describe(nested) != describe(make_pipeline(StandardScaler(), LogisticRegression(C=3)))


@pytest.mark.slow
def test_the_recipe_is_the_same_in_every_process():
    code = (
        "from sklearn.ensemble import RandomForestClassifier; from sklearn.pipeline import make_pipeline;"
        "from sklearn.preprocessing import OneHotEncoder; from guestlist._util.fingerprints import describe;"
        "import numpy as np; text = describe(make_pipeline(OneHotEncoder(categories=[np.array(['a', 'b'])]),"
        "RandomForestClassifier(class_weight={'x': 1, 'y': 2})))"
    )
    names = {}
    exec(code, names)
    printed = subprocess.run([sys.executable, "-c", f"{code}; print(text)"], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == names["text"]
