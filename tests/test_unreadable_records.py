"""Records that the model cannot read: one sentence that names them, and no folder."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import guestlist as gl
from guestlist import InputError
from guestlist.cli import main


def people(records=60, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, records)
    return pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Ulm", "Pau"], records),
            "y": (age + rng.normal(0, 9, records) > 40).astype(int),
        }
    )


@pytest.fixture(scope="module")
def model():
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    members = people()
    return make_pipeline(encoder, RandomForestClassifier(3, random_state=0)).fit(members[["age", "town"]], members["y"])


@pytest.mark.parametrize(("column", "value"), [("age", "forty"), ("age", 1e300), ("town", "Rome")])
@pytest.mark.parametrize(("side", "row"), [("members", 31), ("members", 7), ("nonmembers", 31), ("population", 59)])
def test_one_cell_after_the_first_rows_is_reported_before_there_is_a_folder(model, tmp_path, column, value, side, row):
    sides = {"members": people(), "nonmembers": people(seed=1), "population": people(seed=2)}
    sides[side] = sides[side].astype({column: object})
    sides[side].loc[row, column] = value
    with pytest.raises(InputError, match=f"cannot read record {side}:{row} "):
        gl.audit(model, **sides, label="y", references=0, folder=tmp_path / "audit")
    assert not (tmp_path / "audit").exists()


def test_only_together_they_cannot_be_read():
    """A model that reads every half, and not the whole."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), np.arange(40) % 2

    def predict(x):
        if len(x) > 30:
            raise RuntimeError("out of memory")
        return np.full((len(x), 2), 0.5)

    target = gl.function_target(predict, classes=[0, 1])
    with pytest.raises(InputError, match=r"cannot read these records \(RuntimeError: out of memory\)"):
        gl.audit(target, (x[:20], y[:20]), (x[20:], y[20:]), references=0)


@pytest.mark.slow
def test_the_target_is_queried_on_all_records_once(model):
    queried = []

    def predict(x):
        queried.append(len(x))
        return np.full((len(x), 2), 0.5)

    members, nonmembers = people(), people(seed=1)
    arrays = [(side[["age"]].to_numpy(), side["y"].to_numpy()) for side in (members, nonmembers)]
    gl.audit(gl.function_target(predict, classes=[0, 1]), *arrays, references=0, baseline=False)
    assert [count for count in queried if count > 20] == [120]


def test_the_command_reports_it_in_one_line_and_writes_nothing(tmp_path):
    import skops.io

    members = people()
    skops.io.dump(LogisticRegression().fit(members[["age"]], members["y"]), tmp_path / "m.skops")
    members.to_csv(tmp_path / "in.csv", index=False)
    others = people(seed=1).astype({"age": object})
    others.loc[40, "age"] = "\x1b[31mforty"
    others.to_csv(tmp_path / "out.csv", index=False)
    options = ["--model", "m.skops", "--members", "in.csv", "--nonmembers", "out.csv", "--label", "y", "--out", "audit"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = CliRunner().invoke(main, ["audit", *options])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.output
    assert not (tmp_path / "audit").exists()
