"""The contract of attacks, tested for every row of ATTACKS."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist._kernels import aucs
from guestlist._views import Evidence, FullOutputsView
from guestlist.attacks import ATTACKS, score_every_target
from guestlist.errors import NotCollectedError
from guestlist.evidence import EVIDENCE, missing_evidence
from guestlist.metrics import auc
from guestlist.selfcheck.contract import should_be_scored
from guestlist.testing import (
    DESIGNS,
    awkward_simulation,
    exactly_half,
    gaussian_simulation,
    noise_simulation,
    outputs_of_margin,
    target_of,
)

# Records per simulation, by number of models: the standard error of the mean over 200 simulations is then at most
# .0008.
NOISE_RECORDS = {8: 500, 16: 400, 64: 120}
# Attacks on K-NN targets need K-NN models, and those on trees need trees: test_knn.py and test_trees.py hold them to
# the same contract.
NAMES = [name for name, attack in ATTACKS.items() if not attack.evidence or EVIDENCE[attack.evidence].simulate]
ON_STAND_INS = [name for name in NAMES if ATTACKS[name].on_stand_ins]
ON_EVIDENCE = [name for name in NAMES if not ATTACKS[name].on_stand_ins and not ATTACKS[name].learns]
# Attacks that fit a classifier for every target are calibrated with fewer simulations, below.
LEARNED = [name for name in NAMES if ATTACKS[name].learns]
# It takes most of the time with 64 models; benchmarks/attacks has its AUC on null data of real audits.
FEWER_SIMULATIONS = {("lira_bayes", 64): 50}
ROTATING = [name for name, attack in ATTACKS.items() if attack.rotates]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_one_score_per_record(name):
    signals, _ = target_of(gaussian_simulation(1.0, records=300, models=17))
    scores = ATTACKS[name].score(signals)
    assert scores.shape == (300,)
    assert not np.isnan(scores[should_be_scored(ATTACKS[name], signals)]).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_scores_rise_with_membership(name):
    signals, member = target_of(gaussian_simulation(2.0))
    assert auc(ATTACKS[name].score(signals), member).low > 0.55


@pytest.mark.slow
@pytest.mark.parametrize(
    ("models", "design", "simulations"),
    [
        (16, "pairs", 100),
        pytest.param(8, "bernoulli", 200, marks=pytest.mark.long),
        pytest.param(8, "pairs", 200, marks=pytest.mark.long),
        pytest.param(16, "bernoulli", 200, marks=pytest.mark.long),
        pytest.param(16, "pairs", 200, marks=pytest.mark.long),
        pytest.param(64, "bernoulli", 200, marks=pytest.mark.long),
        pytest.param(64, "pairs", 200, marks=pytest.mark.long),
    ],
)
def test_no_advantage_where_there_is_no_leak(models, design, simulations):
    """The mean AUC over all models as targets, in simulations without a leak; each is drawn once, for all attacks.

    With 200 simulations a mean that is off by more than 0.003 fails, with 100 by more than 0.0043: at least 3.3
    standard errors. With 64 models ``lira_bayes`` has 50.
    """
    mean_aucs = {name: [] for name in ON_STAND_INS}
    for seed in range(simulations):
        simulation = noise_simulation(
            records=NOISE_RECORDS[models], models=models, seed=seed, log_deviation_sd=0.5, design=DESIGNS[design]
        )
        names = [name for name in ON_STAND_INS if seed < FEWER_SIMULATIONS.get((name, models), simulations)]
        scores = np.concatenate([score_every_target(ATTACKS[name], simulation) for name in names])
        ranked = aucs(scores, np.tile(simulation.member, (len(names), 1))).reshape(len(names), models)
        for name, mean in zip(names, np.nanmean(ranked, axis=1), strict=True):
            mean_aucs[name].append(mean)
    for name, values in mean_aucs.items():
        tolerance = 0.003 * np.sqrt(200 / len(values))
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert error < 0.3 * tolerance, name  # or else the next line could not fail
        assert abs(np.mean(values) - 0.5) < tolerance, name


@pytest.mark.slow
@pytest.mark.parametrize("simulations", [200, pytest.param(400, marks=pytest.mark.long)])
def test_no_advantage_of_evidence_where_there_is_no_leak(simulations):
    """The evidence of these attacks is about one target and does not depend on the number of references.

    With 400 simulations a mean that is off by more than 0.003 fails, with 200 by more than 0.0042: at least 3.3 standard errors.
    """
    simulated_aucs = {name: [] for name in ON_EVIDENCE}
    for seed in range(simulations):
        signals, member = target_of(noise_simulation(records=1500, models=5, seed=seed, log_deviation_sd=0.5))
        for name in ON_EVIDENCE:
            simulated_aucs[name].append(aucs(ATTACKS[name].score(signals)[None], member[None])[0])
    tolerance = 0.003 * np.sqrt(400 / simulations)
    for name, values in simulated_aucs.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert error < 0.3 * tolerance, name  # or else the next line could not fail
        assert abs(np.mean(values) - 0.5) < tolerance, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "design", "simulations"),
    [
        # The AUC of white_box varies more; 24 simulations of it take 25 seconds.
        *((name, "bernoulli", 6) for name in LEARNED if name != "white_box"),
        *(pytest.param(name, "pairs", 12, marks=pytest.mark.long) for name in LEARNED),
        *(pytest.param(name, "bernoulli", 24, marks=pytest.mark.long) for name in LEARNED),
    ],
)
def test_no_advantage_of_a_classifier_where_there_is_no_leak(name, design, simulations):
    mean_aucs = []
    for seed in range(simulations):
        simulation = noise_simulation(records=400, models=4, seed=seed, log_deviation_sd=0.5, design=DESIGNS[design])
        scores = np.stack([ATTACKS[name].score(simulation.facing(k)) for k in range(4)])
        mean_aucs.append(aucs(scores, simulation.member[:4]).mean())
    error = np.std(mean_aucs, ddof=1) / np.sqrt(simulations)
    assert error < 0.01  # or else the next line could not fail
    assert abs(np.mean(mean_aucs) - 0.5) < 4 * error


def test_a_design_with_exact_halves_produces_a_spurious_advantage():
    """Why such designs are not offered: the references that remain tell whether the target is one of the half."""
    mean_aucs = []
    for seed in range(20):
        simulation = noise_simulation(records=400, models=8, seed=seed, design=exactly_half)
        mean_aucs.append(aucs(ATTACKS["lira_record"].score(simulation), simulation.member).mean())
    assert np.mean(mean_aucs) < 0.45


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_shuffled_records_give_shuffled_scores(name):
    signals, _ = target_of(awkward_simulation(records=200, models=17))
    order = np.random.default_rng(1).permutation(200)
    assert_same(ATTACKS[name].score(signals.take(order)), ATTACKS[name].score(signals)[order])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_references_is_irrelevant(name):
    signals, _ = target_of(awkward_simulation(records=200, models=17))
    order = np.random.default_rng(1).permutation(16)
    values = {key: matrix[np.r_[0, 1 + order]] for key, matrix in signals.values.items()}
    member, evidence = signals.reference_member[order], signals.evidence.take_references(order)
    shuffled = replace(signals, values=values, reference_member=member, evidence=evidence)
    assert_same(ATTACKS[name].score(shuffled), ATTACKS[name].score(signals))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", ROTATING)
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
def test_all_targets_at_once_equal_one_by_one(name, design, step):
    """Of 70 models, every seventh is compared; of fewer, every one."""
    for models, records in ((6, 60), (10, 60), (70, 40)):
        simulation = awkward_simulation(records=records, models=models, design=DESIGNS[design])
        together = ATTACKS[name].score(simulation)
        assert together.shape == simulation.member.shape
        for k in range(0, models, step if models == 70 else 1):
            assert_same(together[k], ATTACKS[name].score(simulation.facing(k)))


@pytest.mark.parametrize("name", NAMES)
def test_only_unknown_values_are_nan(name):
    """A score is missing only where the target was not queried, or where a record has no IN or no OUT reference."""
    signals, _ = target_of(awkward_simulation(records=200, models=17))
    attack = ATTACKS[name]
    missing = np.isnan(signals.target(attack.needs[0] if attack.needs else "margin")) | ~should_be_scored(
        attack, signals
    )
    answered = ~np.isnan(signals.reference("margin"))
    inside = (signals.reference_member & answered).any(axis=0)
    outside = (~signals.reference_member & answered).any(axis=0)
    scored = ~np.isnan(attack.score(signals))
    assert not scored[missing].any()
    assert scored[~missing & inside & outside].all()
    expected = {
        "nothing": ~missing,
        "any": ~missing & (inside | outside),
        "out": ~missing & outside,
        "both": ~missing & inside & outside,
    }[attack.compares]
    np.testing.assert_array_equal(scored, expected)


@pytest.mark.parametrize("name", NAMES)
def test_models_that_all_agree_give_scores_without_nan(name):
    """A deterministic trainer, or a saturated softmax: no variance anywhere."""
    simulation = gaussian_simulation(0.0, records=50, models=9)
    values = {key: np.tile(matrix[:1], (9, 1)) for key, matrix in simulation.values.items()}
    outputs = FullOutputsView(outputs_of_margin(values["margin"][1:], simulation.labels), simulation.member[1:])
    evidence = simulation.evidence(0).with_part("full_outputs", outputs)
    signals = replace(simulation.facing(0), values=values, evidence=evidence)
    sides = (
        should_be_scored(ATTACKS[name], signals)
        & simulation.member[1:].any(axis=0)
        & ~simulation.member[1:].all(axis=0)
    )
    assert np.isfinite(ATTACKS[name].score(signals))[sides].all()


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.evidence])
def test_without_its_evidence_an_attack_explains_how_to_collect_it(name):
    attack = ATTACKS[name]
    bare = replace(
        target_of(gaussian_simulation(1.0, records=20, models=5))[0], evidence=Evidence(missing=missing_evidence())
    )
    advice = "The target must be" if EVIDENCE[attack.evidence].default else f"--evidence {attack.evidence}"
    with pytest.raises(NotCollectedError, match=advice):
        attack.score(bare)


def assert_same(computed: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(computed, expected, rtol=1e-10, atol=1e-10)
