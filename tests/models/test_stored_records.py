"""Training records that a model stores are found, and no others are reported."""

import inspect
import io
import json
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from scipy import sparse
from sklearn import compose, ensemble, feature_extraction, linear_model, neighbors, preprocessing, svm
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators

import guestlist as gl
from guestlist.cli import main

RECORDS, FEATURES = 40, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(RECORDS, FEATURES))
Y = (X[:, 0] + RNG.normal(size=RECORDS) > 0).astype(int)

# Estimators that do not fit a table of numbers with one label per record.
OTHER_INPUTS = {
    *("CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer", "TfidfVectorizer", "PatchExtractor"),
    *("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "IsotonicRegression", "KernelCenterer"),
    *("ClassifierChain", "RegressorChain", "MultiOutputClassifier", "MultiOutputRegressor"),
    *("MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"),
    *("SparseCoder", "FrozenEstimator"),
}
# Settings for required parameters, for few records, or for speed.
SETTINGS = {
    "CCA": {"n_components": 1},
    "PLSCanonical": {"n_components": 1},
    "PLSSVD": {"n_components": 1},
    "DBSCAN": {"eps": 3.0},
    "DictionaryLearning": {"max_iter": 2},
    "MiniBatchDictionaryLearning": {"max_iter": 2},
    "GaussianRandomProjection": {"n_components": 2},
    "SparseRandomProjection": {"n_components": 2},
    "Pipeline": {"steps": [("scale", preprocessing.StandardScaler()), ("svm", svm.SVC())]},
    "FeatureUnion": {"transformer_list": [("scale", preprocessing.StandardScaler())]},
    "ColumnTransformer": {"transformers": [("neighbours", neighbors.KNeighborsTransformer(), [0, 1, 2])]},
    "GridSearchCV": {"estimator": svm.SVC(), "param_grid": {"C": [1.0]}},
    "HalvingGridSearchCV": {"estimator": svm.SVC(), "param_grid": {"C": [1.0]}},
    "RandomizedSearchCV": {"estimator": svm.SVC(), "param_distributions": {"C": [1.0]}, "n_iter": 1},
    "HalvingRandomSearchCV": {"estimator": svm.SVC(), "param_distributions": {"C": [1.0]}},
    "SelfTrainingClassifier": {"estimator": linear_model.LogisticRegression()},
    "SequentialFeatureSelector": {"estimator": linear_model.LogisticRegression(), "n_features_to_select": 1, "cv": 2},
    "TunedThresholdClassifierCV": {"estimator": linear_model.LogisticRegression(), "cv": 2},
    "StackingRegressor": {"estimators": [("svm", svm.SVR())]},
    "VotingRegressor": {"estimators": [("svm", svm.SVR())]},
    "BaggingClassifier": {"estimator": svm.SVC(), "max_features": 0.5, "bootstrap_features": True},
}
POSITIVE = {  # features, or labels of a regression, must not be negative
    *("NMF", "MiniBatchNMF", "LatentDirichletAllocation", "AdditiveChi2Sampler", "ComplementNB", "MultinomialNB"),
    *("CategoricalNB", "GammaRegressor", "PowerTransformer"),
}


def estimator(name: str, kind: type):
    """Return an estimator with the parameters it needs."""
    settings = dict(SETTINGS.get(name, {}))
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.name in settings or parameter.default is not inspect.Parameter.empty:
            continue
        if parameter.name in ("estimator", "base_estimator"):
            settings[parameter.name] = linear_model.LogisticRegression()
        elif parameter.name == "estimators":
            settings["estimators"] = [("svm", svm.SVC())]
    model = kind(**settings)
    fewer = {"n_estimators": 3, "n_init": 1, "cv": 3, "random_state": 0}
    params = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in fewer.items() if key in params and name not in SETTINGS})


class Writer(pickle.Pickler):
    """Pickler that writes arrays of numbers row by row, whatever their order in memory."""

    def reducer_override(self, obj):
        if isinstance(obj, np.ndarray) and obj.dtype.kind in "biuf":
            return bytes, (np.ascontiguousarray(obj).tobytes(),)
        return NotImplemented


