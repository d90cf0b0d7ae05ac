"""Doubt that the members are the training set: raised about models that never saw them, and not about others."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.error_rates import training_set as simulations
from scipy.special import ndtr
from scipy.stats import binom

from guestlist import Estimate
from guestlist._findings import exposure, records, training_set
from guestlist._findings.headline import SameRecipe
from guestlist.testing import case_of, gaussian_simulation, leaking_case, noise_simulation


def of_another_model(shift=2.0, records=900, models=17, seed=0):
    """An audit of a model whose "members" it never saw; its reference models leak."""
    leaking = gaussian_simulation(shift, records=records, models=models, seed=seed)
    simulation = noise_simulation(records=records, models=1, seed=seed + 1000)
    values = {name: np.vstack([simulation.values[name][:1], rows[1:]]) for name, rows in leaking.values.items()}
    return case_of(replace(leaking, values=values))


@pytest.mark.slow
def test_a_model_that_never_saw_its_members_is_doubted_and_no_record_is_named():
    case = of_another_model()
    doubt = case.of(training_set.find_training_set_doubt)
    assert doubt.doubted
    assert doubt.expected > 0.7
    assert doubt.references == 16
    assert case.of(exposure.find_exposure).flagged == 0
    assert records.find(case) == ()
    vouched = replace(case, ignore=(training_set.CODE,))
    assert not vouched.of(training_set.doubted)
    of_persons = replace(case, records=case.records.assign(person=[f"p{i // 3}" for i in range(900)]))
    assert exposure.find_persons(of_persons) == ()


@pytest.mark.slow
def test_models_that_leak_and_references_that_do_not_are_not_doubted():
    assert not leaking_case().of(training_set.find_training_set_doubt).doubted
    quiet = [case_of(noise_simulation(records=900, models=17, seed=seed)) for seed in range(8)]
    assert sum(case.of(training_set.find_training_set_doubt).doubted for case in quiet) == 0


def test_there_is_no_doubt_without_a_comparison():
    case = of_another_model()
    assert replace(case, setting=replace(case.setting, drawn=True)).of(training_set.find_training_set_doubt) is None
    smaller = case.view.reference_member & (np.arange(900) % 3 > 0)
    assert (
        replace(case, view=replace(case.view, reference_member=smaller))
        .scored()
        .of(training_set.find_training_set_doubt)
        is None
    )
    assert case_of(gaussian_simulation(1.0, records=100, models=5)).of(training_set.find_training_set_doubt) is None


def test_equal_reference_models_still_show_that_this_one_differs():
    same_recipe = SameRecipe(Estimate(1.0, 0.99, 1.0), (1.0,) * 16, 1.0)
    assert same_recipe.chance_below(0.5, records=100) < 0.01
    assert same_recipe.chance_below(1.0, records=100) == pytest.approx(0.5)


def test_the_chance_of_a_low_auc_agrees_with_the_prediction_interval():
    same_recipe = SameRecipe(Estimate(0.7, 0.6, 0.8), tuple(0.7 + 0.01 * np.sin(np.arange(32))), 0.0)
    assert same_recipe.chance_below(same_recipe.prediction_interval.low, records=100) == pytest.approx(0.025)
    assert same_recipe.chance_below(same_recipe.prediction_interval.high, records=100) == pytest.approx(0.975)


def test_a_target_that_varies_more_than_its_references_has_larger_p_values():
    rng = np.random.default_rng(0)
    p_value = ndtr(1.7 * rng.normal(size=2000))
    factor = exposure.inflation(p_value)
    assert factor == pytest.approx(1.7, abs=0.1)
    assert np.mean(exposure.inflated(p_value, factor) <= 0.01) == pytest.approx(0.01, abs=0.006)
    assert exposure.inflation(ndtr(0.5 * rng.normal(size=2000))) == 1  # never smaller p-values
    assert exposure.inflation(np.array([0.9, np.nan])) == 1


def test_the_committed_results_keep_the_documented_rates():
    settings = json.loads(Path(simulations.__file__).with_suffix(".json").read_text())["settings"]
    assert {"forest", "tree", "logistic regression", "ridge regression"} <= set(settings)
    audits = np.array([setting_rates["audits"] for setting_rates in settings.values()])
    doubted = np.array([setting_rates["trained on the members"]["doubted"] for setting_rates in settings.values()])
    assert np.average(doubted, weights=audits) <= 0.02
    assert (binom.sf(np.round(doubted * audits) - 1, audits, 0.02) > 0.01).all()  # no setting is clearly above it
    for name, setting in settings.items():
        other = setting["trained on other records"]
        assert other["flags a record"] <= 0.1, name
        if name.startswith(("forest", "tree")):
            assert other["doubted"] >= 0.95, name


@pytest.mark.slow
def test_in_trained_trees():
    metrics = simulations.error_rates("tree", audits=6)
    assert metrics["trained on other records"]["doubted"] >= 5 / 6
    assert metrics["trained on other records"]["flags a record"] <= 1 / 6
    assert metrics["trained on the members"]["doubted"] == 0
