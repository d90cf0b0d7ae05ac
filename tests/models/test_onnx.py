"""Models in ONNX files: the same outputs as the model that was written, and no recipe."""

import locale

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist import InputError
from guestlist.cli import main

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
to_onnx = pytest.importorskip("skl2onnx").to_onnx


@pytest.fixture(scope="module")
def sides(blobs):
    return [(x.astype(np.float32), np.array(["a", "b", "c"])[y]) for x, y in blobs]


def written(model, x, path, **options):
    path.write_bytes(
        to_onnx(model, x[:1], options={"zipmap": False, **options} if options else None).SerializeToString()
    )
    return path


def forest(sides):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=0).fit(*sides[0])


@pytest.mark.parametrize("zipmap", [True, False])
def test_a_file_predicts_as_the_model_does(sides, tmp_path, zipmap):
    model = forest(sides)
    path = written(model, sides[0][0], tmp_path / "forest.onnx", **({} if zipmap else {"zipmap": False}))
    target = gl.onnx_target(path)
    assert list(target.classes) == ["a", "b", "c"]
    assert (target.scale.name, target.name) == ("probabilities", "forest.onnx")
    np.testing.assert_allclose(target.predict(sides[1][0]), model.predict_proba(sides[1][0]), atol=1e-5)


def test_probabilities_just_below_0_are_rounding_errors(tmp_path):
    floats = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 2]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", floats[:1], floats[1:])
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    target = gl.onnx_target(tmp_path / "m.onnx", classes=["a", "b"], scale="probabilities")
    outputs = target.predict(np.array([[-1.3e-6, 1], [-0.1, 1.1]], dtype=np.float32))
    assert outputs[0, 0] == 0
    assert outputs[1, 0] < -0.05


def test_an_audit_of_a_file_trains_nothing_and_reports_it(sides, tmp_path):
    path = written(forest(sides), sides[0][0], tmp_path / "forest.onnx")
    with pytest.warns(
        gl.AuditWarning,
        match=r"no training recipe .*ONNX file does not store its training recipe.*Pass train=.*to gl.audit",
    ):
        results = gl.audit(path, *sides, attacks=["loss"], baseline=False)
    assert results.attacks["auc"].iloc[0] > 0.6
    with pytest.raises(InputError, match="no training recipe: an ONNX file"):
        gl.audit(path, *sides, references=4)


@pytest.mark.slow
def test_a_recipe_may_be_given(sides, tmp_path):
    def train(data, rng):
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(10, random_state=int(rng.integers(1000))).fit(data.x, data.y).predict_proba

    path = written(forest(sides), sides[0][0], tmp_path / "m.onnx")
    options = {"references": 4, "attacks": ["loss", "lira"], "jobs": 1, "baseline": False, "progress": False}
    results = gl.audit(gl.onnx_target(path, train=train), *sides, **options)
    assert results.attacks["auc"].min() > 0.6
    assert gl.audit(path, *sides, train=train, **options).attacks.equals(results.attacks)


@pytest.mark.slow
def test_the_command_line_audits_a_file(sides, tmp_path):
    path, names = written(forest(sides), sides[0][0], tmp_path / "m.onnx"), [f"x{i}" for i in range(5)]
    for side, (x, y) in zip(("in", "out"), sides, strict=True):
        pd.DataFrame(x, columns=names).assign(kind=y).to_csv(tmp_path / f"{side}.csv", index=False)
    options = ["--members", str(tmp_path / "in.csv"), "--nonmembers", str(tmp_path / "out.csv"), "--label", "kind"]
    common = ["--attack", "loss", "--no-baseline", "--out", str(tmp_path / "audit")]
    done = CliRunner().invoke(main, ["audit", "--model", str(path), *options, *common])
    assert done.exit_code == 0, done.output
    assert "Note: guestlist cannot train reference models, because m.onnx has no training recipe" in done.output
    assert "references=0 (--references 0) to silence" in done.output
    some = CliRunner().invoke(main, ["audit", "--model", str(path), *options, "--references", "4", *common])
    assert some.exit_code == 2
    assert "Pass train=, a function (data, rng) -> model, to gl.audit in Python" in some.output
    wrong = CliRunner().invoke(
        main, ["audit", "--model", str(path), *options, "--scale", "logits", "--out", str(tmp_path / "b")]
    )
    assert wrong.exit_code == 2
    assert "they are probabilities, not logits" in wrong.output
    assert not (tmp_path / "b").exists()


