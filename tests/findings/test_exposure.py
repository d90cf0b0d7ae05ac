"""The exposure list: few of its records are false, and it finds what is there."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates import exposure as simulations

from guestlist._findings import exposure, records
from guestlist.attacks import ATTACKS
from guestlist.testing import case_of, gaussian_simulation, leaking_case, noise_simulation
from simulated_cases import regression_case


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["normal", pytest.param("skewed", marks=pytest.mark.slow)])
def test_few_of_the_listed_are_false(noise):
    shares = simulations.lists(noise, repeats=40, records=200)
    assert shares.false_discovery_rate <= exposure.Q + 3 * shares.standard_error
    assert shares.power > 0.5
    assert max(shares.counted_power, shares.over_records_power) < 0.2


def test_benjamini_and_hochberg_by_hand():
    p_value = np.array([0.01, 0.04, 0.03, 0.9, np.nan, 0.0001])
    member = np.array([True, True, True, True, True, False])
    # Of four members: .01 <= .1 * 1/4, .03 <= .1 * 2/4, .04 <= .1 * 3/4.
    np.testing.assert_array_equal(exposure.flagged(p_value, member, 0.1), [True, True, True, False, False, False])
    np.testing.assert_array_equal(exposure.flagged(p_value, member, 0.04), [True] + [False] * 5)
    assert not exposure.flagged(p_value, np.zeros(6, bool)).any()


def test_p_values_count_what_stand_in_targets_did_not_train_on():
    case = leaking_case(records=60)
    flagged = case.of(exposure.flagged_records)
    score = ATTACKS["lira_bayes_offline"].score
    scores, outside = score(case.view), []
    for k in range(10):
        stand_in = score(case.stand_ins.facing(k))
        outside += [stand_in[i] for i in range(60) if not case.stand_ins.member[k, i] and not np.isnan(stand_in[i])]
    for i in range(60):
        wanted = (1 + sum(value >= scores[i] - 1e-12 for value in outside)) / (1 + len(outside))
        counted = exposure.inflated(np.array([wanted]), flagged.inflation)[0]
        assert flagged.p_value[i] == pytest.approx(counted, abs=1.5 / len(outside), nan_ok=True)


def test_where_nothing_leaks_hardly_anyone_is_listed():
    listed = [
        exposure.find_exposure(case_of(noise_simulation(records=200, models=17, seed=k))).flagged for k in range(20)
    ]
    assert np.mean(np.array(listed) > 0) < 0.3  # at most q, and twenty simulations
    result = exposure.find_exposure(case_of(noise_simulation(records=200, models=17, seed=3)))
    assert result.flagged or result.rate_in_models is None


def test_a_leak_is_listed_steadily_and_only_among_members():
    case = case_of(gaussian_simulation(5.0, records=300, models=33))
    result = exposure.find_exposure(case)
    assert result.flagged > 0.9 * result.tested
    assert result.rate_in_models > 0.9
    assert result.rate_out_models < 0.2
    table = case.of(records.record_table)
    assert table["member"][table["flagged"]].all()
    assert table["flagged"].sum() == result.flagged


def test_there_is_none_without_models_to_compare_with():
    assert exposure.find_exposure(regression_case()) is None
    assert exposure.find_exposure(case_of(gaussian_simulation(1.0, records=100, models=5))) is None
    case = leaking_case()
    assert exposure.find_exposure(replace(case, setting=replace(case.setting, predictions=True))) is None
