import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from guestlist import InputError
from guestlist._util import encode_tables
from guestlist.cli import main
from guestlist.knn import Knn, knn_shapley, self_waka


@pytest.fixture(scope="module")
def tables(blobs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("knn")
    for name, (x, y) in zip(("train", "test"), blobs, strict=True):
        table = pd.DataFrame(x, columns=list("abcde")).assign(town=np.where(x[:, 0] > 0, "n", "s"), y=y)
        table.assign(who=[f"p{i}" for i in range(len(y))]).to_parquet(folder / f"{name}.parquet")
    return folder


def knn(*arguments):
    result = CliRunner().invoke(main, ["knn", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def points(tables):
    train, test = (pd.read_parquet(tables / f"{name}.parquet").drop(columns="who") for name in ("train", "test"))
    return *encode_tables(train.drop(columns="y"), test.drop(columns="y")), train["y"], test["y"]


@pytest.mark.slow
def test_values_are_those_of_the_functions(tables, tmp_path):
    columns = ["--label", "y", "--id", "who", "--k", 3]
    knn("values", tables / "train.parquet", *columns, "--value", "self_waka", "--out", tmp_path / "a.csv")
    x, x_test, y, y_test = points(tables)
    frame = pd.read_csv(tmp_path / "a.csv")
    np.testing.assert_allclose(frame["self_waka"], self_waka(x, y, Knn(3)), rtol=1e-12)
    assert frame["id"][7] == "p7"
    table, test = (pd.read_parquet(tables / f"{n}.parquet").drop(columns="who") for n in ("train", "test"))
    table.to_csv(tmp_path / "train.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    arguments = ["--label", "y", "--value", "shapley", "--test", tmp_path / "test.csv", "--out", tmp_path / "b.parquet"]
    knn("values", tmp_path / "train.csv", *arguments)
    expected = knn_shapley(x, y, x_test, y_test)
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "b.parquet")["shapley"], expected, atol=1e-12)


@pytest.mark.slow
def test_minimise_onion_and_influence_print_their_metrics(tables, tmp_path):
    for name in ("train", "test"):
        pd.read_parquet(tables / f"{name}.parquet").drop(columns="who").to_parquet(tmp_path / f"{name}.parquet")
    train, test = tmp_path / "train.parquet", tmp_path / "test.parquet"
    curve = json.loads(knn("minimise", train, "--label", "y", "--test", test, "--value", "shapley", "--json"))
    assert curve[0]["removed"] == 0
    assert curve[0]["by shapley"] == pytest.approx(curve[0]["at random"])
    assert max(row["by shapley"] - row["at random"] for row in curve) > 0.05
    (effect,) = json.loads(knn("onion", train, "--label", "y", "--json"))
    assert effect["removed"] == 24
    changes = json.loads(knn("influence", train, "--label", "y", "--remove", 3, "--remove", 5, "--json"))
    assert len(changes) == 10
    assert abs(changes[0]["change"]) >= abs(changes[-1]["change"]) > 0
    assert "removed" in knn("onion", train, "--label", "y")
    lists = tmp_path / "lists.npz"
    for _ in range(2):  # made, then read
        from_lists = knn("influence", train, "--label", "y", "--remove", 3, "--remove", 5, "--lists", lists, "--json")
        assert json.loads(from_lists) == changes
    refused = CliRunner().invoke(
        main, ["knn", "influence", str(test), "--label", "y", "--remove", "3", "--lists", str(lists)]
    )
    assert refused.exit_code == 2
    assert "lists.npz" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("value", ["shapley", "self_waka"])
def test_minimise_starts_at_one_accuracy_where_records_tie(value, tmp_path):
    """Many people of one kind with other labels: the order of rows says who is nearest, and must stay."""
    rng = np.random.default_rng(0)
    for name, records in (("train", 300), ("test", 200)):
        table = pd.DataFrame({"a": rng.integers(0, 3, records), "town": rng.choice(["n", "s"], records)})
        table.assign(y=rng.integers(0, 2, records)).to_parquet(tmp_path / f"{name}.parquet")
    arguments = ["--label", "y", "--test", tmp_path / "test.parquet", "--value", value, "--k", 3, "--json"]
    curve = json.loads(knn("minimise", tmp_path / "train.parquet", *arguments))
    assert curve[0]["removed"] == 0
    assert curve[0][f"by {value}"] == pytest.approx(curve[0]["at random"], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["values", "{}", "--label", "y", "--value", "shapley", "--out", "a.csv"], "--test"),
        (["values", "{}", "--label", "y", "--out", "a.txt"], ".csv or .parquet"),
        (["values", "{}", "--label", "z", "--out", "a.csv"], "'z'"),
        (["values", "{}", "--label", "y", "--k", "0", "--out", "a.csv"], "0 is not in the range x>=1"),
        (["influence", "{}", "--label", "y", "--remove", "unknown"], "unknown"),
    ],
)
def test_mistakes_are_one_line(arguments, fact, tables):
    filled = [a.format(tables / "train.parquet") for a in arguments]
    result = CliRunner().invoke(main, ["knn", *filled], catch_exceptions=False)
    assert result.exit_code == 2
    assert fact in result.stderr


def test_words_are_as_far_apart_as_each_other_and_missing_values_are_named(snapshot):
    table = pd.DataFrame({"a": [0.0, 2.0], "w": ["x", "y"]})
    first, other = encode_tables(table, pd.DataFrame({"a": [0.0], "w": ["z"]}))
    assert first.tolist() == [[-1, 1, 0], [1, 0, 1]]
    assert other.tolist() == [[-1, 0, 0]]
    with snapshot.raises(InputError):
        encode_tables(table.assign(a=[np.nan, 1.0]))
