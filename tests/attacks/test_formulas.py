"""Attacks against slow transcriptions of their formulas, and against closed forms."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import special, stats
from scipy.special import ndtr

import oracles
from guestlist._kernels import Moments, aucs, student_log_odds
from guestlist._kernels.moments import moments
from guestlist._views import Signals
from guestlist.attacks import ATTACKS, prior_of
from guestlist.attacks.likelihood import rmia_offline, tuned_a
from guestlist.attacks.lira_bayes import trend_over
from guestlist.metrics import auc
from guestlist.models import Probabilities
from guestlist.testing import awkward_simulation, gaussian_simulation, target_of

ORACLES = {
    "lira_pooled": partial(oracles.lira, variance="pooled"),
    "lira_record": partial(oracles.lira, variance="record"),
    "lira_offline_pooled": partial(oracles.lira_offline, variance="pooled"),
    "lira_offline_record": partial(oracles.lira_offline, variance="record"),
    "reference": oracles.reference,
    "reference_empirical": oracles.reference_empirical,
    "difficulty": oracles.difficulty,
    "difficulty_offline": oracles.difficulty_offline,
    "rmia": oracles.rmia,
    "rmia_offline": oracles.rmia_offline,
    "base": oracles.base,
    "lira_bayes": oracles.lira_bayes,
    "lira_bayes_offline": oracles.lira_bayes_offline,
}


def test_every_attack_that_compares_with_references_has_an_oracle():
    auto = {"lira", "lira_offline"}  # one of two others, see below
    assert {name for name, attack in ATTACKS.items() if attack.compares != "nothing"} - auto == set(ORACLES)


@pytest.mark.parametrize("name", ORACLES)
def test_scores_equal_a_transcription_of_the_formula(name):
    for models in (9, 25):
        signals, _ = target_of(awkward_simulation(records=80, models=models))
        expected = ORACLES[name](signals)
        np.testing.assert_allclose(ATTACKS[name].score(signals), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["lira", "lira_offline"])
@pytest.mark.parametrize(("models", "variance"), [(40, "pooled"), (90, "record")])
def test_a_variance_per_record_from_64_references_on(name, models, variance):
    signals, _ = target_of(gaussian_simulation(1.0, records=100, models=models, log_deviation_sd=0.5))
    np.testing.assert_array_equal(ATTACKS[name].score(signals), ATTACKS[f"{name}_{variance}"].score(signals))


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", ["lira", "lira_pooled", "lira_bayes"])
@pytest.mark.every_third
def test_lira_tends_to_the_best_possible_auc(name, shift):
    signals, member = target_of(gaussian_simulation(shift, records=20_000, models=129))
    assert auc(ATTACKS[name].score(signals), member).value == pytest.approx(ndtr(shift / np.sqrt(2)), abs=0.012)


def _tpr(name: str, simulation, fpr: float = 0.001, targets: int = 25) -> float:
    """Mean TPR over some of the targets."""
    tprs = []
    for scores, member in list(zip(ATTACKS[name].score(simulation), simulation.member, strict=True))[:targets]:
        scored = ~np.isnan(scores)
        outside = np.sort(scores[~member & scored])
        tprs.append((scores[member & scored] > outside[-1 - int(fpr * len(outside))]).mean())
    return float(np.mean(tprs))


@pytest.mark.slow
@pytest.mark.parametrize("references", [4, 8, 16, 32, 64, 128])
@pytest.mark.every_third
def test_bayesian_variances_are_at_least_as_good_as_either_variance(references):
    """If records' standard deviations are log-normal, at a false-positive rate of 0.1 %."""
    records = min(100_000, 2_000_000 // (references + 1))
    simulation = gaussian_simulation(2.0, records=records, models=references + 1, seed=references, log_deviation_sd=0.5)
    pooled, record, bayes = (_tpr(name, simulation) for name in ("lira_pooled", "lira_record", "lira_bayes"))
    assert bayes >= max(pooled, record) - 0.003
    if references in (8, 16):
        assert bayes > max(pooled, record)


@pytest.mark.parametrize("shape", [1.5, 3.0, 8.0])
def test_the_prior_of_variances_is_recovered_where_there_is_one(shape):
    """Below a shape of 1 variances have no mean, and the floor, a share of it, would be felt."""
    rng = np.random.default_rng(0)
    variance = 1.5 / rng.gamma(shape, size=200_000)
    values = rng.normal(size=(6, 200_000)) * np.sqrt(variance)
    prior = prior_of(moments(values, rng.random(values.shape) < 0.8))
    assert prior.shape == pytest.approx([shape], rel=0.03)
    assert prior.scale == pytest.approx([1.5], rel=0.03)


def test_a_trend_is_followed_and_ends_level():
    rng = np.random.default_rng(0)
    at = rng.uniform(-3, 3, 4000)
    fitted = trend_over(at, at < 2)(np.sin(at) + rng.normal(0, 0.1, 4000))
    within = (at > -2.8) & (at < 1.8)
    np.testing.assert_allclose(fitted[within], np.sin(at[within]), atol=0.06)
    assert np.ptp(fitted[at > 2]) == 0  # nothing is known there


def test_equal_records_and_few_of_them_have_a_level_trend():
    values = np.arange(150.0)
    np.testing.assert_array_equal(trend_over(np.arange(150.0), values < 100)(values), np.full(150, 49.5))
    np.testing.assert_array_equal(trend_over(np.ones(150), values < 100)(values), np.full(150, 49.5))
    np.testing.assert_array_equal(trend_over(np.ones(3), np.zeros(3, bool))(np.ones(3)), np.zeros(3))


@pytest.mark.parametrize("shift", [3.0, 6.0])
def test_the_prior_does_not_hide_memorised_records(shift):
    """One record in 200 is memorised; the others do not shift, at any difficulty, and draw the prior to 0."""
    rng = np.random.default_rng(0)
    simulation = gaussian_simulation(0.0, records=2000, models=17)
    memorised = np.arange(2000) % 200 == 0
    noise = rng.normal(size=simulation.member.shape) + np.where(memorised, shift, 0.0) * simulation.member
    scores = ATTACKS["lira_bayes"].score(replace(simulation, values={"margin": noise + rng.normal(0, 4, 2000)}))
    likelihood_ratio = shift * noise[:, memorised] - shift**2 / 2
    assert np.corrcoef(scores[:, memorised].ravel(), likelihood_ratio.ravel())[0, 1] > 0.85
    assert np.abs(scores[:, ~memorised]).mean() < 0.1


def test_without_any_variance_the_prior_is_the_narrowest():
    lonely = Moments(np.ones(3, int), np.zeros(3), np.zeros(3))
    assert prior_of(lonely).shape == 50.0
    assert 0 < prior_of(lonely).scale < 1e-9


def test_tails_agree_with_scipy_and_go_on_where_it_underflows():
    t, freedom = np.array([-30.0, -1.0, 0.0, 0.5, 8.0]), np.array([3.0, 60.0, 5.0, 1.0, 200.0])
    expected = stats.t.logcdf(t, freedom) - stats.t.logsf(t, freedom)
    np.testing.assert_allclose(student_log_odds(t, freedom), expected, rtol=1e-9, atol=1e-12)
    far = student_log_odds(np.geomspace(1e2, 1e8, 200), np.full(200, 130.0))
    # Beyond all digits of the tail it falls as t^-freedom, and nothing jumps.
    slopes = np.diff(far) / np.diff(np.log(np.geomspace(1e2, 1e8, 200)))
    np.testing.assert_allclose(slopes, 130.0, rtol=0.02)


def test_tails_have_all_digits_wherever_scipy_has_some():
    rng = np.random.default_rng(0)
    freedom, t = np.exp(rng.uniform(np.log(0.25), np.log(1e4), 20_000)), rng.standard_t(2, 20_000)
    tail = special.stdtr(freedom, -np.abs(t))
    some = (tail > 1e-290) & (np.abs(t) > 0.05)  # scipy's tail is a difference from 0.5 where t is small
    expected = np.sign(t[some]) * np.log((1 - tail[some]) / tail[some])
    np.testing.assert_allclose(student_log_odds(t[some], freedom[some]), expected, rtol=1e-12)
    assert some.mean() > 0.9


@pytest.mark.parametrize("freedom", [0.25, 1.0, 7.5, 130.0, 9999.0])
def test_tails_beyond_all_digits_are_those_of_the_hypergeometric_series(freedom):
    t, a = np.geomspace(50, 1e150, 40), freedom / 2
    x = 1 / (1 + np.square(t) / freedom)
    log_x = np.log(freedom) - 2 * np.log(t) - np.log1p(freedom / np.square(t))
    series = np.log(special.hyp2f1(a + 0.5, 1.0, a + 1, x))
    log_tail = a * log_x + 0.5 * np.log1p(-x) - np.log(2 * a) - special.betaln(a, 0.5) + series
    far = log_tail < np.log(1e-20)  # the rest is 1 for all that a float knows
    np.testing.assert_allclose(student_log_odds(t[far], np.full(far.sum(), freedom)), -log_tail[far], rtol=1e-12)
    assert far.sum() >= 19


def test_tails_of_special_values():
    t = np.array([0.0, np.inf, -np.inf, np.nan, 1e-100])
    np.testing.assert_array_equal(np.isnan(student_log_odds(t, np.full(5, 5.0))), [False, False, False, True, False])
    np.testing.assert_array_equal(student_log_odds(t, np.full(5, 5.0))[:3], [0.0, np.inf, -np.inf])
    np.testing.assert_allclose(student_log_odds(t, np.full(5, 1.0))[4], 4e-100 / np.pi, rtol=1e-12)  # Cauchy's density


def test_the_tuned_a_is_recovered_where_there_is_one():
    """References that output a * (OUT mean) + 1 - a for their members, with noise."""
    rng = np.random.default_rng(0)
    simulation = gaussian_simulation(0.0, records=5000, models=33)
    outside = rng.uniform(0.2, 0.8, 5000)
    p = np.where(simulation.member, 0.4 * outside + 0.6, outside) + rng.normal(0, 0.02, simulation.member.shape)
    assert tuned_a(replace(simulation, values={"p_y": p}).facing(0)) == pytest.approx([0.4], abs=0.01)


@pytest.mark.parametrize("shift", [0.3, 1.0, 3.0])
def test_the_tuned_a_is_about_as_good_as_the_best_one_on_a_grid(shift):
    """The paper searches a grid on stand-in targets; here the truth of the targets themselves may choose."""
    simulation = gaussian_simulation(shift, records=4000, models=17, log_deviation_sd=0.3)
    grid = [aucs(rmia_offline(simulation, a=a), simulation.member).mean() for a in np.arange(0, 1.01, 0.1)]
    assert aucs(rmia_offline(simulation), simulation.member).mean() > max(grid) - 0.01


@pytest.mark.parametrize("name", ["rmia", "base"])
def test_a_probability_of_0_counts_as_half_a_step_in_ratios_too(name):
    """Two small forests often both output 0; with the smallest float instead, such records would outrank all others."""
    rng = np.random.default_rng(0)
    steps, labels = rng.integers(0, 11, (400, 3)) / 10, np.zeros(400, int)
    outputs = np.stack([np.stack([p, 1 - p], axis=1) for p in steps.T])  # ten trees each
    scale = Probabilities().resolved(outputs[0], labels)
    signals = [scale.signals(answer, labels) for answer in outputs]
    values = {signal: np.stack([of_model[signal] for of_model in signals]) for signal in signals[0]}
    scores = ATTACKS[name].score(Signals(values, np.array([[True], [False]]) ^ (np.arange(400) % 2 == 0), labels))
    both = (steps[:, 1:] == 0).all(axis=1)
    assert both.sum() > 1
    assert np.nanmax(scores) <= np.log(1 / 0.05) + 1e-12  # a probability of 1 over half a step
    np.testing.assert_allclose(scores[both], np.log(np.maximum(steps[both, 0], 0.05) / 0.05))


@pytest.mark.parametrize("name", ["rmia", "rmia_offline", "base"])
def test_a_target_s_probability_of_0_has_the_ratio_0_of_the_formula(name):
    """Stepped outputs, as small forests have: scores order records as the plain ratio of probabilities does."""
    rng = np.random.default_rng(1)
    steps, labels = rng.integers(0, 6, (400, 9)) / 5, np.zeros(400, int)
    outputs = np.stack([np.stack([p, 1 - p], axis=1) for p in steps.T])
    scale = Probabilities().resolved(outputs[0], labels)
    signals = [scale.signals(answer, labels) for answer in outputs]
    values = {signal: np.stack([of_model[signal] for of_model in signals]) for signal in signals[0]}
    view = Signals(values, np.arange(8)[:, None] % 2 == (np.arange(400) % 2), labels)
    inside, outside = view.inside("p_y").mean, view.outside("p_y").mean
    a = tuned_a(view)[0]
    mean = {
        "rmia": (inside + outside) / 2,
        "rmia_offline": ((1 + a) * outside + 1 - a) / 2,
        "base": view.reference("p_y").mean(axis=0),
    }[name]
    assert (mean > 0).all()
    ratio, scores = steps[:, 0] / mean, ATTACKS[name].score(view)
    zero = ratio == 0
    assert 40 < zero.sum() < 120
    assert scores[zero].max() < scores[~zero].min()
    np.testing.assert_allclose(scores[~zero], np.log(ratio[~zero]), atol=1e-12)
    assert np.isfinite(scores).all()


def test_the_tuned_a_never_reads_its_target():
    simulation = gaussian_simulation(1.0, records=200, models=9)
    before = tuned_a(simulation)[0]
    member, p_y = simulation.member.copy(), simulation.values["p_y"].copy()
    member[0], p_y[0] = ~member[0], 0.5
    changed = replace(simulation, values={"p_y": p_y}, member=member)
    np.testing.assert_allclose(tuned_a(changed)[0], before, rtol=1e-12)
