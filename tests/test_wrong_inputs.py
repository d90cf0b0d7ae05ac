"""Forms of input that are refused by name, or read by a rule."""

import ast
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from benchmarks.environments import lowest, requirements
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import Estimate, InputError, knn, read_predictions
from guestlist._findings import Limit, Verdict
from guestlist._findings.risk_distribution import RiskQuantiles
from guestlist._store import from_json, to_json
from guestlist._util import encode_tables, for_spreadsheets, read_table, single_line, validation
from guestlist.data import as_data
from pages import FORMULAS, NO_FORMULAS

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
TABLE = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pl.DataFrame({"a": [1.0], "y": [0]}).lazy(), r"members is a LazyFrame.* \.collect\(\)"),
        ((pl.DataFrame(X).lazy(), Y), r"members is a LazyFrame"),
        (
            TABLE.set_axis(pd.MultiIndex.from_product([["t"], TABLE.columns]), axis=1),
            "column names with several levels",
        ),
        (([[1.0, 2.0], [3.0]], [0, 1]), "Expected members as an array, one value or one row per record"),
        ((X, [[0], [1, 2], 0, 0, 0, 0]), "Expected the labels of members as an array"),
        ((X, [{1}, {2}, 0, 0, 0, 0]), "labels of members must be numbers or texts"),
        ((X, Y.astype(complex)), "labels of members must be numbers or texts; found complex128"),
        (
            (scipy.sparse.csr_matrix(X), Y),
            r"members is a sparse matrix.*x\.toarray\(\).*a pipeline that encodes them",
        ),
        ((scipy.sparse.csc_array(X), Y), "members is a sparse matrix"),
        (pd.Series([1, 2]), "Cannot read members from an object of type Series"),
        ((X, Y, Y), "found a tuple of 3"),
    ],
)
def test_wrong_tables_are_reported(source, words):
    with pytest.raises(InputError, match=words):
        as_data(source, side="members", label="y")


def test_a_sparse_matrix_is_no_data_either():
    with pytest.raises(InputError, match=r"x is a sparse matrix\. Pass a dense array"):
        gl.Data(scipy.sparse.csr_matrix(X), Y)


def test_a_column_is_named_by_a_text_or_a_number():
    assert as_data(TABLE, side="members", label="y", group=None).groups == {}
    assert list(as_data(pd.DataFrame(X), side="members", label=1, group=0).groups) == ["0"]
    for name in ("label", "id", "person", "group"):
        with pytest.raises(ValueError, match=f"Expected {name}=.* the name of a column"):
            as_data(TABLE, side="members", **{"label": "y", name: [1.5] if name == "group" else TABLE})


def test_an_index_of_several_levels_names_the_records():
    indexed = TABLE.set_index(pd.MultiIndex.from_product([["ward"], range(6)]))
    assert as_data(indexed, side="members", label="y").ids[2] == "ward/2"