def rows_in_pickle(model, *tables: np.ndarray) -> set[int]:
    """Return the records whose bytes are in the pickle of a model, as 64-bit or 32-bit floats."""
    stream = io.BytesIO()
    Writer(stream, protocol=4).dump(model)
    content = stream.getvalue()
    return {
        position
        for table in tables
        for position, row in enumerate(table)
        if row.tobytes() in content or row.astype(np.float32).tobytes() in content
    }


def positions(ids) -> set[int]:
    return {int(name.partition(":")[2]) for name in ids}


# The centre of a cluster of one record is its row, but rounding changes its last bits.
CENTRES = ("KMeans", "BisectingKMeans", "MiniBatchKMeans")


def rows_among_centres(model, x: np.ndarray) -> set[int]:
    """Return the records that equal a cluster centre up to rounding."""
    gaps = np.abs(x[:, None, :] - model.cluster_centers_[None, :, :]).max(axis=2).min(axis=1)
    return set(np.flatnonzero(gaps < 1e-12).tolist())


def as_seen_inside(name: str, model, x: np.ndarray) -> list[np.ndarray]:
    """Return the records as the parts of a composed model read them."""
    if name == "Pipeline":
        return [x, model[:-1].transform(x)]
    if name == "ColumnTransformer":
        return [np.ascontiguousarray(x[:, :3])]
    if name in (
        "KMeans",
        "BisectingKMeans",
    ):  # they subtract the mean and add it again; the centre of one record is its row
        return [x, x - x.mean(axis=0) + x.mean(axis=0)]
    if name == "BaggingClassifier":
        return [np.ascontiguousarray(x[:, columns]) for columns in model.estimators_features_]
    return [x]


@pytest.mark.parametrize(("name", "kind"), [row for row in all_estimators() if row[0] not in OTHER_INPUTS])
def test_every_estimator_that_stores_rows_is_reported_and_no_other(name, kind):
    x = np.abs(X) if name in POSITIVE else X
    y = Y + 1.0 if name in POSITIVE else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that do not converge on 40 records
        model = estimator(name, kind).fit(x, y)
        expected = rows_in_pickle(model, *as_seen_inside(name, model, x))
        if name in CENTRES:
            expected |= rows_among_centres(model, x)
        scan = gl.scan(model, (x, y))
    assert positions(scan.row_ids) == expected


def test_the_search_of_pickles_finds_rows_in_many_types_of_model():
    """The oracle above would prove nothing if it found no rows."""
    for name in ("KNeighborsClassifier", "SVC", "GaussianProcessRegressor", "KernelDensity", "DBSCAN"):
        model = estimator(name, dict(all_estimators())[name]).fit(X, Y)
        assert rows_in_pickle(model, X), name
    assert not rows_in_pickle(linear_model.LogisticRegression().fit(X, Y), X)


@pytest.mark.parametrize(
    ("last", "path"),
    [(neighbors.KNeighborsRegressor(), "_fit_X"), (neighbors.KernelDensity(algorithm="ball_tree"), "tree_.data")],
)
def test_members_are_found_behind_the_steps_of_a_pipeline_and_in_search_trees(last, path):
    scaler = preprocessing.StandardScaler()
    scan = gl.scan(make_pipeline(scaler, preprocessing.QuantileTransformer(n_quantiles=9), last).fit(X, Y), (X, Y))
    assert scan.table["path"].tolist() == [f"named_steps.{type(last).__name__.lower()}.{path}"]
    assert len(scan.ids) == RECORDS


def test_only_stored_members_are_found():
    scan = gl.scan(neighbors.KNeighborsClassifier().fit(X[:10], Y[:10]), (X, Y))
    assert positions(scan.ids) == set(range(10))
    row = scan.table.iloc[0]
    assert (row["stored"], row["matched"], row["members"], row["share"]) == (10, 10, 10, 0.25)
    assert not gl.scan(neighbors.KNeighborsClassifier().fit(X[:10], Y[:10]), (X[10:], Y[10:])).parts


