import numpy as np
import pytest
from scipy.special import log_softmax

from guestlist._kernels import aucs
from guestlist._views import Rotation
from guestlist.evidence import outputs_of_margin
from guestlist.models import SIGNALS
from guestlist.models.scales import signals_of_logits
from guestlist.selfcheck.scenes import CLASSES, SCENE_VARIANTS, SURE, TILT, UNEQUAL, scene
from guestlist.selfcheck.simulations import (
    SURE_MARGIN,
    memorising_simulation,
    signals_of_rounded,
    unbalanced_references,
)
from guestlist.testing import DESIGNS, exactly_half, gaussian_simulation, noise_simulation, signals_of_margin


def test_every_signal_is_that_of_a_model_with_two_classes():
    margin = np.array([-40.0, -1.5, -0.1, 0.3, 2.0, 30.0])
    labels = np.array([0, 1, 0, 1, 0, 1])
    logits = np.zeros((6, 2))
    logits[np.arange(6), labels] = margin
    made, expected = signals_of_margin(margin), signals_of_logits(logits, labels)
    assert set(made) == set(SIGNALS)
    for name in SIGNALS:
        np.testing.assert_allclose(made[name], expected[name], rtol=1e-9, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("classes", [3, 10])
def test_every_signal_and_output_is_that_of_a_model_with_more_classes(classes):
    margin, labels = np.array([-30.0, -1.5, -0.1, 0.3, 2.0, 20.0]), np.array([0, 1, 2, 1, 0, 2])
    logits = np.full((6, classes), -np.log(classes - 1))
    logits[np.arange(6), labels] = margin
    made, expected = signals_of_margin(margin, classes), signals_of_logits(logits, labels)
    for name in SIGNALS:
        np.testing.assert_allclose(made[name], expected[name], rtol=1e-9, atol=1e-14, err_msg=name)
    outputs = outputs_of_margin(margin, labels, classes)
    np.testing.assert_allclose(outputs, log_softmax(logits, axis=1), rtol=1e-6)


@pytest.mark.parametrize("name", SCENE_VARIANTS)
def test_members_are_first_in_every_scenario_and_have_in_and_out_references(name):
    simulation = scene(name, 1.0, records=300, models=33, seed=0)
    assert 100 < simulation.member.sum() < 200
    assert simulation.member[: simulation.member.sum()].all()
    inside = simulation.view.reference_member.sum(axis=0)
    assert (inside.min() > 0) & (inside.max() < 32)
    if simulation.view.population is None:
        assert simulation.evaluated.all()
    else:
        assert not (simulation.view.population & (simulation.member | simulation.evaluated)).any()
        assert simulation.view.population.sum() > 20


def test_scenarios_match_their_names():
    def values(name, signal="margin"):
        return scene(name, 0.0, records=2000, models=5, seed=0).view.target(signal)

    assert len(np.unique(values("plain"))) == 2000
    assert len(np.unique(values("ties"))) < 20
    assert (values("saturated") == SURE).mean() == pytest.approx(0.24, abs=0.03)  # Phi(-1 / sqrt 2)
    assert set(scene("classes", 0.0, records=2000, models=5, seed=0).view.labels) == set(range(CLASSES))
    tilted = scene("labels", 0.0, records=20_000, models=5, seed=0)
    shares = [
        np.bincount(tilted.view.labels[side], minlength=3) / side.sum() for side in (tilted.member, ~tilted.member)
    ]
    np.testing.assert_allclose(shares[0], [(1 - TILT) / 3, 1 / 3, (1 + TILT) / 3], atol=0.02)
    np.testing.assert_allclose(shares[1], shares[0][::-1], atol=0.03)


@pytest.mark.parametrize("outliers", [False, True])
def test_memorised_records_are_distinguished_and_others_are_surer_and_steadier(outliers):
    simulation = memorising_simulation(outliers=outliers, records=4000, models=9)
    margin, member = simulation.rotation.values["margin"], simulation.rotation.member
    known, others = simulation.memorised, ~simulation.memorised
    assert known.mean() == pytest.approx(0.1, abs=0.02)
    assert margin[:, known][member[:, known]].min() > margin[:, known][~member[:, known]].mean() + 1
    gain = margin[:, others][member[:, others]].mean() - margin[:, others][~member[:, others]].mean()
    assert gain == pytest.approx(0.3, abs=0.03)
    assert margin[:, others][member[:, others]].std() == pytest.approx(np.hypot(0.7, 0.3), abs=0.03)
    assert margin[:, others][~member[:, others]].std() == pytest.approx(np.hypot(0.7, 1.0), abs=0.03)
    assert (margin[:, known][~member[:, known]].mean() < 0) == outliers


@pytest.mark.parametrize("design", DESIGNS)
def test_margins_are_larger_for_members_by_the_shift(design):
    simulation = gaussian_simulation(2.0, records=2000, models=10, design=DESIGNS[design])
    margin, member = simulation.values["margin"], simulation.member
    assert margin[member].mean() - margin[~member].mean() == pytest.approx(2.0, abs=0.05)
    assert member.mean() == pytest.approx(0.5, abs=0.02)


def test_pairs_are_never_references_of_each_other():
    simulation = noise_simulation(records=50, models=6, design=DESIGNS["pairs"])
    for k in range(6):
        signals = simulation.facing(k)
        assert signals.references == 4
        assert (signals.reference_member.sum(axis=0) == 2).all()


@pytest.mark.parametrize("references", [7, 32])
def test_unbalanced_references_are_common_and_uninformative_about_the_target(references):
    member, together = unbalanced_references(references + 1, 40_000, np.random.default_rng(0))
    count = member[1:].sum(axis=0)
    assert together is None
    for few in (1, 2, references - 2, references - 1):
        some = count == few
        assert some.mean() > 0.04
        assert member[0, some].mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(some.sum()))


