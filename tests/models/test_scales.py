"""Scales of outputs: the signals that they define, and the outputs that they refuse."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.models import SIGNALS, as_scale, signals_of_probabilities
from guestlist.models.scales import SCALES, hinge, residual_floor, signals_of_logits, zero_replacement

RNG = np.random.default_rng(0)
LOGITS, LABELS = RNG.normal(size=(40, 3)), RNG.integers(3, size=40)
P = np.round(np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True), 1)
P /= P.sum(axis=1, keepdims=True)
PREDICTED, TRUE = RNG.normal(size=(40, 1)), RNG.normal(size=40)


def same(first, other):
    assert first.keys() == other.keys()
    assert all(np.array_equal(first[name], other[name]) for name in first)


def test_signals_are_those_of_the_scale():
    resolved = gl.models.Probabilities().resolved(P, LABELS)
    assert resolved == gl.models.Probabilities(zero_replacement(P))
    same(resolved.signals(P, LABELS), signals_of_probabilities(P, LABELS, zero_replacement(P)))
    same(gl.models.Logits().resolved(LOGITS, LABELS).signals(LOGITS, LABELS), signals_of_logits(LOGITS, LABELS))
    for scale, outputs, labels in (
        (resolved, P, LABELS),
        (gl.models.Logits(), LOGITS, LABELS),
        (gl.models.Values(), PREDICTED, TRUE),
    ):
        assert tuple(scale.signals(outputs, labels)) == scale.signal_names


def test_a_hinge_is_that_of_logits_or_of_logarithms_or_the_margin():
    np.testing.assert_array_equal(gl.models.Logits().hinge(LOGITS, LABELS), hinge(LOGITS, LABELS))
    np.testing.assert_array_equal(
        gl.models.Probabilities(0.01).hinge(P, LABELS), hinge(np.log(np.maximum(P, 0.01)), LABELS)
    )
    scale = gl.models.Values().resolved(PREDICTED, TRUE)
    np.testing.assert_array_equal(scale.hinge(PREDICTED, TRUE), scale.signals(PREDICTED, TRUE)["margin"])


def test_soft_labels_sum_to_one_or_are_the_value():
    np.testing.assert_allclose(gl.models.Logits().soft(LOGITS).sum(axis=1), 1)
    np.testing.assert_allclose(gl.models.Probabilities().soft(P * 1.0005).sum(axis=1), 1)
    np.testing.assert_array_equal(gl.models.Values().soft(PREDICTED), PREDICTED)


def test_signals_of_values():
    scale = gl.models.Values().resolved(PREDICTED, TRUE)
    signals, residual = scale.signals(PREDICTED, TRUE), TRUE - PREDICTED[:, 0]
    np.testing.assert_array_equal(signals["residual"], residual)
    np.testing.assert_allclose(signals["loss"], residual**2)
    order = np.argsort(np.abs(residual))
    assert (np.diff(signals["margin"][order]) <= 0).all()  # falls with the size of the residual, whatever its sign


def test_the_unit_of_the_values_does_not_matter():
    """Metres or millimetres: margins differ by a constant, which no attack sees."""
    first, other = (gl.models.Values().resolved(PREDICTED * unit, TRUE * unit) for unit in (1.0, 1000.0))
    shift = first.hinge(PREDICTED, TRUE) - other.hinge(PREDICTED * 1000, TRUE * 1000)
    np.testing.assert_allclose(shift, shift[0], rtol=1e-9)


def test_a_target_without_any_residual_has_a_floor():
    assert residual_floor(np.zeros(5)) > 0
    margin = gl.models.Values().resolved(np.zeros((5, 1)), np.zeros(5)).hinge(np.zeros((5, 1)), np.zeros(5))
    assert np.isfinite(margin).all()


@pytest.mark.parametrize("wrong", ["Logits", "probability", "", None, 3])
def test_another_scale_is_refused_in_words(wrong, blobs):
    with pytest.raises(ValueError, match="one of 'probabilities', 'logits', 'values', 'labels'"):
        as_scale(wrong)
    with pytest.raises(ValueError, match="one of 'probabilities', 'logits', 'values', 'labels'"):
        gl.function_target(lambda x: x, classes=[0, 1], scale=wrong)
    with pytest.raises(ValueError, match="one of 'probabilities', 'logits', 'values', 'labels'"):
        gl.Predictions(LOGITS, LABELS, LABELS == 0, scale=wrong)


def test_a_scale_is_its_name_or_itself():
    for name, kind in SCALES.items():
        assert as_scale(name) == as_scale(kind()) == kind()
    assert as_scale(gl.models.Probabilities(0.1)).smallest == 0.1


@pytest.mark.parametrize(
    ("scale", "outputs", "message"),
    [
        (gl.models.Probabilities(), [[0.5, 0.6]], "are not probabilities"),
        (gl.models.Probabilities(), [[1.5, -0.5]], "are not probabilities"),
        (gl.models.Probabilities(), [[np.nan, 1.0]], "NaN for 1 of 1 records"),
        (gl.models.Logits(), [[np.inf, 0.0]], "infinite logits"),
        (gl.models.Values(), [[np.nan]], "NaN for 1 of 1 records"),
        (gl.models.Values(), [[np.inf]], "infinite values"),
    ],
)
def test_impossible_outputs_are_refused(scale, outputs, message):
    with pytest.raises(InputError, match=message):
        scale.check(np.array(outputs))


def test_values_have_no_classes():
    with pytest.raises(InputError, match="Use a classifier"):
        gl.models.Values().log_probabilities(PREDICTED)
    with pytest.raises(InputError, match="Use a classifier"):
        gl.models.Values().correct(PREDICTED, TRUE)


def test_capabilities_are_looked_up_by_name(tree, blobs):
    target = gl.estimator_target(tree)
    assert callable(target.needs("train"))
    assert target.needs("leaves")(blobs[0][0]).leaf.shape[0] == len(blobs[0][0])
    with pytest.raises(InputError, match="is not a torch target"):
        target.needs("layers")
    plain = gl.function_target(lambda x: x, classes=[0, 1])
    with pytest.raises(InputError, match="has no training recipe"):
        plain.needs("train")
    with pytest.raises(ValueError, match="Expected capabilities among train, distil"):
        gl.Target(lambda x: x, [0, 1], can={"fly": len})
    service = gl.Target(lambda x: x, [0, 1], name="it", cannot={"train": "it is a service"})
    with pytest.raises(InputError, match="it has no training recipe: it is a service"):
        service.needs("train")


def test_layers_of_a_module(blobs):
    torch = pytest.importorskip("torch")
    x = blobs[0][0]
    module = gl.defences.mlp(5, 3, hidden=(8, 6)).train()
    outputs = gl.torch_target(module).needs("layers")(x)
    assert module.training
    with torch.no_grad():
        batch = torch.as_tensor(x, dtype=torch.float32)
        first, last = module[:2](batch), module[:4](batch)
    assert list(outputs) == ["first", "last_hidden"]
    np.testing.assert_allclose(outputs["first"], first.numpy(), rtol=1e-5)
    np.testing.assert_allclose(outputs["last_hidden"], last.numpy(), rtol=1e-5)
    assert gl.torch_target(gl.defences.mlp(5, 3, hidden=())).needs("layers")(x) == {}
    image = gl.torch_target(gl.defences.cnn(10, 3, filters=(4,))).needs("layers")(np.zeros((7, 1, 10, 10)))
    assert image["last_hidden"].shape == (7, 4 * 4 * 4)


def formulas(logits, labels):
    """The definition of each signal, without care for small probabilities."""
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = p[np.arange(len(p)), labels]
    others = np.arange(p.shape[1]) != labels[:, None]
    terms = np.where(others, -p * np.log(1 - p), -(1 - p) * np.log(p))
    signals = {
        "loss": -np.log(true),
        "margin": np.log(true / (1 - true)),
        "correct": p.argmax(axis=1) == labels,
        "entropy": -(p * np.log(p)).sum(axis=1),
        "mentr": terms.sum(axis=1),
        "p_y": true,
    }
    assert set(signals) == set(SIGNALS)
    return signals


@pytest.mark.parametrize("name", ["probabilities", "logits"])
def test_signals_of_many_classes_are_computed_in_blocks_and_are_the_same(monkeypatch, name):
    """Block by block against all outputs at once, and against the formula of each signal."""
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(50, 7)) * 3, rng.integers(0, 7, 50)
    scale = as_scale(name)
    outputs = logits if name == "logits" else scale.soft(np.exp(logits))
    signals, log_p = scale.signals(outputs, labels), scale.log_probabilities(outputs)
    monkeypatch.setattr("guestlist.models.scales.CELLS_AT_ONCE", 20)
    for signal, values in scale.signals(outputs, labels).items():
        np.testing.assert_array_equal(values, signals[signal])
        np.testing.assert_allclose(values, formulas(logits, labels)[signal], rtol=1e-9, err_msg=signal)
    np.testing.assert_array_equal(scale.log_probabilities(outputs), log_p)
