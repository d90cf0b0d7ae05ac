"""A target trained by the recipe of its references is seldom reported as different; another recipe often is."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates import recipe_mismatch
from scipy import stats

from guestlist._diagnostics.core import MAX_TEST_P
from guestlist._findings import training_set
from guestlist.testing import case_of, leaking_case, noise_simulation


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_models_that_differ_by_chance_are_not_distinguished(effect):
    # 2 % of 150 are 3; 9 or more come less than once in 200.
    assert recipe_mismatch.flagged_with_effects(effect, repeats=150) <= 8 / 150


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic regression", "tree"])
def test_models_of_one_recipe_are_not_distinguished(name):
    assert recipe_mismatch.false_positive_rate(recipe_mismatch.SAME[name], pools=2, records=200, references=16) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["C = 1, references' 0.01", "5 neighbours, references' 15"])
def test_a_different_recipe_is_detected(name):
    assert recipe_mismatch.power(*recipe_mismatch.OTHER[name], pools=4, references=16) >= 0.75


def test_ranks_equal_a_slow_count():
    """The statistics, model by model and record by record."""
    simulation = noise_simulation(records=60, models=7, seed=2)
    margin, member = simulation.values["margin"], simulation.member
    result = training_set.reference_similarity(margin, member)

    def places(k):
        pairs = []
        for i in np.flatnonzero(compared[k]):
            others = [margin[j, i] for j in range(7) if j != k and not member[j, i]]
            if others:
                above = sum(other > margin[k, i] for other in others)
                pairs.append((0.5 - (above + 0.5) / (len(others) + 1), np.mean(others)))
        ranks, mean = np.array(pairs).T
        easy = (stats.rankdata(mean) - 0.5) / len(mean) - 0.5
        return ranks.mean(), (ranks * easy).mean(), (ranks**2).mean()

    compared = training_set._as_many(~member)
    assert (compared.sum(axis=1) <= (~member[0]).sum()).all()
    assert not (compared & member).any()
    of_target, *of_references = np.array([places(k) for k in range(7)])
    np.testing.assert_allclose(
        (result.margin_shift, result.margin_slope, result.margin_dispersion),
        of_target - np.mean(of_references, axis=0),
        atol=1e-12,
    )
    # A new value among others, as a prediction interval has it: checked by the textbook's t statistic of two samples.
    surer = np.array([of_target[0], *(of_reference[0] for of_reference in of_references)])
    expected = stats.ttest_ind(surer[1:], surer[:1]).pvalue
    assert 2 * min(training_set._above(surer), training_set._above(-surer)) == pytest.approx(expected)


def test_a_target_beyond_all_references_is_distinguished():
    case = leaking_case(records=400, models=17)
    values = {name: matrix.copy() for name, matrix in case.view.values.items()}
    assert training_set.find_reference_similarity(case).p_value > MAX_TEST_P
    values["margin"][0] += 2.0
    changed = training_set.find_reference_similarity(replace(case, view=replace(case.view, values=values)).scored())
    assert changed.p_value < 1e-6
    assert changed.margin_shift > 0.3


def test_few_references_or_records_give_no_result():
    assert training_set.find_reference_similarity(case_of(noise_simulation(records=200, models=4), ("loss",))) is None
    assert training_set.find_reference_similarity(case_of(noise_simulation(records=30, models=9), ("loss",))) is None
