"""Predictive value of risks: counted by hand, intervals that cover, and "all_members" as a row."""

import numpy as np
import pytest

from guestlist.metrics import flags_at_fpr
from guestlist.risks import RISKS, predictive_value, predictive_values
from guestlist.risks.predictive_value import EVERY_MEMBER
from guestlist.testing import leaking_case

BY_DEFAULT = ("risk_score", "risk_score_own", "loss_tail", "memorisation", "mu")  # of a case without evidence


def evaluated(values, calls, threshold=None, scores=None):
    values, calls = np.asarray(values, float), np.asarray(calls, float)
    scores = np.arange(len(values), dtype=float) if scores is None else scores
    return predictive_value(values, scores, calls, risk="r", attack="a", threshold=threshold)


def test_counted_by_hand():
    values, calls = [3.0, 2.0, 1.0, -1.0, -2.0, np.nan, 5.0], [1, 1, 0, 1, 0, 1, np.nan]
    row = evaluated(values, calls, 0.0)
    assert (row.members, row.flagged) == (5, 3)
    assert (row.precision.value, row.recall.value) == pytest.approx((2 / 3, 2 / 3))
    assert row.f1.value == pytest.approx(2 / 3)
    assert row.auc.value == pytest.approx(5 / 6)
    assert row.top.value == 1
    assert row.spearman.value == pytest.approx(-1)
    assert row.f1.low < 2 / 3 < row.f1.high


def test_without_a_threshold_there_is_no_one_at_risk():
    row = evaluated([3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    assert np.isnan([row.precision.value, row.recall.value, row.f1.value]).all()
    assert row.auc.value == 0.75


def test_of_equals_the_top_is_the_mean():
    calls = np.arange(200) < 30
    row = evaluated(np.where(np.arange(200) == 0, 2.0, 1.0), calls)  # the top is one record and one of 199 equals
    assert row.top.value == pytest.approx((1 + 29 / 199) / 2)
    assert evaluated(np.ones(200), calls).top.value == pytest.approx(0.15)


def test_flagging_every_record_has_full_recall_and_no_information():
    case = leaking_case()
    rows = predictive_values(case)
    assert {row.attack for row in rows} == set(case.attacks)
    for attack in case.attacks:
        first, *others = [row for row in rows if row.attack == attack]
        member = case.truth.member
        called = np.nanmean(flags_at_fpr(case.scores[attack], member, 0.05)[member])
        assert first.risk == EVERY_MEMBER
        assert (first.recall.value, first.auc.value) == (1, 0.5)
        assert first.precision.value == pytest.approx(called)
        assert first.top.value == pytest.approx(called)
        assert first.f1.value == pytest.approx(2 * called / (1 + called))
        assert np.isnan(first.spearman.value)
        assert {row.risk for row in others} == {*BY_DEFAULT} <= set(RISKS)


def test_a_risk_that_follows_the_attack_has_a_higher_predictive_value():
    rows = {
        (row.risk, row.attack): row for row in predictive_values(leaking_case(records=2000), ["risk_score"], ["loss"])
    }
    assert set(rows) == {(EVERY_MEMBER, "loss"), ("risk_score", "loss")}
    row = rows["risk_score", "loss"]
    assert row.auc.low > 0.8
    assert row.spearman.low > 0.5
    assert row.precision.value > rows[EVERY_MEMBER, "loss"].precision.value


@pytest.mark.slow
def test_the_interval_of_f1_holds_the_truth():
    """Called 40 %, at risk 40 % of all: four fifths of either are both, so that F1 tends to 0.8."""
    rng, held = np.random.default_rng(6), []
    for _ in range(400):
        kind = rng.choice(4, size=150, p=[0.32, 0.08, 0.08, 0.52])
        row = evaluated(kind < 2, np.isin(kind, [0, 2]), 0.5)
        held.append(row.f1.low <= 0.8 <= row.f1.high)
    assert np.mean(held) >= 0.94
