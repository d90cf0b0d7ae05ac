"""The five tests of Ye et al. (2022): slow transcriptions, and valid p-values where nothing leaks."""

from dataclasses import replace

import numpy as np
import pytest

import oracles
from guestlist._views import Evidence, ModelsView, Signals
from guestlist.attacks import ATTACKS
from guestlist.testing import awkward_simulation, gaussian_simulation, noise_simulation, signals_of_margin

ALPHAS = (0.01, 0.05, 0.1, 0.3)
# The five tests; the p-values of other attacks have tests of their own.
TESTS = [name for name, attack in ATTACKS.items() if attack.p_value and "Ye et al. 2022" in attack.paper]
SMOOTH = ("reference", "distillation", "leave_one_out")
# Each test as (score, p-value), on the models that it compares with.
ORACLES = {
    "loss": (lambda s: -s.target("loss"), oracles.population_p_value),
    "shadow": (oracles.shadow, oracles.shadow_p_value),
    "reference": (oracles.reference, oracles.reference_p_value),
    "reference_empirical": (oracles.reference_empirical, oracles.reference_empirical_p_value),
}
SAME_AS = {
    "distillation": ("reference", "distilled"),
    "distillation_empirical": ("reference_empirical", "distilled"),
    "leave_one_out": ("reference", "left_out"),
    "leave_one_out_empirical": ("reference_empirical", "left_out"),
}


def awkward_signals(seed: int, models: int = 9) -> Signals:
    """Ties, NaN and one-sided records among the references, and among the other models as well; three classes."""
    simulations = [awkward_simulation(records=60, models=models, seed=seed + shift) for shift in (0, 100, 200)]
    distilled, left_out = (
        ModelsView({name: matrix[1:] for name, matrix in simulation.values.items()}, simulation.member[1:])
        for simulation in simulations[1:]
    )
    no_members = np.zeros_like(left_out.member)
    unasked = np.arange(60) % 5 == 0  # records that were not chosen
    chosen = {name: np.where(unasked, np.nan, matrix) for name, matrix in left_out.values.items()}
    population = np.random.default_rng(seed).random(60) < 0.3
    evidence = Evidence({"distilled": distilled, "left_out": ModelsView(chosen, no_members)})
    labels = np.random.default_rng(seed).integers(0, 3, 60)
    labels[5] = 3  # alone in its class, and all references trained on it
    return replace(simulations[0].facing(0), labels=labels, evidence=evidence, population=population)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("seed", range(4))
def test_scores_and_p_values_equal_a_transcription(name, seed):
    signals = awkward_signals(seed)
    kind, evidence = SAME_AS.get(name, (name, ""))
    view = oracles.among(signals, signals.evidence.need(evidence)) if evidence else signals
    score, p_value = (oracle(view) for oracle in ORACLES[kind])
    np.testing.assert_allclose(ATTACKS[name].score(signals), score, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ATTACKS[name].p_value(signals), p_value, rtol=1e-7, atol=1e-12)


def test_the_awkward_simulation_has_every_special_case():
    """Otherwise the test above could not fail where it matters."""
    signals = awkward_signals(0)
    for name in ("reference_empirical", "distillation_empirical", "leave_one_out_empirical"):
        assert np.isnan(ATTACKS[name].score(signals)).any()
    references = signals.reference("loss")
    assert (references == signals.target("loss")).any()
    assert signals.reference_member[:, 5].all()  # its class has no non-member: it takes those of all classes
    assert not np.isnan(ATTACKS["shadow"].score(signals)[5])


def test_without_anything_to_compare_with_there_is_no_p_value():
    signals = awkward_signals(0)
    everyone = replace(signals, reference_member=np.ones_like(signals.reference_member))
    for name in ("shadow", "reference", "reference_empirical"):
        assert np.isnan(ATTACKS[name].p_value(everyone)).all()
    for population in (None, np.zeros(60, dtype=bool)):
        assert np.isnan(ATTACKS["loss"].p_value(replace(signals, population=population))).all()