def test_damaged_parquet_and_empty_labels(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    for cut in (len(content) - 9, len(content) // 2, 4):
        (tmp_path / "t.parquet").write_bytes(content[:cut] + b"\xff" * 9 + content[cut + 9 :])
        with pytest.raises(InputError, match=r"t.parquet as parquet|no column"):
            as_data(tmp_path / "t.parquet", side="members", label="y nowhere")
    (tmp_path / "p.csv").write_text("p_0,p_1,label,member\n0.1,0.9,,1\n0.5,0.5,1,0\n")
    with pytest.raises(InputError, match="1 records without a label, first in row 0"):
        read_predictions(tmp_path / "p.csv")
    (tmp_path / "latin.csv").write_bytes("name,y\nJosé,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.csv as UTF-8: invalid byte at position \d+"):
        read_table(tmp_path / "latin.csv")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(InputError, match=r"ragged.csv as csv: .*line 3, saw 3\. Check that the file is complete"):
        read_table(tmp_path / "ragged.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty.csv as csv"):
        read_table(tmp_path / "empty.csv")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("references", 10**20), ("references", True), ("references", 1.5), ("seed", -1), ("prior", math.nan),
        ("prior", "0.5"), ("baseline", 1), ("attacks", "loss"), ("attacks", 5), ("about", [1]), ("about", {"a": object()}),
        ("folder", 5), ("progress", 5), ("jobs", 10**20), ("duplicates", "maybe"), ("ignore", 5),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(name, value):
    target = gl.function_target(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1])
    with pytest.raises(ValueError, match=f"{name}="):
        gl.audit(target, (X, Y), (X + 1, Y), **{"references": 0, name: value})


def test_arguments_give_plain_values():
    assert validation.number("p", np.float32(0.5), 0, 1) == 0.5
    assert validation.number("p", 1, 0, 1, "(]") == 1.0
    with pytest.raises(ValueError, match=r"Expected p=1 in \(0, 1\)"):
        validation.number("p", 1, 0, 1)
    assert len(validation.short_repr("x" * 500)) == validation.LONGEST
    assert "\x1b" not in validation.short_repr("\x1b[2J")


def test_edited_json_is_refused_by_the_types_of_its_values():
    verdict = Verdict(Limit(0.5, "tpr", 0.1), "loss", Estimate(0.1, math.nan, 0.3), True, 0.2, None, ("a",))
    document = to_json(verdict)
    assert to_json(from_json(Verdict, document)) == document
    for key, value in [
        ("attack", 5),
        ("passed", "yes"),
        ("margin", "1"),
        ("drivers", "a"),
        ("drivers", [1]),
        ("limit", []),
    ]:
        with pytest.raises(ValueError, match=r"found .* instead of"):
            from_json(Verdict, {**document, key: value})
    for wrong in ([0.1, 0.2], [0.1, 0.2, "x"], 5, {"value": 1}, [True, 0, 1]):
        with pytest.raises(ValueError, match="found"):
            from_json(Verdict, {**document, "estimate": wrong})
    for measure, message in (("size", "to be 'auc'"), (5, "found int instead of str")):
        with pytest.raises(ValueError, match=message):
            from_json(Limit, {"maximum": 0.5, "measure": measure})


def test_names_are_escaped_for_terminals_and_spreadsheets():
    assert (
        single_line("a\x1b]0;title\x07\nb\u202e")
        == "a\N{REPLACEMENT CHARACTER}]0;title\N{REPLACEMENT CHARACTER} b\N{REPLACEMENT CHARACTER}"
    )
    safe = for_spreadsheets(pd.DataFrame({"=x": ["@sum", "-1", "Ada"], "n": [-1, 2, 3]}))
    assert safe.to_csv(index=False).splitlines() == ["'=x,n", "'@sum,-1", "-1,2", "Ada,3"]
    cells = pd.DataFrame({"cell": FORMULAS + NO_FORMULAS})
    assert for_spreadsheets(cells)["cell"].tolist() == [f"'{formula}" for formula in FORMULAS] + NO_FORMULAS


def test_the_lowest_versions_are_named_and_safe():
    pins = dict(lowest(requirement).split("==") for requirement in requirements())
    assert all(version[0].isdigit() for version in pins.values())
    numbers = {name: tuple(map(int, version.split("."))) for name, version in pins.items()}
    assert numbers["pyarrow"] >= (14, 0, 1)  # a table of 14.0.0 runs code: CVE-2023-47248
    assert numbers["skops"] >= (0, 13)  # below it one way to load a model fell back to a pickle: CVE-2025-54886
    with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)


def test_distances_and_their_models_are_reported(tmp_path):
    with pytest.raises(ValueError, match="Expected k=100000000000000000000 to be an integer"):
        knn.Knn(k=10**20)
    with pytest.raises(InputError, match="values are infinite in a"):
        encode_tables(TABLE.assign(a=[np.inf, 0, 1, 2, 3, 4]))
    with pytest.raises(ValueError, match=r"Cannot fit or query the model \(ValueError: Unknown label type"):
        knn.minimisation_curve(
            X, Y + 0.5, X, Y + 0.5, np.arange(6.0), model=LogisticRegression(), rng=np.random.default_rng(0), repeats=1
        )


def test_edited_results_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Expected 5 quantiles of 3 members, found 2"):
        RiskQuantiles("mu", {}, 3, (0.1, 0.2))
    member = np.arange(40) < 20
    outputs = np.random.default_rng(0).dirichlet((1, 1), 40)
    results = gl.audit_predictions(gl.Predictions(outputs, np.arange(40) % 2, member), attacks=["loss"], baseline=False)
    other = replace(results, headline=replace(results.headline, name=""))
    with pytest.raises(InputError, match="'b' has no scores of its headline attack ''"):
        gl.compare({"a": results, "b": other})


def test_errors_report_nan_and_not_text():
    """``There is no file`` is said of what is missing; what is there and something else ``is not a`` number, or archive."""
    odd = re.compile(r"(?<!here )\b(is|are) no (?!more|longer|smaller)")
    odd_texts = []
    for path in sorted(Path(gl.__file__).parent.rglob("*.py")):
        for raised in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)):
            texts = [
                node.value
                for node in ast.walk(raised)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            odd_texts += [f"{path.name}: {text}" for text in texts if odd.search(text)]
    assert not odd_texts
