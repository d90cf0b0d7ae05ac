"""Influence functions and TracIn: compared with plain formulas and loops, and with retraining without a member."""

import sys

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.risks import attribution
from oracles_risks import softmax_gradients, softmax_hessian

torch = pytest.importorskip("torch")
pytest.importorskip("captum")


@pytest.fixture(scope="module")
def data():
    """60 members and 30 others in 3 classes, and a linear model of the classes."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 4)), rng.integers(3, size=90)
    x[np.arange(90), y] += 1.0
    torch.manual_seed(0)
    return torch.nn.Linear(4, 3).double(), (x[:60], y[:60]), (x[60:], y[60:])


def parameters(module):
    return module.weight.detach().numpy(), module.bias.detach().numpy()


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.3, 0.01])
def test_influence_is_the_formula_of_a_linear_model(data, damping):
    module, members, tests = data
    hessian = softmax_hessian(*members, *parameters(module)) + damping * 60 * np.eye(15)
    member_gradients, other = (softmax_gradients(*side, *parameters(module)) for side in (members, tests))
    expected = member_gradients @ np.linalg.solve(hessian, other.mean(axis=0))
    influences = gl.risks.influence_functions(module, *members, *tests, damping=damping)
    np.testing.assert_allclose(influences, expected, rtol=1e-5, atol=1e-9)
    on_itself = np.einsum("ij,jk,ik->i", member_gradients, np.linalg.inv(hessian), member_gradients)
    np.testing.assert_allclose(gl.risks.influence_functions(module, *members, damping=damping), on_itself, rtol=1e-5)


def test_a_rank_keeps_the_directions_of_the_largest_curvature():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(80, 8)) * 2.0 ** -np.arange(8), rng.integers(3, size=80)
    module = torch.nn.Linear(8, 3).double()
    members, tests = (x[:60], y[:60]), (x[60:], y[60:])
    values, vectors = np.linalg.eigh(softmax_hessian(*members, *parameters(module)))
    member_gradients, other = (
        softmax_gradients(*side, *parameters(module)) @ vectors[:, -4:] for side in (members, tests)
    )
    expected = (member_gradients / (values[-4:] + 0.01 * 60)) @ other.mean(axis=0)
    influences = gl.risks.influence_functions(module, *members, *tests, rank=4)
    np.testing.assert_allclose(influences, expected, rtol=1e-4, atol=1e-7)


def test_influence_is_what_training_without_the_member_does():
    """Least squares with a penalty: to first order, which with 800 members is nearly all."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(840, 3))
    y = x @ [1.0, -1.0, 0.5] + rng.normal(size=840)
    penalty = 0.1

    def fitted(rows):
        return np.linalg.solve(x[rows].T @ x[rows] + penalty * 800 / 2 * np.eye(3), x[rows].T @ y[rows])

    def loss(coefficients):
        return np.square(x[800:] @ coefficients - y[800:]).mean()

    members = np.arange(800)
    module = torch.nn.Linear(3, 1, bias=False).double()
    module.weight.data = torch.as_tensor(fitted(members))[None]
    influences = gl.risks.influence_functions(
        module, x[:800], y[:800], x[800:], y[800:], damping=penalty, loss="squared"
    )
    change = np.array([loss(fitted(np.delete(members, i))) for i in members]) - loss(fitted(members))
    assert np.corrcoef(influences, change)[0, 1] > 0.99
    assert np.polyfit(influences, change, 1)[0] == pytest.approx(1, abs=0.05)