def test_rounded_probabilities_are_exactly_0_and_1():
    margin = np.array([[-SURE_MARGIN, -2.0, 0.5], [3.0, 20.0, SURE_MARGIN]])
    signals, plain = signals_of_rounded(margin), signals_of_margin(margin)
    assert signals["p_y"][0, 0] == 0
    assert signals["p_y"][1, 2] == 1
    assert signals["loss"][1, 2] == 0
    assert set(signals) == set(plain)
    between = np.abs(margin) < 10
    for name, values in signals.items():
        np.testing.assert_allclose(values[between], plain[name][between], rtol=1e-6, err_msg=name)
    outputs = scene("exact", 1.0, records=2000, models=5, seed=0).view.target("p_y")
    assert (outputs == 1).mean() == pytest.approx(0.38, abs=0.05)  # 26 % of non-members and 50 % of members
    assert (outputs == 0).mean() > 0.02
    with pytest.raises(ValueError, match="classes=3"):
        signals_of_rounded(margin, 3)


def test_classes_keep_their_frequencies_where_they_shift_with_membership():
    simulation = scene("frequencies", 0.0, records=20_000, models=5, seed=0)
    labels, member = simulation.view.labels, simulation.member
    np.testing.assert_allclose(np.bincount(labels) / len(labels), UNEQUAL, atol=0.02)
    assert (labels[member] == 0).mean() < 0.1 < 0.5 < (labels[~member] == 0).mean()


def _in_count_auc(design, simulations: int = 20) -> float:
    mean_aucs = []
    for seed in range(simulations):
        simulation = noise_simulation(records=500, models=8, seed=seed, design=design)
        mean_aucs.append(aucs(_in_count(simulation), simulation.member).mean())
    return float(np.mean(mean_aucs))


def _in_count(simulation: Rotation) -> np.ndarray:
    return np.stack([simulation.facing(k).reference_member.sum(axis=0) for k in range(len(simulation.member))])


@pytest.mark.parametrize("design", DESIGNS)
def test_the_number_of_in_references_has_auc_0_5(design):
    assert _in_count_auc(DESIGNS[design]) == pytest.approx(0.5, abs=0.006)


def test_exactly_half_inclusion_lets_the_count_reveal_membership():
    """The remaining count is one less for members: an attack that rises with the count is wrong every time."""
    assert _in_count_auc(exactly_half) == 0.0
