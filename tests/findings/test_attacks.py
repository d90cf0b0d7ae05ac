"""Metrics of attacks where persons have several records."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist._diagnostics import attacks as diagnostics_attacks
from guestlist._findings import attacks, facts, hypothesis_tests
from guestlist.metrics import (
    advantage,
    auc,
    effective_sizes,
    positive_predictive_value,
    rates_at_level,
    roc_band,
    smallest_detectable_auc,
    smallest_detectable_tpr,
    tpr_at_fpr,
)
from guestlist.testing import leaking_case


@pytest.fixture(scope="module")
def case():
    """Four consecutive rows belong to one person; some persons have records in both sets."""
    alone = leaking_case(records=400)
    return replace(alone, records=alone.records.assign(person=[f"p{i // 4}" for i in range(400)]))


def test_every_metric_uses_persons(case):
    member, persons = case.truth.member_evaluated, case.persons
    for outcome in attacks.find(case):
        scores = case.scores[outcome.name][case.truth.evaluated]
        assert outcome.auc == auc(scores, member, clusters=persons) != auc(scores, member)
        assert outcome.advantage == advantage(scores, member, clusters=persons) != advantage(scores, member)
        sizes = effective_sizes(scores, member, clusters=persons)
        assert outcome.detectable_auc == smallest_detectable_auc(*sizes)
        for rate in outcome.rates:
            np.testing.assert_equal(rate.tpr, tpr_at_fpr(scores, member, rate.fpr, clusters=persons))
            wanted = positive_predictive_value(scores, member, rate.fpr, rate.prior, clusters=persons)
            np.testing.assert_equal(rate.ppv, wanted)
        band = roc_band(scores, member, np.array(outcome.curve.band_fpr), clusters=persons)
        np.testing.assert_allclose((outcome.curve.band_low, outcome.curve.band_high), band, atol=2e-3)


def test_rates_are_resolved_by_persons(case):
    outside = len(set(case.persons[~case.truth.member_evaluated]))
    inside = len(set(case.persons[case.truth.member_evaluated]))
    low, middle, high = attacks.find(case)[0].rates
    assert (low.resolution, middle.resolution, high.resolution) == ("withheld", "withheld", "weak")
    assert 1 < 0.05 * outside < 10
    np.testing.assert_equal(high.detectable, smallest_detectable_tpr(0.05, inside, outside))


def test_levels_and_the_gap_use_persons(case):
    evaluated, member, persons = case.truth.evaluated, case.truth.member_evaluated, case.persons
    for test in hypothesis_tests.find_hypothesis_tests(case):
        for level in test.levels:
            values = case.p_values[test.name][evaluated]
            assert (level.fpr, level.tpr) == rates_at_level(values, member, level.alpha, clusters=persons)
    right = case.view.target("correct")[evaluated] > 0.5
    facts = diagnostics_attacks.gap_without_attack(case).values
    wanted = advantage(right, member, 0.5, clusters=persons)
    assert (facts["low"], facts["high"]) == (wanted.low, wanted.high) != advantage(right, member, 0.5)[1:]


def test_the_subject_counts_persons(case):
    subject = facts.find_subject(case)
    assert subject.member_persons == len(set(case.persons[case.truth.member_evaluated]))
    assert subject.nonmember_persons == len(set(case.persons[~case.truth.member_evaluated]))
    assert facts.find_subject(leaking_case(records=40)).member_persons is None


def test_scores_that_differ_in_their_last_bit_have_a_histogram():
    scores = np.repeat([1.0, np.nextafter(1.0, 2.0)], 50)
    histogram = attacks._histogram(scores, np.arange(100) % 2 == 0)
    assert sum(histogram.members) == pytest.approx(1)
    assert sum(histogram.nonmembers) == pytest.approx(1)
