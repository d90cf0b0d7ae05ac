"""mu: the likelihood is that of noncentral t, and intervals hold the truth for the records at the top of a list too."""

import numpy as np
import pytest
from benchmarks.error_rates import mu as simulations
from scipy.stats import nct, norm

from guestlist.risks import tpr_of_mu
from guestlist.risks.memorisation import Effects, bounded_mu, effects, likelihoods, mu, tail_excess
from guestlist.testing import awkward_simulation, case_of, gaussian_simulation


@pytest.mark.parametrize(("estimate", "size", "freedom"), [(1.5, 3.0, 10.0), (-0.5, 16.0, 60.0), (8.0, 16.0, 62.0)])
def test_likelihoods_are_those_of_noncentral_t(estimate, size, freedom):
    at = estimate + np.linspace(-1, 1, 21) * 3 * np.sqrt(1 / size + estimate**2 / (2 * freedom))
    likelihood = likelihoods(Effects(*(np.array([part]) for part in (estimate, size, freedom))), at)[0]
    exact = nct.pdf(estimate * np.sqrt(size), freedom, at * np.sqrt(size))
    likely = exact > 0.01 * exact.max()
    assert likely.sum() > 10
    ratio = likelihood[likely] / exact[likely]
    assert np.ptp(ratio) / ratio.mean() < 0.01


def test_estimates_are_differences_over_standard_deviations():
    case = case_of(gaussian_simulation(1.0, records=300, models=65, log_deviation_sd=0.5))
    result = effects(case.view.inside("margin"), case.view.outside("margin"))
    margin, member = case.view.reference("margin"), case.view.reference_member
    for i in range(20):
        inside, outside = margin[member[:, i], i], margin[~member[:, i], i]
        pooled = np.sqrt((inside.var() * len(inside) + outside.var() * len(outside)) / 62)
        assert result.estimate[i] == pytest.approx((inside.mean() - outside.mean()) / pooled, rel=0.25)
        assert result.size[i] == pytest.approx(len(inside) * len(outside) / 64)
    assert (result.dof > 62).all()  # other records tell something too


@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_in_the_gaussian_simulation_it_is_the_shift(shift):
    effects = mu(case_of(gaussian_simulation(shift, records=2000, models=65)))
    assert np.mean(effects.value) == pytest.approx(shift, abs=0.03)
    assert np.std(effects.value) < 0.1  # the estimates alone have a standard deviation of 0.25
    assert ((effects.low <= shift) & (shift <= effects.high)).mean() > 0.98


def test_a_part_of_very_many_records_estimates_the_distribution(monkeypatch):
    case = case_of(gaussian_simulation(1.0, records=1200, models=65, log_deviation_sd=0.7))
    effects = mu(case)
    monkeypatch.setattr("guestlist.risks.memorisation.AT_ONCE", 500)
    parted = mu(case)
    for effect, other in zip(effects, parted, strict=True):
        assert np.abs(effect - other).max() > 0  # something else was done
        np.testing.assert_allclose(effect, other, atol=0.3)  # about one standard error of an estimate
    assert np.corrcoef(effects.value, parted.value)[0, 1] > 0.98


def test_between_nodes_it_is_what_each_record_has_of_its_own(monkeypatch):
    """To a hundredth of a standard error; of many records the posterior is computed for estimates that are close to theirs."""
    case = case_of(gaussian_simulation(1.0, records=900, models=33, log_deviation_sd=0.7))
    monkeypatch.setattr("guestlist.risks.memorisation.AT_ONCE", 500)
    near = mu(case)
    monkeypatch.setattr("guestlist.risks.memorisation.NODE", 0.0005)
    nearer = mu(case)
    for effect, other in zip(near, nearer, strict=True):
        assert 0 < np.abs(effect - other).max() < 0.004  # a standard error is about .36


def test_the_tpr_is_that_of_the_best_test():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400_000)
    assert tpr_of_mu(1.5, 0.05) == pytest.approx((scores + 1.5 > norm.isf(0.05)).mean(), abs=0.004)
    assert tpr_of_mu(np.zeros(3), 0.001) == pytest.approx(0.001)


def test_records_without_in_and_out_models_have_none_and_agreement_is_finite():
    case = case_of(awkward_simulation(records=60, models=12))
    effects = mu(case)
    one_sided = (case.view.inside("margin").count == 0) | (case.view.outside("margin").count == 0)
    assert one_sided.any()
    for part in effects:
        np.testing.assert_array_equal(np.isnan(part), one_sided)
    known = ~one_sided
    assert (effects.low[known] <= effects.value[known]).all()
    assert (effects.value[known] <= effects.high[known]).all()


def test_an_outlier_that_is_not_drawn_again_has_an_interval():
    estimate = np.r_[np.zeros(50), 500.0]
    by_epsilon = bounded_mu(Effects(estimate, np.full(51, 16.0), np.full(51, 60.0)))
    assert np.isfinite(by_epsilon).all()
    assert by_epsilon.low[-1] < 500 < by_epsilon.high[-1]
    assert by_epsilon.low[-1] > 300


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["narrow", "wide"])
def test_intervals_hold_the_truth_also_for_the_largest(distribution):
    covered = simulations.coverage(simulations.normal_simulations(distribution, 1000, 32, repeats=15))
    assert 0.93 < covered.all < 0.975
    assert covered.largest > 0.91  # 300 records: 0.95 within three standard errors
    assert covered.largest_unadjusted < covered.largest - 0.05


@pytest.mark.slow
def test_intervals_hold_the_truth_on_the_votes_of_trees():
    covered = simulations.coverage(simulations.votes_simulations(1000, 32, repeats=15))
    assert 0.93 < covered.all < 0.975
    assert covered.largest > 0.91


@pytest.mark.slow
def test_intervals_hold_the_truth_for_the_largest_under_heavy_tails():
    """Student's t with 3 degrees of freedom: without a correction 58% of these intervals hold the truth."""
    covered = simulations.coverage(simulations.normal_simulations("wide", 1000, 32, repeats=4, degrees_of_freedom=3))
    assert covered.all > 0.93
    assert covered.largest >= 0.9


def test_heavy_tails_are_detected_and_unequal_variances_are_not_mistaken_for_them():
    rng = np.random.default_rng(0)
    member = rng.random((32, 2000)) < 0.5
    scale = np.exp(rng.normal(size=2000))
    assert tail_excess(scale * rng.normal(size=member.shape), member) == pytest.approx(1, abs=0.1)
    assert tail_excess(scale * rng.standard_t(3, size=member.shape), member) > 2.5
    assert tail_excess(np.zeros(member.shape), member) == 1
