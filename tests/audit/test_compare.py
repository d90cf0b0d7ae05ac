"""Two audits compared: equal models rarely differ, better ones are found, and what cannot be paired is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.error_rates.compare import ATTACK, DISTRIBUTIONS, two_audits
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._audit.compare import mean_of_differences, short_names
from guestlist._findings.headline import Headline
from guestlist.cli import main


def results(correct, scores, member, **columns):
    """An audit that came to these."""
    records = {"id": [f"r{i}" for i in range(len(member))], "label": "0", "member": member, "correct": correct}
    records = pd.DataFrame({**records, f"score_{ATTACK}": scores, **columns})
    return gl.Results(headline=Headline(ATTACK, "fixed", 0, None), records=records)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.every_third
def test_equal_models_rarely_differ(distribution):
    rng, claims, named = np.random.default_rng(0), 0, 0
    for _ in range(25):
        (comparison,) = gl.compare(two_audits(distribution, 300, rng))
        assert len(comparison.differences) == 7
        claims += any(row.differs for row in comparison.differences)
        named += bool(comparison.risk_changes.rose)
    assert claims <= 4  # of 25, where 1.25 are allowed on average
    assert named <= 6  # where 2.5 are


@pytest.mark.slow
def test_persons_are_counted_once():
    """Each person's ten records are equal: counted as independent records they would differ all the time."""
    rng, claims = np.random.default_rng(1), [0, 0]
    for _ in range(25):
        person = np.repeat(np.arange(30), 10)
        member = person % 2 == 0
        audits = []
        for _ in range(2):
            audits.append((rng.random(30)[person] < 0.6, rng.normal(size=30)[person]))
        for k, columns in enumerate(({}, {"person": person})):
            (comparison,) = gl.compare(
                {n: results(c.astype(float), s, member, **columns) for n, (c, s) in zip("ab", audits, strict=True)}
            )
            claims[k] += any(row.differs for row in comparison.differences)
    assert claims[0] > 10
    assert claims[1] <= 3


def test_persons_of_one_audit_count_for_all():
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(30), 10)
    member = person % 2 == 0
    scores = rng.normal(size=(2, 30))[:, person]
    known = results(np.ones(300), scores[0], member, person=person)
    unknown = results(np.ones(300), scores[1], member)
    both_known = results(np.ones(300), scores[1], member, person=person)
    (expected,) = gl.compare({"a": known, "b": both_known})
    for audits in ({"a": known, "b": unknown}, {"b": unknown, "a": known}):
        (comparison,) = gl.compare(audits)
        for row, other in zip(comparison.differences, expected.differences, strict=True):
            width = row.difference.high - row.difference.low
            assert width == pytest.approx(other.difference.high - other.difference.low, nan_ok=True)


def test_what_is_better_is_found():
    (comparison,) = gl.compare(two_audits("smooth", 3000, np.random.default_rng(2), gain=0.15, fall=0.8))
    accuracy, of_members, auc, tpr, exposed_auc, exposed_tpr, calibration = comparison.differences
    assert (accuracy.metric, accuracy.scope) == ("accuracy", "non-members")
    assert accuracy.differs
    assert accuracy.difference.low > 0.05
    assert of_members.scope == "members"
    assert auc.differs
    assert auc.difference.high < -0.05
    assert auc.scope == ATTACK
    assert tpr.difference.value == pytest.approx(tpr.second.value - tpr.first.value)
    assert comparison.members + comparison.nonmembers == 3000
    assert [exposed_auc.metric, exposed_tpr.metric, calibration.metric] == [
        "exposed_auc",
        "exposed_tpr",
        "calibration_error",
    ]
    assert exposed_tpr.differs
    assert exposed_tpr.difference.high < 0
    assert comparison.most_exposed.members == 15
    assert calibration.second.value > calibration.first.value  # more right, and no surer
    assert len(comparison.risk_changes.fell) > 10
    table = comparison.table
    assert table["difference"].tolist() == [row.difference.value for row in comparison.differences]
    assert table["differs"].tolist() == [row.differs for row in comparison.differences]


def test_the_order_of_records_does_not_matter():
    audits = two_audits("smooth", 400, np.random.default_rng(3), fall=0.4)
    turned = replace(audits["other"], records=audits["other"].records.sample(frac=1, random_state=0))
    assert gl.compare({**audits, "other": turned}).pairs == gl.compare(audits).pairs


@pytest.mark.slow
def test_means_of_differences_hold_the_truth():
    rng, held = np.random.default_rng(4), []
    for _ in range(300):
        values = rng.choice([-1.0, 0.0, 1.0], p=[0.02, 0.9, 0.08], size=60)
        estimate = mean_of_differences(values, None)
        held.append(estimate.low <= 0.06 <= estimate.high)
    assert np.mean(held) >= 0.93
    assert np.isnan(mean_of_differences(np.array([]), None).value)


