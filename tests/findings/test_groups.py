"""Groups: by chance one of many has a high AUC, and one a higher AUC than the others; neither is claimed."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.claims import case_of, random_groups

from guestlist._findings import groups, significance
from guestlist.metrics import auc
from guestlist.testing import gaussian_simulation


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(significance, "DRAWS", 499)


@pytest.mark.slow
def test_random_groups_are_not_named(quick):
    groups = random_groups(40, number=30, records=1200)
    assert groups["an interval above guessing"] > 0.25  # each group by its own interval
    assert groups["names a group"] <= 2 / 40
    assert groups["more exposed than the others"] <= groups["names a group"]


@pytest.mark.slow
def test_an_exposed_group_is_named_and_differs_from_the_other_records(quick):
    groups = random_groups(10, number=30, records=1800, exposed=2.5)
    assert groups["names the first group"] >= 0.9
    assert groups["more exposed than the others"] >= 0.5


@pytest.mark.slow
def test_with_equal_leaks_one_group_is_named_and_none_is_significant(quick):
    groups = random_groups(15, number=20, records=1200, shift=1.5)
    assert groups["names a group"] == 1
    assert groups["more exposed than the others"] <= 1 / 15


def test_a_group_is_compared_with_records_outside_it():
    simulation = gaussian_simulation(1.0, records=600, models=1)
    codes = np.arange(600) % 3
    case = case_of(simulation, ("loss",), codes)
    scores, member = case.scores["loss"], case.truth.member_evaluated
    for group in groups.find(case):
        inside = codes == int(group.value)
        estimate, computed = auc(scores[inside], member[inside]), auc(scores[~inside], member[~inside])
        assert group.auc == estimate
        assert group.beyond_rest.value == pytest.approx(estimate.value - computed.value)
        plain = np.hypot(estimate.value - estimate.low, computed.high - computed.value)
        assert plain < group.beyond_rest.value - group.beyond_rest.low < 2 * plain  # it is corrected for three groups


def test_the_only_group_has_no_comparison_and_missing_values_are_no_group():
    simulation = gaussian_simulation(1.0, records=200, models=1)
    case = case_of(simulation, ("loss",), np.zeros(200, int))
    (only,) = groups.find(case)
    assert np.isnan(only.beyond_rest.value)
    assert not only.more_exposed
    table = case.records.assign(group_random=np.where(np.arange(200) < 100, "a", None))
    (some,) = groups.find(replace(case, records=table))
    assert some.members + some.nonmembers == 100
