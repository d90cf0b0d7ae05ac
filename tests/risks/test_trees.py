"""Members alone in their leaves: counted by hand, and where the value is known."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist.cli import main
from guestlist.risks import leaf_risk_of


def test_counted_by_hand(blobs, tree):
    (x, _), (other, _) = blobs
    leaf, member = tree.apply(np.vstack([x, other])), np.arange(440) < 240
    risks = leaf_risk_of(leaf, member)
    for i in (0, 17, 239, 240, 400):
        sizes = [sum(leaf[j, t] == leaf[i, t] for j in range(240)) for t in range(10)]
        others = [sum(leaf[j, t] == leaf[i, t] for j in range(240) if j != i) for t in range(10)]
        assert risks.leaf_size[i] == np.median(sizes)
        assert risks.alone[i] == pytest.approx(np.mean(np.array(others) == 0))


def test_where_every_neighbour_has_another_class_all_are_alone_in_leaves():
    x, y = np.arange(50.0)[:, None], np.arange(50) % 2
    risks = gl.risks.leaf_risk(DecisionTreeClassifier().fit(x, y), (x, y))
    assert (risks["alone"] == 1).all()
    assert (risks["leaf_size"] == 1).all()


@pytest.mark.slow
def test_members_of_large_leaves_are_not_alone(blobs):
    model = ExtraTreesClassifier(10, min_samples_leaf=20, random_state=0).fit(*blobs[0])
    risks = gl.risks.leaf_risk(model, blobs[0])
    assert (risks["alone"] == 0).all()
    assert (risks["leaf_size"] >= 20).all()
    results = gl.audit(model, *blobs, references=0)
    assert results.check("GL110").state == "passed"
    assert results.check("GL110").values == {"alone": 0, "members": 240}


@pytest.mark.slow
def test_other_models_are_refused(blobs):
    with pytest.raises(InputError, match="found LogisticRegression"):
        gl.risks.leaf_risk(LogisticRegression().fit(*blobs[0]), blobs[0])
    records = gl.audit(LogisticRegression().fit(*blobs[0]), *blobs, references=0).records
    assert not {"leaf_size", "alone"} & set(records)


def test_the_command(blobs, tmp_path):
    x, y = blobs[0]
    table = pd.DataFrame(x, columns=list("abcde"))
    model = RandomForestClassifier(5, random_state=0).fit(table, y)
    skops.io.dump(model, tmp_path / "forest.skops")
    table.assign(y=y, who=[f"p{i}" for i in range(240)]).to_parquet(tmp_path / "train.parquet")
    base = ["trees", "--model", tmp_path / "forest.skops", "--members", tmp_path / "train.parquet", "--label", "y"]
    base += ["--id", "who"]

    def run(*arguments):
        result = CliRunner().invoke(main, [str(part) for part in (*base, *arguments)])
        return result.exit_code, result.output

    expected = gl.risks.leaf_risk(model, tmp_path / "train.parquet", label="y", id="who")
    lone = (expected["alone"] > 0.5).sum()
    status, printed = run("--out", tmp_path / "risk.csv")
    assert status == 0, printed
    assert f"{lone} of 240 members are alone" in printed
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "risk.csv"), expected, check_dtype=False)
    status, printed = run("--json", "--top", 3)
    document = json.loads(printed)
    assert (document["members"], document["alone"], len(document["most"])) == (240, lone, 3)
    assert document["most"][0]["alone"] == expected["alone"].max()
    assert run("--out", "risk.txt")[0] == 2