def test_what_cannot_be_paired_is_refused():
    audits = two_audits("smooth", 100, np.random.default_rng(5))
    other, records = audits["other"], audits["other"].records

    def with_records(table):
        return {**audits, "other": replace(other, records=table)}

    for wrong, message in (
        ({"plain": audits["plain"]}, "at least two audits; found 1"),
        (list(audits.values()), r"audits must be a dict"),
        ({"plain": "audits/plain", "other": "audits/other"}, "gl.read_results"),
        (with_records(None), "'other' has no table of records"),
        (with_records(records.iloc[1:]), "1 records are in only one of the audits 'plain' and 'other'"),
        (with_records(records.assign(member=~records["member"])), "100 records have a different member"),
        (with_records(records.assign(label="1")), "100 records have a different label"),
        (with_records(records.assign(id="same")), "several records with the same id"),
    ):
        with pytest.raises(InputError, match=message):
            gl.compare(wrong)


def test_regression_has_no_accuracy():
    audits = two_audits("smooth", 200, np.random.default_rng(6))
    without = {name: replace(audit, records=audit.records.drop(columns="correct")) for name, audit in audits.items()}
    (comparison,) = gl.compare(without)
    assert [row.metric for row in comparison.differences] == ["auc", "tpr", "exposed_auc", "exposed_tpr"]
    assert gl.compare(without).audits[0].accuracy is None


def test_older_audits_lack_what_was_not_recorded():
    newer = ("confidence", "risk_mu", "mu_estimate", "mu_error", "mu_halves")
    audits = two_audits("smooth", 200, np.random.default_rng(7))
    audits["other"] = replace(audits["other"], records=audits["other"].records.drop(columns=[*newer]))
    comparison = gl.compare(audits)
    (pair,) = comparison
    assert [row.metric for row in pair.differences] == ["accuracy", "accuracy", "auc", "tpr"]
    assert (pair.most_exposed, pair.risk_changes, comparison.audits[1].calibration_error) == (None, None, None)
    assert comparison.audits[0].calibration_error is not None


def test_each_audit_is_compared_with_the_first_and_with_others():
    audits = two_audits("smooth", 200, np.random.default_rng(8))
    audits["third"] = audits["plain"]
    comparison = gl.compare(audits, pairs={"third": ["other", "plain"]})
    assert [(pair.first, pair.second) for pair in comparison] == [
        ("plain", "other"),
        ("plain", "third"),
        ("other", "third"),
    ]
    assert not any(row.differs or row.difference.value for row in comparison.pair("plain", "third").differences)
    turned = [(row.first, row.second) for row in comparison.pair("plain", "other").differences]
    assert [(row.second, row.first) for row in comparison.pair("other", "third").differences] == turned
    assert comparison.table["audit"].tolist() == ["plain", "other", "third"]
    assert comparison.table["auc"].tolist() == [audit.auc.value for audit in comparison.audits]
    for beside, message in (
        ({"third": ["fourth"]}, "no audit 'fourth'"),
        ({"fifth": ["plain"]}, "no audit 'fifth'"),
        ({"third": "other"}, r"\['other'\]"),
        ({"third": ["third"]}, "with itself"),
    ):
        with pytest.raises(InputError, match=message):
            gl.compare(audits, pairs=beside)


def test_folders_have_short_names_that_differ():
    assert short_names(["audits/plain", "audits/smooth/"]) == ["plain", "smooth"]
    assert short_names(["a/audit", "b/audit"]) == ["a/audit", "b/audit"]


@pytest.mark.slow
def test_from_the_command_line(blobs, tmp_path):
    for name, leaf in (("plain", 1), ("wide", 15)):
        model = RandomForestClassifier(10, min_samples_leaf=leaf, random_state=0).fit(*blobs[0])
        gl.audit(model, *blobs, references=8, folder=tmp_path / name, jobs=1, baseline=False)
    folders = [str(tmp_path / name) for name in ("plain", "wide")]
    result = CliRunner().invoke(main, ["compare", *folders])
    assert result.exit_code == 0, result.output
    out = tmp_path / "comparison.html"
    arguments = ["compare", *folders, "--json", "--out", str(out), "--pair", folders[1], folders[0]]
    as_json = CliRunner().invoke(main, arguments)
    assert as_json.exit_code == 0, as_json.output
    document = json.loads(as_json.output)
    (pair,) = document["pairs"]  # requested twice, compared once
    assert "min_samples_leaf=15" in document["audits"][1]["training"]["recipe"]
    (expected,) = gl.compare({name: gl.read_results(tmp_path / name) for name in ("plain", "wide")})
    assert [row["metric"] for row in pair["differences"]] == [row.metric for row in expected.differences]
    assert [row["difference"][0] for row in pair["differences"]] == [
        row.difference.value for row in expected.differences
    ]
    assert pair["most_exposed"]["members"] == expected.most_exposed.members
    assert out.read_text("utf-8").startswith("<!DOCTYPE html>")
    auc = next(row for row in pair["differences"] if row["metric"] == "auc")
    assert auc["difference"][2] < 0  # wide leaves leak less
    twice = CliRunner().invoke(main, ["compare", folders[0], folders[0]])
    assert twice.exit_code == 2
    assert "listed twice" in twice.output
    alone = CliRunner().invoke(main, ["compare", folders[0]])
    assert alone.exit_code == 2
    assert "at least two audits" in alone.output