@pytest.mark.slow
def test_tracin_is_a_loop_over_checkpoints_and_records(data):
    _, members, tests = data
    checkpoints = gl.defences.Fit(epochs=3, optimizer="sgd", learning_rate=0.1).checkpoints(
        network(), gl.Data(*members), np.random.default_rng(0)
    )

    def gradient(module, x, y):
        module.zero_grad()
        outputs = module(torch.as_tensor(x[None]))
        torch.nn.functional.cross_entropy(outputs, torch.as_tensor([y])).backward()
        return np.concatenate([part.grad.numpy().ravel() for part in module.parameters()])

    on_tests, on_itself = np.zeros(60), np.zeros(60)
    for rate, module in zip((0.1, 0.2, 0.3), checkpoints, strict=True):
        others = [gradient(module, *record) for record in zip(*tests, strict=True)]
        for i, record in enumerate(zip(*members, strict=True)):
            gradients = gradient(module, *record)
            on_tests[i] += rate * np.mean([gradients @ other for other in others])
            on_itself[i] += rate * gradients @ gradients
    rates = {"learning_rate": (0.1, 0.2, 0.3)}
    np.testing.assert_allclose(gl.risks.tracin(checkpoints, *members, *tests, **rates), on_tests, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(gl.risks.tracin(checkpoints, *members, **rates), on_itself, rtol=1e-6)
    np.testing.assert_allclose(gl.risks.tracin(checkpoints[0], *members), gl.risks.tracin(checkpoints[:1], *members))


@pytest.mark.slow
def test_both_ways_to_gradients_agree(data, monkeypatch):
    """Images, of which captum can take the gradients in one pass, or record by record."""
    _, (_, y), _ = data
    torch.manual_seed(2)
    module, x = gl.defences.cnn(12, 3, filters=(2, 3)).double(), np.random.default_rng(3).normal(size=(20, 1, 12, 12))
    (at_once, kifs) = gl.risks.tracin(module, x, y[:20]), gl.risks.influence_functions(module, x, y[:20], damping=0.5)
    monkeypatch.setattr(attribution, "_at_once", lambda module, layers: False)
    np.testing.assert_allclose(gl.risks.tracin(module, x, y[:20]), at_once, rtol=1e-8)
    np.testing.assert_allclose(gl.risks.influence_functions(module, x, y[:20], damping=0.5), kifs, rtol=1e-6)


@pytest.mark.slow
def test_a_memorised_outlier_influences_itself_most(data):
    _, (x, y), _ = data
    x = np.vstack([x, 6 * np.eye(4)[:1]])
    y = np.append(y, 2)  # far out on the side of class 0
    linear = torch.nn.Linear(4, 3).double()
    module = gl.defences.Fit(epochs=30, learning_rate=0.02)(linear, gl.Data(x, y), np.random.default_rng(0))
    assert gl.risks.tracin(module, x, y).argmax() == 60
    assert gl.risks.influence_functions(module, x, y).argmax() == 60


def test_the_module_and_chance_are_left_as_they_were(data):
    module, members, tests = data
    before = {name: part.clone() for name, part in module.state_dict().items()}
    module.train()
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    gl.risks.influence_functions(module, *members, *tests, rank=3)
    gl.risks.tracin(module, *members, *tests)
    assert torch.rand(1) == first
    assert module.training
    assert all(torch.equal(part, before[name]) for name, part in module.state_dict().items())
    assert all(part.requires_grad for part in module.parameters())


def test_one_layer_alone(data):
    _, members, _ = data
    module = network()
    hidden = torch.nn.Sequential(*module[:2])(torch.as_tensor(members[0])).detach().numpy()
    alone = gl.risks.influence_functions(module[2], hidden, members[1])
    np.testing.assert_allclose(gl.risks.influence_functions(module, *members, layers=["2"]), alone, rtol=1e-6)
    influences = gl.risks.influence_functions(module, *members, *members, layers=["0", "2"], damping=0.5)
    np.testing.assert_allclose(
        gl.risks.influence_functions(module, *members, *members, damping=0.5), influences, rtol=1e-6
    )


def test_parameters_may_be_frozen(data):
    _, members, tests = data
    expected = [find(network(), *members, *tests) for find in (gl.risks.influence_functions, gl.risks.tracin)]
    frozen = network().requires_grad_(False)
    results = [find(frozen, *members, *tests) for find in (gl.risks.influence_functions, gl.risks.tracin)]
    np.testing.assert_allclose(results, expected, rtol=1e-9)
    assert not any(part.requires_grad for part in frozen.parameters())


@pytest.mark.filterwarnings("ignore")  # captum's own
def test_two_ways_to_the_same_average(data):
    """Compute each pair of a member and a test record separately, as captum does."""
    from captum.influence import NaiveInfluenceFunction
    from torch.utils.data import TensorDataset

    _, members, tests = data
    module = network()
    (x, y), (other, z) = ((torch.as_tensor(a), torch.as_tensor(b)) for a, b in (members, tests))
    captum = NaiveInfluenceFunction(
        module,
        TensorDataset(x, y),
        checkpoint="",
        checkpoints_load_func=lambda model, path: 1.0,
        loss_fn=torch.nn.CrossEntropyLoss(reduction="none"),
        batch_size=60,
        projection_dim=43,
        hessian_reg=30.0,
        hessian_inverse_tol=15.0,
    )
    expected = captum.influence((other, z)).mean(axis=0)
    influences = gl.risks.influence_functions(module, *members, *tests, damping=0.5)
    np.testing.assert_allclose(influences, expected.numpy(), rtol=1e-5, atol=1e-9)


def test_wrong_input_is_reported(data, monkeypatch):
    module, members, tests = data
    with pytest.raises(InputError, match="x_test and y_test"):
        gl.risks.tracin(module, *members, tests[0])
    with pytest.raises(InputError, match="found 60 and 59"):
        gl.risks.tracin(module, members[0], members[1][1:])
    with pytest.raises(InputError, match=r"with parameters.* 0, 2"):
        gl.risks.tracin(network(), *members, layers=["1"])
    monkeypatch.setattr(attribution, "MAX_PARAMETERS", 20)
    with pytest.raises(
        InputError, match=r"43 parameters .*layers=\['2'\] for the last layer \(18 parameters\) or rank=50"
    ):
        gl.risks.influence_functions(network(), *members)
    with pytest.raises(ValueError, match="damping=-1"):
        gl.risks.influence_functions(module, *members, damping=-1)
    with pytest.raises(ValueError, match="rank=0"):
        gl.risks.influence_functions(module, *members, rank=0)
    with pytest.raises(ValueError, match="loss='absolute'"):
        gl.risks.tracin(module, *members, loss="absolute")
    monkeypatch.setitem(sys.modules, "captum.influence", None)
    with pytest.raises(InputError, match=r"the extra attribution"):
        gl.risks.tracin(module, *members)


def test_checkpoints_and_rates_go_together():
    x, y = np.ones((3, 4)), np.zeros(3, int)
    with pytest.raises(InputError, match="found 0 checkpoints"):
        gl.risks.tracin([], x, y)
    with pytest.raises(InputError, match="rates shaped"):
        gl.risks.tracin([gl.defences.mlp(4, 2, hidden=())], x, y, learning_rate=[0.1, 0.2])