def test_columns_of_a_table_are_inputs_of_the_file(tmp_path):
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {
            "age": rng.normal(size=80).astype(np.float32),
            "count": rng.integers(9, size=80),
            "town": rng.choice(["n", "s"], 80),
        }
    )
    y = (x["age"] > 0).astype(int).to_numpy()
    columns = make_column_transformer((StandardScaler(), ["age", "count"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, LogisticRegression()).fit(x, y)
    path = tmp_path / "table.onnx"
    path.write_bytes(to_onnx(model, x[:1]).SerializeToString())
    target = gl.onnx_target(path)
    data = target.fitting(gl.Data(x[["town", "age", "count"]].assign(spare=1), y), "members")
    np.testing.assert_allclose(target.predict(data.x), model.predict_proba(x), atol=1e-5)
    with pytest.raises(InputError, match="fitted on: town"):
        target.fitting(gl.Data(x[["age", "count"]], y), "members")
    with pytest.raises(InputError, match="the records are an array"):
        target.predict(x[["age", "count"]].to_numpy())


def graph(path, last: str, columns: int, records="n"):
    """A file of one linear layer, as torch writes them: no labels, and maybe a fixed number of records."""
    weights = np.random.default_rng(0).normal(size=(5, columns)).astype(np.float32)
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["z" if last else "out"])]
    nodes += [onnx.helper.make_node(last, ["z"], ["out"])] if last else []
    made = onnx.helper.make_graph(
        nodes,
        "linear",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [records, 5])],
        [onnx.helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, [records, columns])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return path, weights.astype(np.float64)


def test_logits_values_and_one_output(tmp_path):
    x = np.random.default_rng(1).normal(size=(30, 5))
    path, weights = graph(tmp_path / "logits.onnx", "", 3)
    target = gl.onnx_target(path)
    assert (target.scale.name, list(target.classes)) == ("logits", [0, 1, 2])
    np.testing.assert_allclose(target.predict(x), x @ weights, atol=1e-4)
    assert gl.onnx_target(graph(tmp_path / "soft.onnx", "Softmax", 3)[0], scale="probabilities").predict(x).shape == (
        30,
        3,
    )
    path, weights = graph(tmp_path / "value.onnx", "", 1)
    assert gl.onnx_target(path).scale.name == "values"
    np.testing.assert_allclose(gl.onnx_target(path).predict(x), x @ weights, atol=1e-4)
    single = gl.onnx_target(path, classes=["no", "yes"])
    np.testing.assert_allclose(single.predict(x), np.hstack([np.zeros((30, 1)), x @ weights]), atol=1e-4)
    path, _ = graph(tmp_path / "sigmoid.onnx", "Sigmoid", 1)
    assert np.allclose(gl.onnx_target(path, classes=[0, 1], scale="probabilities").predict(x).sum(axis=1), 1)


def test_a_file_may_take_a_fixed_number_of_records(tmp_path):
    x = np.random.default_rng(1).normal(size=(30, 5))
    path, weights = graph(tmp_path / "eight.onnx", "", 3, records=8)
    np.testing.assert_allclose(gl.onnx_target(path).predict(x), x @ weights, atol=1e-4)


