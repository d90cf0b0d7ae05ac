"""Objectives of training: each against its formula written out, or against what it must equal."""

import numpy as np
import pytest

import guestlist as gl
from guestlist.defences.regularisers import flat, smoothing_for
from guestlist.defences.torch_training import Batch, Start

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(6, 4))
Y = np.array([0, 3, 1, 1, 2, 0])
P = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)


def plain(outputs, batch):
    return torch.nn.functional.cross_entropy(outputs, batch.y)


def loss_of(objective, epoch=0, module=None, logits=LOGITS, y=Y):
    """Its value and its gradient with respect to the outputs."""
    outputs = torch.tensor(logits, requires_grad=True)
    y = torch.tensor(y)
    begun = objective.begin(Start(module, None, y, plain, np.random.default_rng(0)))
    value = begun(outputs, Batch(None, y, epoch))
    value.backward()
    return value.item(), outputs.grad.numpy()


def cross_entropy(labels):
    return -(labels * np.log(P)).sum(1).mean()


def parameters(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()]).numpy()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=90)
    return gl.Data(rng.normal(size=(90, 5)) + y[:, None], y)


def trained(objective, data, **options):
    fit = gl.defences.Fit(
        **{"epochs": 6, "batch_size": 30, "learning_rate": 0.05, "optimizer": "sgd"} | options, objective=objective
    )
    return fit(gl.defences.mlp(5, 3, hidden=(8,)), data, np.random.default_rng(2))


def test_label_smoothing_distributes_a_share():
    value, _ = loss_of(gl.defences.LabelSmoothing(0.3))
    assert value == pytest.approx(cross_entropy(0.7 * np.eye(4)[Y] + 0.3 / 4))
    expected = torch.nn.functional.cross_entropy(torch.tensor(LOGITS), torch.tensor(Y), label_smoothing=0.3)
    assert value == pytest.approx(expected.item())
    soft, _ = loss_of(gl.defences.LabelSmoothing(0.3), y=np.eye(4)[Y])
    assert soft == pytest.approx(value)


def test_a_confident_prediction_has_a_cost():
    value, _ = loss_of(gl.defences.ConfidencePenalty(0.5))
    entropy = -(P * np.log(P)).sum(1).mean()
    assert value == pytest.approx(cross_entropy(np.eye(4)[Y]) - 0.5 * entropy)


@pytest.mark.parametrize(("share", "classes"), [(0.0, 3), (0.3, 2), (0.5, 10), (0.95, 100)])
def test_labels_have_the_requested_entropy(share, classes):
    smoothing = smoothing_for(share, classes)
    label = (1 - smoothing) * np.eye(classes)[0] + smoothing / classes
    known = label[label > 0]
    assert -(known * np.log(known)).sum() / np.log(classes) == pytest.approx(share, abs=1e-9)


def test_hamp_is_both_of_its_parts():
    value, _ = loss_of(gl.defences.Hamp(0.4, 0.2))
    smoothing, entropy = smoothing_for(0.4, 4), -(P * np.log(P)).sum(1).mean()
    assert value == pytest.approx(cross_entropy((1 - smoothing) * np.eye(4)[Y] + smoothing / 4) - 0.2 * entropy)


def test_above_its_level_a_relaxed_loss_is_plain():
    level = cross_entropy(np.eye(4)[Y]) - 1e-6
    for epoch in (0, 1):
        value, gradient = loss_of(gl.defences.RelaxLoss(level), epoch)
        assert value == pytest.approx(level + 1e-6)
        assert gradient == pytest.approx((P - np.eye(4)[Y]) / 6)


def test_below_it_the_loss_climbs_in_even_epochs_and_flattens_in_odd_ones():
    level = cross_entropy(np.eye(4)[Y]) + 1e-6
    _, up = loss_of(gl.defences.RelaxLoss(level), 0)
    assert up == pytest.approx(-(P - np.eye(4)[Y]) / 6)
    value, down = loss_of(gl.defences.RelaxLoss(level), 1)
    of_label = P[np.arange(6), Y]
    labels = np.where(np.eye(4)[Y] == 1, of_label[:, None], (1 - of_label[:, None]) / 3)
    assert flat(torch.tensor(LOGITS), torch.tensor(Y)).numpy() == pytest.approx(labels)
    assert value == pytest.approx(cross_entropy(labels))
    assert down == pytest.approx((P - labels) / 6)  # labels are constants: no gradient goes through them


def test_a_relaxed_loss_ends_at_its_level(data):
    module = trained(gl.defences.RelaxLoss(0.4), data, epochs=80, learning_rate=0.2)
    loss = torch.nn.functional.cross_entropy(module(torch.tensor(data.x, dtype=torch.float32)), torch.tensor(data.y))
    assert 0.3 < loss.item() < 0.5


def test_a_penalty_has_the_gradient_of_twice_its_weight(data):
    """SGD adds weight_decay times w to the gradient: that is a penalty of half of it."""
    by_penalty = trained(gl.defences.L2(0.05), data, momentum=0.5)
    by_decay = trained(None, data, momentum=0.5, weight_decay=0.1)
    assert parameters(by_penalty) == pytest.approx(parameters(by_decay), abs=1e-6)
    assert np.abs(parameters(by_penalty) - parameters(trained(None, data, momentum=0.5))).max() > 1e-3


@pytest.mark.parametrize(
    "objective",
    [
        gl.defences.L2(0.0),
        gl.defences.LabelSmoothing(0.0),
        gl.defences.ConfidencePenalty(0.0),
        gl.defences.Hamp(0.0, 0.0),
        gl.defences.RelaxLoss(0.0),
    ],
)
def test_what_weighs_nothing_is_plain_training(objective, data):
    assert parameters(trained(objective, data)) == pytest.approx(parameters(trained(None, data)), abs=1e-6)


def test_an_objective_is_part_of_the_identity():
    described = {
        gl.defences.Fit(objective=objective).describe()
        for objective in (None, gl.defences.L2(0.1), gl.defences.L2(0.2), gl.defences.LabelSmoothing(0.1))
    }
    assert len(described) == 4


def test_what_is_not_one_is_refused():
    with pytest.raises(ValueError, match="is not an objective"):
        gl.defences.Fit(objective="l2")
    with pytest.raises(ValueError, match="LabelSmoothing changes probabilities of classes"):
        gl.defences.Fit(loss="squared", objective=gl.defences.LabelSmoothing())
    assert gl.defences.Fit(loss="squared", objective=gl.defences.L2()).objective == gl.defences.L2()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (gl.defences.L2, {"weight": -1}),
        (gl.defences.LabelSmoothing, {"share": 1}),
        (gl.defences.ConfidencePenalty, {"weight": -1}),
        (gl.defences.RelaxLoss, {"level": -0.1}),
        (gl.defences.Hamp, {"entropy": 1}),
        (gl.defences.Hamp, {"weight": -1}),
        (gl.defences.Dropout, {"rate": 1}),
        (gl.defences.EarlyStopping, {"share": 0}),
        (gl.defences.EarlyStopping, {"patience": 0}),
        (gl.defences.Distillation, {"temperature": 0}),
        (gl.defences.Distillation, {"student": gl.defences.Fit(loss="squared")}),
        (gl.defences.Selena, {"out": 10}),
        (gl.defences.FgsmNoise, {"share": 2}),
        (gl.defences.FgsmNoise, {"fit": gl.defences.Fit(loss="squared")}),
    ],
)
def test_options_are_checked(kind, options):
    with pytest.raises(ValueError, match=r"Expected|needs loss='cross_entropy'"):
        kind(**options)
