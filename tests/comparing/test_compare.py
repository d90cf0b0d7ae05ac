"""Two audits compared: equal models rarely differ, better ones are found, and what cannot be paired is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl
from guestlist.cli import main
from guestlist.comparing import named
from guestlist.comparing.figures import mean_of_differences
from guestlist.errors import InputError
from report_worlds import leaking

ATTACK = "lira"
BASE = leaking()


def results(correct, scores, member, **columns):
    """An audit that came to these."""
    records = {"id": [f"r{i}" for i in range(len(member))], "label": "0", "member": member, "correct": correct}
    return replace(BASE, records=pd.DataFrame({**records, f"score_{ATTACK}": scores, **columns}))


# Scores of members and of non-members, drawn from a generator; both models have the same law.
LAWS = {
    "smooth": lambda rng, member: rng.normal(size=len(member)) + 0.8 * member,
    "no leak": lambda rng, member: rng.normal(size=len(member)),
    "two values": lambda rng, member: (rng.random(len(member)) < np.where(member, 0.7, 0.5)).astype(float),
    "separated": lambda rng, member: member + 0.1 * rng.random(len(member)),
    "mostly equal": lambda rng, member: np.where(
        rng.random(len(member)) < 0.9, 0.0, rng.normal(size=len(member)) + member
    ),
}


def two(law, records, rng, gain=0.0, fall=0.0, each=1):
    """Two models on the same records, of which some are easier; ``gain`` in accuracy and ``fall`` in scores of the second."""
    person = np.arange(records) // each
    member, easy = (person % 2 == 0), rng.beta(2, 1, person.max() + 1)[person]
    audits = []
    for more, less in ((0.0, 0.0), (gain, fall)):
        correct = (rng.random(records) < np.clip(easy + more, 0, 1)).astype(float)
        own = LAWS[law](rng, member) - less * member
        audits.append(results(correct, own, member, **({"person": person} if each > 1 else {})))
    return dict(zip(("plain", "other"), audits, strict=True))


@pytest.mark.parametrize(
    "law", [law if law == "two values" else pytest.param(law, marks=pytest.mark.slow) for law in LAWS]
)
def test_equal_models_rarely_differ(law):
    rng, claims = np.random.default_rng(0), 0
    for _ in range(60):
        (found,) = gl.compare(two(law, 160, rng))
        claims += any(row.differs for row in found.differences)
    assert claims <= 6  # of 60, where 3 are allowed on average


def test_persons_are_counted_once():
    """Each person's ten records are alike: as so many records they would differ all the time."""
    rng, claims = np.random.default_rng(1), [0, 0]
    for _ in range(25):
        person = np.repeat(np.arange(30), 10)
        member = person % 2 == 0
        audits = []
        for _ in range(2):
            audits.append((rng.random(30)[person] < 0.6, rng.normal(size=30)[person]))
        for k, columns in enumerate(({}, {"person": person})):
            (found,) = gl.compare(
                {n: results(c.astype(float), s, member, **columns) for n, (c, s) in zip("ab", audits, strict=True)}
            )
            claims[k] += any(row.differs for row in found.differences)
    assert claims[0] > 10
    assert claims[1] <= 3


def test_what_is_better_is_found():
    (found,) = gl.compare(two("smooth", 3000, np.random.default_rng(2), gain=0.15, fall=0.6))
    accuracy, of_members, auc, tpr = found.differences
    assert (accuracy.what, accuracy.of) == ("accuracy", "non-members")
    assert accuracy.differs
    assert accuracy.difference.low > 0.05
    assert of_members.of == "members"
    assert auc.differs
    assert auc.difference.high < -0.05
    assert auc.of == ATTACK
    assert tpr.difference.value == pytest.approx(tpr.second.value - tpr.first.value)
    assert found.members + found.nonmembers == 3000
    table = found.table
    assert table["difference"].tolist() == [row.difference.value for row in found.differences]
    assert table["differs"].tolist() == [row.differs for row in found.differences]


def test_the_order_of_records_is_nobodys_business():
    audits = two("smooth", 400, np.random.default_rng(3), fall=0.4)
    turned = replace(audits["other"], records=audits["other"].records.sample(frac=1, random_state=0))
    assert str(gl.compare({**audits, "other": turned})) == str(gl.compare(audits))


@pytest.mark.slow
def test_means_of_differences_hold_the_truth():
    rng, held = np.random.default_rng(4), []
    for _ in range(300):
        values = rng.choice([-1.0, 0.0, 1.0], p=[0.02, 0.9, 0.08], size=60)
        found = mean_of_differences(values, None)
        held.append(found.low <= 0.06 <= found.high)
    assert np.mean(held) >= 0.93
    assert np.isnan(mean_of_differences(np.array([]), None).value)


def test_what_cannot_be_paired_is_refused():
    audits = two("smooth", 100, np.random.default_rng(5))
    other, records = audits["other"], audits["other"].records

    def with_records(table):
        return {**audits, "other": replace(other, records=table)}

    for wrong, said in (
        ({"plain": audits["plain"]}, "two audits or more, found 1"),
        (with_records(None), "'other' has no table of records"),
        (with_records(records.iloc[1:]), "1 records of 'plain' and 'other' are not in both"),
        (with_records(records.assign(member=~records["member"])), "100 records have another member"),
        (with_records(records.assign(label="1")), "100 records have another label"),
        (with_records(records.assign(id="same")), "several records have one id"),
    ):
        with pytest.raises(InputError, match=said):
            gl.compare(wrong)


def test_regression_has_no_accuracy():
    audits = two("smooth", 200, np.random.default_rng(6))
    without = {name: replace(one, records=one.records.drop(columns="correct")) for name, one in audits.items()}
    (found,) = gl.compare(without)
    assert [row.what for row in found.differences] == ["auc", "tpr"]


def test_folders_have_short_names_that_differ():
    assert named(["audits/plain", "audits/smooth/"]) == ["plain", "smooth"]
    assert named(["a/audit", "b/audit"]) == ["a/audit", "b/audit"]


@pytest.mark.slow
def test_from_the_command_line(blobs, tmp_path):
    for name, leaf in (("plain", 1), ("wide", 15)):
        model = RandomForestClassifier(10, min_samples_leaf=leaf, random_state=0).fit(*blobs[0])
        gl.audit(model, *blobs, references=4, folder=tmp_path / name, jobs=1, blind=False)
    folders = [str(tmp_path / name) for name in ("plain", "wide")]
    shown = CliRunner().invoke(main, ["compare", *folders])
    assert shown.exit_code == 0, shown.output
    assert "accuracy on non-members" in shown.output
    assert "less" in shown.output
    (found,) = json.loads(CliRunner().invoke(main, ["compare", *folders, "--json"]).output)["pairs"]
    auc = next(row for row in found["differences"] if row["what"] == "auc")
    assert auc["difference"][2] < 0  # wide leaves give away less
    alone = CliRunner().invoke(main, ["compare", folders[0]])
    assert alone.exit_code == 2
    assert "two audits or more" in alone.output