@pytest.fixture(scope="module")
def noise() -> dict[str, np.ndarray]:
    """(40, 4): share of p-values up to each alpha for every test, in 40 simulations without a leak."""
    shares = {name: [] for name in TESTS}
    for seed in range(40):
        simulation = noise_simulation(records=1000, models=33, seed=seed, log_deviation_sd=0.5)
        population = np.arange(1000) < 500
        signals = replace(simulation.facing(0), population=population)
        for name in TESTS:
            p_values = ATTACKS[name].p_value(signals)[~population]
            shares[name].append([(p_values <= alpha).mean() for alpha in ALPHAS])
    return {name: np.array(rows) for name, rows in shares.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_where_nothing_leaks_at_most_alpha_are_flagged(name, noise):
    """At every alpha; simulations are independent, so their standard deviation gives the error of the mean."""
    mean, error = noise[name].mean(axis=0), noise[name].std(axis=0, ddof=1) / np.sqrt(40)
    assert (error < 0.01).all()  # or else the next line could not fail
    assert (mean <= np.array(ALPHAS) + 4 * error).all(), mean


@pytest.mark.parametrize("name", SMOOTH)
def test_on_normal_margins_exactly_alpha_are_flagged(name, noise):
    """The smoothed tests are exact there: a further margin over the sample's mean and deviation is Student's t."""
    mean, error = noise[name].mean(axis=0), noise[name].std(axis=0, ddof=1) / np.sqrt(40)
    assert (abs(mean - ALPHAS) <= 4 * error).all(), mean
    assert (error < 0.004).all()


@pytest.mark.parametrize("name", ["loss", "shadow"])
def test_many_losses_to_compare_with_leave_no_slack(name, noise):
    assert noise[name].mean(axis=0) == pytest.approx(ALPHAS, abs=0.02)


@pytest.mark.parametrize("name", TESTS)
def test_members_that_leak_are_flagged_more_often(name):
    simulation = gaussian_simulation(2.0, records=2000, models=65)
    signals = replace(simulation.facing(0), population=~simulation.member[0])
    member, p_values = simulation.member[0], ATTACKS[name].p_value(signals)
    assert (p_values[member] <= 0.1).mean() > 1.5 * (p_values[~member] <= 0.1).mean()


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smoothed_p_value_is_the_score_on_another_scale(name):
    signals = awkward_signals(1)
    score, p_value = ATTACKS[name].score(signals), ATTACKS[name].p_value(signals)
    np.testing.assert_array_equal(np.isnan(score), np.isnan(p_value))
    near = np.abs(score) < 20  # beyond, 1 - p runs out of digits
    assert near.sum() > 20
    np.testing.assert_allclose(np.log1p(-p_value[near]) - np.log(p_value[near]), score[near], atol=1e-6)


def test_p_values_fall_as_scores_rise_among_records_that_share_a_comparison():
    """P compares with one population, S with one set of losses per class: there the order is that of the scores."""
    signals = awkward_signals(2)
    outside = ~signals.population
    for name, groups in {"loss": np.where(outside, 0, -1), "shadow": signals.labels}.items():
        score, p_value = ATTACKS[name].score(signals), ATTACKS[name].p_value(signals)
        for group in set(groups) - {-1}:
            chosen = (groups == group) & ~np.isnan(score)
            order = np.argsort(-score[chosen], kind="stable")
            assert (np.diff(p_value[chosen][order]) >= 0).all()
            ties = np.diff(score[chosen][order]) == 0
            assert (np.diff(p_value[chosen][order])[ties] == 0).all()


@pytest.mark.parametrize("name", ["reference_empirical", "distillation_empirical", "leave_one_out_empirical"])
def test_an_empirical_p_value_follows_from_the_score_where_there_are_no_ties(name):
    """A share s of n models has a larger loss: n (1 - s) have a smaller one, and the target counts as one more."""
    simulation = gaussian_simulation(1.0, records=200, models=17)
    signals = simulation.facing(0)
    count = (~signals.reference_member).sum(axis=0) if name == "reference_empirical" else 16
    expected = (1 + count * (1 - ATTACKS[name].score(signals))) / (1 + count)
    np.testing.assert_allclose(ATTACKS[name].p_value(signals), expected, rtol=1e-12)


@pytest.mark.parametrize("name", TESTS)
def test_a_smaller_loss_never_has_a_larger_p_value(name):
    """One record, ties included: the target's margin rises step by step, and everything else stays."""
    signals = awkward_signals(3)
    population = signals.population & ~np.isin(np.arange(60), range(20, 40))  # P's others stay, too
    signals = replace(signals, population=population)
    steps = []
    for margin in np.arange(-4, 4.05, 0.1).round(1):
        changed = {key: value.copy() for key, value in signals.values.items()}
        for key, value in signals_of_margin(np.array(margin)).items():
            changed[key][0, 20:40] = value
        moved = replace(signals, values=changed)
        steps.append((ATTACKS[name].score(moved)[20:40], ATTACKS[name].p_value(moved)[20:40]))
    score, p_value = (np.array(part) for part in zip(*steps, strict=True))
    known = ~np.isnan(score[0])
    assert known.sum() > 5
    assert (np.diff(score[:, known], axis=0) >= -1e-12).all()
    assert (np.diff(p_value[:, known], axis=0) <= 1e-12).all()
