"""``guestlist defend``: from the folder of an audit, or from the files."""

import json
import re

import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.neighbors import KNeighborsClassifier

from guestlist._util import duration
from guestlist.cli import main

QUICK = ("--attack", "loss", "--references", 2, "--jobs", 1, "--quiet", "--no-baseline")


def guestlist(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def files(blobs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    tables = [pd.DataFrame(x, columns=list("vwxyz")).assign(label=y) for x, y in blobs]
    for name, table in zip(("train", "holdout"), tables, strict=True):
        table.to_parquet(folder / f"{name}.parquet")
    skops.io.dump(
        KNeighborsClassifier(2, algorithm="brute").fit(tables[0][list("vwxyz")], tables[0]["label"]), folder / "m.skops"
    )
    return folder


def inputs(files):
    return (
        "--model", files / "m.skops", "--members", files / "train.parquet", "--nonmembers", files / "holdout.parquet",
        "--label", "label",
    )  # fmt: skip


@pytest.fixture(scope="module")
def leaking(files):
    assert guestlist("audit", *inputs(files), "--out", files / "leak", *QUICK).exit_code == 0
    return files / "leak"


@pytest.mark.slow
def test_from_the_folder_of_an_audit_to_what_helps(leaking):
    before = (leaking / "results.json").read_bytes()
    chosen = ("--defence", "regularised", "--defence", "removal", "--defence", "l2")
    result = guestlist("defend", leaking, *chosen, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "15 models" in result.stderr  #: again, two parameters and two shares, three models each
    assert "removal share=0.2" in result.stderr
    assert "regularised n_neighbors=18" in result.stdout
    assert "l2" in result.stdout
    assert (leaking / "results.json").read_bytes() == before
    again = guestlist("defend", leaking, *chosen, "--jobs", 1, "--json")
    rows = {row["name"]: row for row in json.loads(again.stdout)}
    assert rows["removal share=0.05"]["removed"]["records"] == 12
    assert max(rows["regularised n_neighbors=18"]["gap"]) < 0  # AUC minus that of the plain model: value, low and high
    assert rows["l2"]["failed"]
    assert " models" not in again.stderr  # it was all there


@pytest.mark.slow
def test_from_files_it_audits_the_plain_model_first(files):
    out = files / "whole"
    result = guestlist("defend", *inputs(files), "--out", out, "--defence", "l2", *QUICK)
    assert result.exit_code == 0, result.output
    assert {"plain", "trained_again"} <= {path.name for path in out.iterdir()}
    assert json.loads((out / "plain" / "manifest.json").read_text())["about"]["request"]["label"] == "label"


def test_an_estimate_alone_makes_no_folder(files):
    result = guestlist("defend", *inputs(files), "--out", files / "none", "--estimate", *QUICK)
    assert result.exit_code == 0, result.output
    assert re.search(r"\d+ models", result.stdout)
    assert not (files / "none").exists()


def test_what_is_missing_or_would_not_be_read_is_named(files, leaking):
    for arguments, message in (
        ([], "--model, --members, --nonmembers"),
        ([leaking, "--id", "x"], "--id cannot be combined"),
        ([leaking, "--attack", "loss"], "--attack cannot be combined"),
        ([leaking, "--references", 1], "has 2 reference models"),
        ([leaking, "--defence", "rouned"], "no defence 'rouned'"),
        ([files / "nothing"], "nothing"),
    ):
        result = guestlist("defend", *arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def test_durations_are_for_people():
    assert [duration(s) for s in (0.4, 119, 121, 7300)] == ["0 s", "119 s", "2 min", "2.0 h"]