@pytest.mark.parametrize(
    "content",
    [
        X.astype(np.float32),
        np.asfortranarray(X),
        X.T.copy(),
        np.column_stack([X, Y]),
        sparse.csr_matrix(X),
        pd.DataFrame(X),
        X.tolist(),
        X.ravel(),
        {"nested": [{"deep": (X, "text")}]},
        lambda: X,
        np.array([neighbors.KernelDensity().fit(X), None], dtype=object),
        X - 3.0 + 3.0,
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_are_found_in_arrays_of_every_form(content):
    if callable(content):
        rows = X
        content = lambda: rows  # noqa: E731
    assert len(gl.scan({"memory": content}, (X, Y)).row_ids) == RECORDS


def test_cyclic_objects_are_scanned_once():
    content = {"rows": X}
    content["itself"] = content
    assert len(gl.scan(content, (X, Y)).parts) == 1


def test_the_mean_of_one_record_is_its_row():
    centres = KMeans(n_clusters=RECORDS - 1, n_init=1, random_state=0).fit(X)
    alone = np.flatnonzero(np.bincount(centres.labels_) == 1)
    expected = {int(np.flatnonzero(centres.labels_ == cluster)[0]) for cluster in alone}
    assert positions(gl.scan(centres, (X, Y)).row_ids) == expected


def test_rows_that_chance_would_match_are_not_reported():
    binary = (X > 0).astype(float)[:, :3]  # eight different rows
    assert not gl.scan({"identity": np.eye(3), "zeros": np.zeros((5, 3))}, (binary, Y)).parts
    whole = np.round(X[:, :3])
    assert not gl.scan({"medians": np.median(whole, axis=0)[None, :]}, (whole, Y)).parts
    assert not gl.scan({"least": X.min(axis=0)}, (X, Y)).parts
    one_column = np.column_stack([X[:, 0], np.zeros((RECORDS, 3))])
    assert not gl.scan({"rows": one_column}, (one_column, Y)).parts


def test_rows_of_many_binary_columns_are_reported():
    binary = (RNG.random((RECORDS, 50)) < 0.3).astype(float)
    assert len(gl.scan(neighbors.KNeighborsClassifier().fit(binary, Y), (binary, Y)).row_ids) == RECORDS


def test_missing_values_match_missing_values():
    x = X.copy()
    x[::3, 0] = np.nan
    assert len(gl.scan({"rows": x.copy()}, (x, Y)).row_ids) == RECORDS
    other = x.copy()
    other[::3, 0] = 1.0
    assert len(gl.scan({"rows": other}, (x, Y)).row_ids) == RECORDS - len(x[::3])


TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, RECORDS),
        "income": RNG.normal(size=RECORDS),
        "town": ["Oslo", "Bergen"] * (RECORDS // 2 - 1) + ["Utsira", "Oslo"],
        "note": [f"patient seen {word}" for word in ["today", "again"] * (RECORDS // 2 - 1) + ["limping", "again"]],
        "label": Y,
    }
)


def test_values_that_one_member_has_are_found_in_encoders_and_vocabularies():
    columns = compose.ColumnTransformer(
        [
            ("town", preprocessing.OneHotEncoder(), ["town"]),
            ("words", feature_extraction.text.TfidfVectorizer(), "note"),
            ("numbers", preprocessing.StandardScaler(), ["age", "income"]),
        ]
    )
    features = TABLE.drop(columns="label")
    model = make_pipeline(columns, linear_model.LogisticRegression()).fit(features, Y)
    scan = gl.scan(model, TABLE, label="label")
    assert scan.table[["holds", "matched", "members"]].to_numpy().tolist() == [["values", 1, 1], ["values", 1, 1]]
    assert positions(scan.ids) == {RECORDS - 2}
    assert scan.row_ids == ()


def test_values_that_the_developer_listed_are_not_reported():
    town = TABLE[["town"]]
    listed = preprocessing.OneHotEncoder(categories=[["Bergen", "Oslo", "Utsira"]]).fit(town)
    assert not gl.scan(listed, town).parts
    words = feature_extraction.text.CountVectorizer(vocabulary=["limping", "today"]).fit(TABLE["note"])
    assert not gl.scan(words, (TABLE["note"], Y)).parts


def test_tables_with_text_are_compared_row_by_row():
    model = {"table": TABLE.drop(columns=["label", "note"]).head(7)}
    scan = gl.scan(model, TABLE.drop(columns="note"), label="label")
    assert positions(scan.row_ids) == set(range(7))


def test_sparse_rows_are_found_after_a_vectoriser():
    texts = [f"word{i} word{i + 1} common word{i % 7}x" for i in range(RECORDS)]
    model = make_pipeline(
        feature_extraction.text.TfidfVectorizer(), neighbors.KNeighborsClassifier(metric="cosine", algorithm="brute")
    ).fit(texts, Y)
    scan = gl.scan(model, (texts, Y))
    assert scan.table[["holds", "members"]].to_numpy().tolist()[-1] == ["rows", RECORDS]


# --- audits ---


def audited(model):
    half = RECORDS // 2
    model = model.fit(X[:half], Y[:half])
    return gl.audit(model, (X[:half], Y[:half]), (X[half:], Y[half:]), references=0, attacks=["loss"], baseline=False)


def test_an_audit_reports_stored_rows_without_a_warning():
    check = audited(make_pipeline(preprocessing.StandardScaler(), neighbors.KNeighborsClassifier())).check("GL134")
    where = "named_steps.kneighborsclassifier._fit_X"
    assert (check.state, check.values) == ("issue", {"stored": 20, "members": 20, "where": where})
    assert audited(linear_model.LogisticRegression()).check("GL134").state == "passed"


def test_an_audit_goes_on_if_a_model_cannot_be_searched():
    class Odd(linear_model.LogisticRegression):
        @property
        def vocabulary_(self):
            raise OSError("no attribute")

        def transform(self, x):
            return x

    assert audited(Odd()).check("GL134").state == "not run"


def test_a_scan_changes_neither_the_records_nor_the_model():
    class Noisy(preprocessing.StandardScaler):
        calls = 0

        def transform(self, x, copy=None):
            self.calls += 1
            return super().transform(x, copy=copy)

    x = X.copy()
    model = make_pipeline(Noisy(copy=False), neighbors.KNeighborsClassifier()).fit(X.copy(), Y)
    calls = model[0].calls
    assert len(gl.scan(model, (x, Y)).row_ids) == RECORDS
    assert np.array_equal(x, X)
    assert model[0].calls == calls


# --- files and the command ---


@pytest.fixture
def members(tmp_path):
    path = tmp_path / "train.csv"
    pd.DataFrame(X).add_prefix("x").assign(label=Y, name=[f"p{i}" for i in range(RECORDS)]).to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(main, ["scan", *map(str, arguments)])


def test_skops_file(tmp_path, members):
    skops.io.dump(svm.SVC().fit(X, Y), tmp_path / "svm.skops")
    result = run(tmp_path / "svm.skops", "--members", members, "--label", "label", "--id", "name", "--json")
    content = json.loads(result.stdout)
    stored = len(svm.SVC().fit(X, Y).support_)
    assert result.exit_code == 1
    assert (content["members"], content["rows_stored"], content["members_stored"]) == (RECORDS, stored, stored)
    assert [(part["path"], part["members"]) for part in content["parts"]] == [("support_vectors_", stored)]
    assert "p0" not in result.stdout


def test_ids_are_printed_on_request_only(tmp_path, members):
    skops.io.dump(neighbors.KNeighborsClassifier().fit(X[:3], Y[:3]), tmp_path / "knn.skops")
    command = (tmp_path / "knn.skops", "--members", members, "--label", "label", "--id", "name")
    assert "p1" not in run(*command).stdout
    assert "p0, p1, p2" in run(*command, "--ids").stdout
    part = json.loads(run(*command, "--ids", "--json").stdout)["parts"][0]
    assert part["ids"] == ["p0", "p1", "p2"]


def test_exit_status_is_0_if_nothing_is_stored(tmp_path, members):
    skops.io.dump(linear_model.LogisticRegression().fit(X, Y), tmp_path / "linear.skops")
    result = run(tmp_path / "linear.skops", "--members", members, "--label", "label", "--drop", "name")
    assert result.exit_code == 0
    assert "stores none of the 40 members" in result.stdout


def test_a_pickle_needs_the_flag(tmp_path, members):
    joblib.dump(ensemble.BaggingClassifier(svm.SVC(), n_estimators=2).fit(X, Y), tmp_path / "model.pkl")
    command = (tmp_path / "model.pkl", "--members", members, "--label", "label", "--drop", "name")
    assert run(*command).exit_code == 2
    assert run(*command, "--allow-pickle").exit_code == 1


def test_json_file(tmp_path, members):
    (tmp_path / "model.json").write_text(json.dumps({"learner": {"memory": X[:5].tolist()}, "trees": [1, 2]}))
    result = run(tmp_path / "model.json", "--members", members, "--label", "label", "--drop", "name", "--json")
    assert json.loads(result.stdout)["rows_stored"] == 5


def test_booster_json_stores_no_rows(tmp_path, members):
    xgboost = pytest.importorskip("xgboost")
    xgboost.XGBClassifier(n_estimators=3).fit(X, Y).save_model(tmp_path / "booster.json")
    assert run(tmp_path / "booster.json", "--members", members, "--label", "label", "--drop", "name").exit_code == 0


def test_torch_file(tmp_path, members):
    torch = pytest.importorskip("torch")
    state = {"layer.weight": torch.randn(8, FEATURES), "memory": torch.tensor(X[:4], dtype=torch.float32)}
    torch.save(state, tmp_path / "net.pt")
    result = run(tmp_path / "net.pt", "--members", members, "--label", "label", "--drop", "name", "--json")
    assert [(part["path"], part["members"]) for part in json.loads(result.stdout)["parts"]] == [("['memory']", 4)]
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    assert run(tmp_path / "module.pt", "--members", members, "--label", "label").exit_code == 2


@pytest.mark.parametrize("model", [svm.SVC(), neighbors.KNeighborsClassifier()], ids=["svm", "knn"])
def test_onnx_file(tmp_path, members, model):
    skl2onnx = pytest.importorskip("skl2onnx")
    fitted = model.fit(X.astype(np.float32), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # skl2onnx reads attributes that scikit-learn will remove
        graph = skl2onnx.to_onnx(fitted, X[:1].astype(np.float32), options={"zipmap": False})
    (tmp_path / "model.onnx").write_bytes(graph.SerializeToString())
    result = run(tmp_path / "model.onnx", "--members", members, "--label", "label", "--drop", "name", "--json")
    assert json.loads(result.stdout)["rows_stored"] == len(getattr(fitted, "support_", X))


@pytest.mark.parametrize(
    ("name", "content"), [("a.onnx", b"no"), ("a.json", b"{"), ("a.pt", b"no"), ("a.h5", b""), ("b", None)]
)
def test_unreadable_files_end_in_one_line(tmp_path, members, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = run(tmp_path / name, "--members", members, "--label", "label")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_columns_that_are_missing_are_named(members):
    with pytest.raises(gl.InputError, match="town"):
        gl.scan(svm.SVC().fit(X, Y), members, label="label", drop=["town"])


@pytest.mark.parametrize("members", [None, 5, X[:0], (X,)], ids=["none", "number", "empty", "tuple of one"])
def test_members_that_are_no_records_are_refused(members):
    with pytest.raises(gl.InputError, match="members"):
        gl.scan(svm.SVC().fit(X, Y), members)