def test_wrong_files_and_classes_in_another_order_are_reported(sides, tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(InputError, match="as ONNX"):
        gl.audit(tmp_path / "bad.onnx", *sides)
    with pytest.raises(InputError, match="no file"):
        gl.onnx_target(tmp_path / "none.onnx")
    path = written(forest(sides), sides[0][0], tmp_path / "m.onnx", zipmap=False)
    with pytest.raises(InputError, match=r"in the order of its columns: classes=\[…\]"):
        gl.onnx_target(path, classes=["c", "b", "a"]).predict(sides[1][0])
    with pytest.raises(ValueError, match="not supported for ONNX"):
        gl.onnx_target(path, scale="labels")


def test_classes_that_the_file_does_not_name_are_requested(sides, tmp_path):
    from sklearn.neighbors import KNeighborsClassifier

    path = written(KNeighborsClassifier().fit(*sides[0]), sides[0][0], tmp_path / "knn.onnx", zipmap=False)
    with pytest.raises(InputError, match="does not name its classes"):
        gl.onnx_target(path)
    assert gl.onnx_target(path, classes=["a", "b", "c"]).predict(sides[1][0]).shape == (200, 3)


@pytest.fixture(scope="module")
def tables(sides, tmp_path_factory):
    """The two sides as files, in the form of options."""
    folder, names = tmp_path_factory.mktemp("tables"), [f"x{i}" for i in range(5)]
    for side, (x, y) in zip(("in", "out"), sides, strict=True):
        pd.DataFrame(x, columns=names).assign(kind=y).to_csv(folder / f"{side}.csv", index=False)
    return ["--members", str(folder / "in.csv"), "--nonmembers", str(folder / "out.csv"), "--label", "kind"]


def test_classes_are_named_on_the_command_line(sides, tables, tmp_path):
    from sklearn.neighbors import KNeighborsClassifier

    path = written(KNeighborsClassifier().fit(*sides[0]), sides[0][0], tmp_path / "knn.onnx", zipmap=False)
    run = [
        "audit",
        "--model",
        str(path),
        *tables,
        "--attack",
        "loss",
        "--no-baseline",
        "--out",
        str(tmp_path / "audit"),
    ]
    result = CliRunner().invoke(main, run)
    assert result.exit_code == 2
    assert "--class NAME for each" in result.stderr
    named = [part for name in "abc" for part in ("--class", name)]
    assert CliRunner().invoke(main, [*run, *named]).exit_code == 0
    assert gl.read_results(tmp_path / "audit").attacks["auc"].iloc[0] > 0.55
    computed = CliRunner().invoke(main, ["collect", str(tmp_path / "audit"), "--attack", "confidence"])
    assert computed.exit_code == 0, computed.output  # the folder knows them
    other = CliRunner().invoke(main, ["audit", "--model", "m.skops", *tables, *named])
    assert other.exit_code == 2
    assert "--class: only used with a model in an .onnx file" in other.stderr


def test_classes_that_are_numbers_are_those_of_the_table():
    from guestlist.cli.request import _labels

    assert _labels(("0", "1")) == [0, 1]
    assert _labels(("0", "many")) == ["0", "many"]
    assert _labels(()) is None


@pytest.fixture(scope="module")
def letters():
    """Texts of random words with labels, and a file of a pipeline that was fitted on the first half of them."""
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(60)])
    texts = np.array([" ".join(rng.choice(words, 8)) for _ in range(120)], dtype=object)
    y = rng.choice(["ham", "spam"], 120)

    def written(path, lowercase):
        # Words as ONNX finds them: it does not know scikit-learn's own pattern.
        words = TfidfVectorizer(token_pattern="[a-zA-Z0-9_]+", lowercase=lowercase)
        model = make_pipeline(words, LogisticRegression(C=100)).fit(texts[:60], y[:60])
        kind = [("text", StringTensorType([None, 1]))]
        path.write_bytes(to_onnx(model, initial_types=kind, options={"zipmap": False}).SerializeToString())
        return model

    return texts, y, written


def test_a_model_of_texts_in_a_file(letters, tmp_path):
    texts, y, written = letters
    model = written(tmp_path / "texts.onnx", lowercase=False)
    target = gl.onnx_target(tmp_path / "texts.onnx")
    np.testing.assert_allclose(target.predict(texts), model.predict_proba(texts), atol=1e-4)
    sides = (list(texts[:60]), y[:60]), (pd.Series(texts[60:]), y[60:])
    results = gl.audit(target, *sides, references=0, attacks=["loss"], baseline=False)
    assert results.attacks["auc"].iloc[0] > 0.7


def test_a_file_that_needs_a_locale_works_or_says_which(letters, tmp_path):
    texts, _, written = letters
    model, path = written(tmp_path / "texts.onnx", lowercase=True), tmp_path / "texts.onnx"
    try:
        previous = locale.setlocale(locale.LC_CTYPE)
        locale.setlocale(locale.LC_CTYPE, "en_US.UTF-8")
        locale.setlocale(locale.LC_CTYPE, previous)
    except locale.Error:
        with pytest.raises(InputError, match=r"locale en_US\.UTF-8, which this machine lacks"):
            gl.onnx_target(path)
    else:
        np.testing.assert_allclose(gl.onnx_target(path).predict(texts), model.predict_proba(texts), atol=1e-4)
