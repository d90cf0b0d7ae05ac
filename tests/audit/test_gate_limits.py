from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist._audit.gate import evaluate_limit, tpr_limit
from guestlist._findings import Gated, Limit
from guestlist._report.gate import drivers_phrase, gate_lines
from guestlist._util import decimal
from guestlist.errors import FolderError


def words(verdict):
    """Return the line of a gate with one limit."""
    (line,) = gate_lines(Gated(verdict.passed, (verdict,), ()))
    return str(line)


@pytest.fixture(scope="module")
def results():
    """A thousand members and a thousand non-members; members' margins are larger by one unit."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], 1000)
    margin = rng.normal(size=2000) + member
    logits = np.c_[margin, np.zeros(2000)]
    return gl.audit_predictions(gl.Predictions(logits, np.zeros(2000, int), member, scale="logits"))


def test_the_upper_end_decides_not_the_estimate(results):
    auc = results.attack("loss").auc
    between = (auc.value + auc.high) / 2
    assert not evaluate_limit(results, Limit(between), ("loss",)).passed
    assert evaluate_limit(results, Limit(auc.high + 1e-6), ("loss",)).passed


def test_the_worst_attack_is_the_one_that_counts(results):
    verdict = evaluate_limit(results, Limit(0.6))
    assert verdict.estimate.high == max(f.auc.high for f in results.outcomes)


def test_records_that_drive_a_failure_are_flagged_members(results):
    verdict = evaluate_limit(results, tpr_limit("0.01@0.05"), ("loss",))
    records = results.records.set_index("id")
    threshold = np.quantile(records.loc[~records["member"], "score_loss"], 0.95)
    assert verdict.drivers
    assert records.loc[list(verdict.drivers), "member"].all()
    assert (records.loc[list(verdict.drivers), "score_loss"] > threshold).all()
    assert evaluate_limit(results, Limit(1.0)).drivers == ()


def test_of_many_ties_none_is_named(results, snapshot):
    """A limit on the AUC lists no record, and other limits only records with a small p-value."""
    records = results.records.assign(score_loss=results.records["member"].astype(float))
    tied = evaluate_limit(replace(results, records=records), Limit(0.1), ("loss",))
    assert (tied.drivers, tied.tied) == ((), int(records["member"].sum()))
    snapshot(drivers_phrase(tied), f"{tied.tied:,}")
    first = records["id"][records["member"]].iloc[5]
    verdict = evaluate_limit(
        replace(results, records=records.assign(score_loss=records["score_loss"] + (records["id"] == first))),
        Limit(0.1),
        ("loss",),
    )
    assert verdict.drivers == (first,)
    snapshot(drivers_phrase(verdict), f"{first}", f"{tied.tied - 1}")
    judged = evaluate_limit(replace(results, records=records.assign(score_loss=0.0)), Limit(0.1), ("loss",))
    assert (judged.drivers, judged.tied, drivers_phrase(judged)) == ((), 0, "")


def test_a_rate_that_was_not_reported_is_computed_and_one_without_power_fails(results, snapshot):
    assert 0 < evaluate_limit(results, tpr_limit("0.9@0.02"), ("loss",)).estimate.value < 0.9
    verdict = evaluate_limit(results, tpr_limit("0.9@0.0001"))
    assert not verdict.passed
    snapshot(words(verdict))
    assert "at least 10,000" in words(verdict)
    assert (verdict.drivers, verdict.sample_size_needed) == ((), None)


@pytest.mark.parametrize("text", ["0.05", "a@b", "0.05@2", "-1@0.01", "0.1@0.1@0.1"])
def test_limits_are_checked(text, snapshot):
    with snapshot.raises(ValueError, "TPR@FPR"):
        tpr_limit(text)


def test_the_advantage_has_limits_too(results):
    advantage = results.attack("loss").advantage
    assert evaluate_limit(results, Limit(advantage.high + 1e-6, "advantage"), ("loss",)).passed
    assert not evaluate_limit(results, Limit(advantage.high - 1e-6, "advantage"), ("loss",)).passed


@pytest.mark.parametrize(("measure", "fpr"), [("auc", 0.1), ("tpr", None), ("advantage", 0.1), ("accuracy", None)])
def test_a_rate_belongs_to_a_tpr_and_to_nothing_else(measure, fpr, snapshot):
    with snapshot.raises(ValueError):
        Limit(0.5, measure, fpr)


def test_a_verdict_reports_value_limit_margin_and_required_sample_size(results, snapshot):
    auc = results.attack("loss").auc
    close = evaluate_limit(results, Limit((auc.value + auc.high) / 2), ("loss",))
    assert close.margin == pytest.approx(close.limit.maximum - auc.high)
    # Half of the distance takes about four times the records; there are a thousand in each set.
    assert 3900 < close.sample_size_needed.members == close.sample_size_needed.nonmembers < 4500
    text = words(close)
    for part in (
        f"{auc.value:.3f}",
        decimal(auc.high, 1),
        f"{close.limit.maximum:g}",
        f"{-close.margin:.3f} above",
        "about 4,",
    ):
        assert part in text
    beyond = evaluate_limit(results, Limit(auc.value - 0.01), ("loss",))
    assert beyond.sample_size_needed is None
    snapshot(words(beyond))
    below = evaluate_limit(results, Limit(auc.high + 0.05), ("loss",))
    assert (below.sample_size_needed, below.drivers) == (None, ())
    snapshot(words(below), "0.050")


def test_an_attack_that_was_not_run_is_named(results, snapshot):
    with snapshot.raises(FolderError, "'lira'"):
        evaluate_limit(results, Limit(0.6), ("lira",))
