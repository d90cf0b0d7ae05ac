from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mpmath import mp

from guestlist._kernels import in_out_moments
from guestlist._views import Signals
from guestlist._views import signals as views
from guestlist.attacks import ATTACKS
from guestlist.errors import NotCollectedError
from guestlist.models import SIGNALS, signals_of_probabilities
from guestlist.models.scales import hinge, signals_of_logits, zero_replacement
from guestlist.testing import gaussian_simulation


def exactly(logits, label):
    """Every signal of one record with 60 digits."""
    with mp.workdps(60):
        e = [mp.exp(mp.mpf(float(z))) for z in logits]
        p = [v / sum(e) for v in e]
        other_mass = sum(v for c, v in enumerate(p) if c != label)
        others = sum(-p[c] * mp.log(sum(v for d, v in enumerate(p) if d != c)) for c in range(len(p)) if c != label)
        return {
            "loss": -mp.log(p[label]),
            "margin": mp.log(p[label] / other_mass),
            "entropy": -sum(v * mp.log(v) for v in p),
            "mentr": -other_mass * mp.log(p[label]) + others,
            "p_y": p[label],
            "correct": float(np.argmax(logits) == label),
        }


@pytest.mark.slow
@settings(max_examples=60)
@given(arrays(np.float64, 4, elements=st.floats(-30, 30)), st.integers(0, 3))
def test_signals_of_logits_are_exact(logits, label):
    signals = signals_of_logits(logits[None], np.array([label]))
    for name, value in exactly(logits, label).items():
        assert float(signals[name][0]) == pytest.approx(float(value), rel=1e-9, abs=1e-12), name


def test_loss_and_margin_do_not_saturate():
    signals = signals_of_logits(np.array([[800.0, 0.0], [-800.0, 0.0]]), np.array([0, 0]))
    assert signals["margin"].tolist() == [800, -800]
    assert signals["loss"].tolist() == [0, 800]


def test_tiny_losses_keep_their_digits():
    tiny = signals_of_logits(np.array([[40.0, 0.0], [50.0, 0.0]]), np.array([0, 0]))["loss"]
    np.testing.assert_allclose(tiny, np.exp([-40.0, -50.0]), rtol=1e-9)


def test_probabilities_give_the_signals_of_their_logits():
    rng = np.random.default_rng(0)
    logits, labels = 3 * rng.normal(size=(50, 5)), rng.integers(5, size=50)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    signals, computed = signals_of_probabilities(p, labels), signals_of_logits(logits, labels)
    assert set(signals) == set(computed) == set(SIGNALS)
    for name in SIGNALS:
        np.testing.assert_allclose(signals[name], computed[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_margin_near_one_keeps_the_tail_that_one_minus_p_would_lose():
    signals = signals_of_probabilities(np.array([[1 - 1e-17, 1e-17]]), np.array([0]))
    assert signals["margin"][0] == pytest.approx(-np.log(1e-17))


def test_an_exact_zero_is_half_of_the_smallest_output():
    forest = np.array([[1.0, 0.0, 0.0], [0.99, 0.01, 0.0]])
    smallest = zero_replacement(forest)
    assert smallest == 0.005
    margins = signals_of_probabilities(forest, np.array([0, 0]), smallest)["margin"]
    np.testing.assert_allclose(margins, [np.log(1 / 0.005), np.log(0.99 / 0.01)])


def test_smallest_output_of_hard_labels_and_of_smooth_models():
    assert zero_replacement(np.array([[1.0, 0.0]])) == 0.1
    assert zero_replacement(np.array([[1 - 1e-200, 1e-200]])) == 1e-30


def test_ties_in_argmax_go_to_the_lowest_class():
    logits = np.zeros((2, 3))
    assert signals_of_logits(logits, np.array([0, 1]))["correct"].tolist() == [1, 0]


def test_hinge_is_the_gap_to_the_best_other_class():
    assert hinge(np.array([[3.0, 1.0, 2.0]]), np.array([0])).tolist() == [1]


def test_the_view_checks_shapes_and_names_what_is_missing():
    member = np.zeros((2, 4), bool)
    with pytest.raises(ValueError, match=r"shaped \(3, 4\), found \(2, 4\)"):
        Signals({"loss": np.zeros((2, 4))}, member, np.zeros(4, int))
    signals = Signals({"loss": np.zeros((3, 4))}, member, np.zeros(4, int))
    with pytest.raises(NotCollectedError, match=r"reads 'margin', but the audit folder holds loss"):
        signals.target("margin")


def test_shared_arrays_are_read_only():
    simulation = gaussian_simulation(1.0, records=20, models=5)
    signals = simulation.facing(0)
    for array in (
        signals.target("loss"),
        signals.reference("margin"),
        signals.values["p_y"],
        signals.reference_member,
        signals.labels,
        signals.outputs,
        signals.outside("margin").mean,
        signals.outside("margin").variance,
        signals.class_ecdf("loss").below,
        signals.evidence.need("white_box").features,
        signals.evidence.need("distilled").values["margin"],
        simulation.target("loss"),
        simulation.member,
        simulation.inside("p_y").squares,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_warnings_of_references_are_summarised_once(monkeypatch):
    calls = []
    monkeypatch.setattr(
        views, "in_out_moments", lambda *arguments: calls.append(arguments) or in_out_moments(*arguments)
    )
    signals = gaussian_simulation(1.0, records=20, models=9).facing(0)
    for name in ("lira", "lira_bayes", "difficulty", "reference", "rmia", "base", "lira_offline"):
        ATTACKS[name].score(signals)
    assert len(calls) == 2  # margin and p_y, inside and outside at once
    shifted = signals.with_target({"margin": signals.target("margin") + 1})
    np.testing.assert_array_equal(shifted.target("margin"), signals.target("margin") + 1)
    assert shifted.outside("margin") is signals.outside("margin")
    np.testing.assert_array_equal(shifted.reference("margin"), signals.reference("margin"))


def test_a_population_is_known_to_be_no_member():
    simulation = gaussian_simulation(1.0, records=20, models=5)
    not_evaluated = np.arange(20) < 8
    simulation = replace(simulation, not_evaluated=not_evaluated)
    np.testing.assert_array_equal(simulation.population, not_evaluated & ~simulation.member)
    np.testing.assert_array_equal(simulation.facing(2).population, simulation.population[2])
    np.testing.assert_array_equal(
        simulation.facing(2).take(np.array([5, 1])).population, simulation.population[2][[5, 1]]
    )
    np.testing.assert_array_equal(simulation.take(np.array([3, 2])).facing(1).outputs, simulation.facing(2).outputs)


def test_the_stand_in_targets_of_a_view_are_its_references():
    simulation = gaussian_simulation(1.0, records=20, models=5)
    stand_ins = simulation.facing(0).stand_ins
    np.testing.assert_array_equal(stand_ins.target("loss"), simulation.target("loss")[1:])
    np.testing.assert_array_equal(stand_ins.member, simulation.member[1:])
    assert stand_ins.evidence(0).get("distilled") is None
