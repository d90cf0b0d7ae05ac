"""Plain training does what it says: against a loop written out, with hard and soft labels, on tables and on images."""

import warnings

import numpy as np
import pytest

import guestlist as gl
from guestlist.defences.torch_training import fresh, take_rows

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def images():
    """(x, y): bright squares in one of three corners."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    x = rng.normal(0, 0.3, size=(120, 2, 10, 10))
    for i, label in enumerate(y):
        x[i, :, 5 * (label // 2) : 5 * (label // 2) + 5, 5 * (label % 2) : 5 * (label % 2) + 5] += 1
    return x, y


def written_out(fit, module, x, y, seed, step):
    """The same training as a loop, one batch after the other; ``step`` changes the parameters."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(int(rng.integers(2**63)))
    module = fresh(module)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    module.train()
    for _ in range(fit.epochs):
        for batch in np.array_split(rng.permutation(len(y)), max(1, round(len(y) / fit.batch_size))):
            module.zero_grad()
            logits = module(x[batch])
            (torch.logsumexp(logits, 1) - logits[torch.arange(len(batch)), y[batch]]).mean().backward()
            with torch.no_grad():
                step(list(module.parameters()))
    return module.eval()


def momentum_step(learning_rate, momentum, decay):
    """v <- momentum v + gradient + decay p, then p <- p - learning rate v."""
    velocity = {}

    def step(parameters):
        for k, p in enumerate(parameters):
            velocity[k] = momentum * velocity.get(k, 0) + p.grad + decay * p
            p -= learning_rate * velocity[k]

    return step


def adamw_step(learning_rate, decay):
    """Loshchilov and Hutter (2019), Algorithm 2, with torch's betas and epsilon."""
    mean, square, steps = {}, {}, {}

    def step(parameters):
        for k, p in enumerate(parameters):
            steps[k] = steps.get(k, 0) + 1
            mean[k] = 0.9 * mean.get(k, 0) + 0.1 * p.grad
            square[k] = 0.999 * square.get(k, 0) + 0.001 * p.grad**2
            root = (square[k] / (1 - 0.999 ** steps[k])).sqrt() + 1e-8
            p -= learning_rate * (decay * p + mean[k] / (1 - 0.9 ** steps[k]) / root)

    return step


def outputs_of(module, x):
    with torch.no_grad():
        return module(torch.tensor(np.asarray(x), dtype=torch.float32)).numpy()


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.5, 0.1)])
def test_sgd_with_momentum_is_the_loop_written_out(momentum, decay, blobs):
    x, y = blobs[0]
    fit = gl.defences.Fit(3, 32, 0.05, weight_decay=decay, optimizer="sgd", momentum=momentum)
    module = gl.defences.mlp(5, 3, hidden=(8,))
    fitted = fit(module, gl.Data(x, y), np.random.default_rng(7))
    expected = written_out(fit, module, x, y, 7, momentum_step(0.05, momentum, decay))
    np.testing.assert_allclose(outputs_of(fitted, x), outputs_of(expected, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adamw_is_the_loop_written_out(decay, blobs):
    x, y = blobs[0]
    fit, module = gl.defences.Fit(3, 32, 0.01, weight_decay=decay), gl.defences.mlp(5, 3, hidden=(8,))
    fitted = fit(module, gl.Data(x, y), np.random.default_rng(7))
    expected = written_out(fit, module, x, y, 7, adamw_step(0.01, decay))
    np.testing.assert_allclose(outputs_of(fitted, x), outputs_of(expected, x), rtol=1e-3, atol=1e-4)


def test_a_frozen_parameter_of_any_kind_is_left_alone(blobs):
    x, y = blobs[0]
    module = gl.defences.mlp(5, 3, hidden=(8,))
    module.register_parameter("table", torch.nn.Parameter(torch.arange(3), requires_grad=False))
    trained = gl.defences.Fit(1)(module, gl.Data(x, y), np.random.default_rng(0))
    assert trained.table.tolist() == [0, 1, 2]


def test_momentum_changes_the_trained_parameters(blobs):
    x, y = blobs[0]
    module = gl.defences.mlp(5, 3, hidden=(8,))
    slow, fast = (
        gl.defences.Fit(3, learning_rate=0.05, optimizer="sgd", momentum=m)(
            module, gl.Data(x, y), np.random.default_rng(7)
        )
        for m in (0.0, 0.9)
    )
    assert np.abs(outputs_of(slow, x) - outputs_of(fast, x)).max() > 0.1


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_certain_soft_labels_train_as_hard_ones_do(optimizer, blobs):
    x, y = blobs[0]
    module, fit = (
        gl.defences.mlp(5, 3, hidden=(8,)).double(),
        gl.defences.Fit(3, learning_rate=0.01, optimizer=optimizer),
    )
    hard = fit(module, gl.Data(x, y), np.random.default_rng(7))
    soft = fit.distil(module, gl.Data(x, y), np.eye(3)[y], np.random.default_rng(7))
    for parameter, other in zip(hard.parameters(), soft.parameters(), strict=True):
        np.testing.assert_allclose(parameter.detach().numpy(), other.detach().numpy(), rtol=1e-6, atol=1e-9)


def test_soft_labels_minimise_the_expected_loss(blobs):
    """Without features there is only a constant to fit, and the best one is the mean of the soft labels."""
    _, y = blobs[0]
    soft = np.random.default_rng(0).dirichlet(np.ones(3), size=len(y))
    fit = gl.defences.Fit(200, batch_size=len(y), learning_rate=0.5, optimizer="sgd")
    data = gl.Data(np.zeros((len(y), 2)), y)
    module = fit.distil(gl.defences.mlp(2, 3, hidden=()), data, soft, np.random.default_rng(0))
    outputs = torch.softmax(torch.tensor(outputs_of(module, np.zeros((1, 2)))), 1).numpy()[0]
    np.testing.assert_allclose(outputs, soft.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize(
    ("optimizer", "rate", "step"),
    [("sgd", 0.05, momentum_step(0.05, 0.0, 0.0)), ("adamw", 0.005, adamw_step(0.005, 0.0))],
)
def test_the_memory_layout_of_images_does_not_change_training(optimizer, rate, step, images):
    x, y = images
    fit, module = gl.defences.Fit(2, 32, rate, optimizer=optimizer), gl.defences.cnn(10, 3, channels=2, filters=(4, 4))
    fitted = fit(module, gl.Data(x, y), np.random.default_rng(7))
    assert next(fitted.parameters()).is_contiguous(memory_format=torch.channels_last)
    expected = written_out(fit, module, x, y, 7, step)
    np.testing.assert_allclose(outputs_of(fitted, x), outputs_of(expected, x), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_images_are_audited(images):
    x, y = images
    fit = gl.defences.Fit(6, 16, 0.01)
    module = fit(gl.defences.cnn(10, 3, channels=2, filters=(4,)), gl.Data(x[:60], y[:60]), np.random.default_rng(0))
    target = gl.torch_target(module, classes=[0, 1, 2], train=fit)
    plans = [gl.evidence.Distilled(2), gl.evidence.LeftOut(records=2, models=2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        results = gl.audit(target, (x[:60], y[:60]), (x[60:], y[60:]), references=0, evidence=plans, jobs=1)
    assert results.subject.accuracy_nonmembers > 0.6
    assert results.attack("leave_one_out").unscored == 120 - 4


@pytest.mark.parametrize("shape", [(20,), (20, 3), (20, 3, 4), (20, 2, 3, 4), (20, 1, 3, 3)])
@pytest.mark.parametrize("together", [False, True])
def test_taken_is_indexing(shape, together):
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    if together and x.ndim == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    rows = torch.tensor([3, 0, 19, 3])
    assert torch.equal(take_rows(x, rows), x[rows])
    if x.ndim == 4 and shape[1] > 1:
        assert take_rows(x, rows).is_contiguous(memory_format=torch.channels_last) == together


def test_the_same_seed_gives_the_same_bits_and_another_does_not(blobs):
    x, y = blobs[0]
    fit, module = gl.defences.Fit(2), gl.defences.mlp(5, 3, hidden=(8,))
    first, again, other = (outputs_of(fit(module, gl.Data(x, y), np.random.default_rng(seed)), x) for seed in (0, 0, 1))
    assert (first == again).all()
    assert not (first == other).any()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"optimizer": "adam"}, "optimizer='adam'"),
        ({"epochs": 0}, "epochs=0"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"learning_rate": 0.0}, r"learning_rate=0\.0"),
        ({"weight_decay": -1.0}, r"weight_decay=-1\.0"),
        ({"optimizer": "sgd", "momentum": 1.0}, r"momentum=1\.0"),
        ({"optimizer": "sgd", "momentum": -0.1}, r"momentum=-0\.1"),
        ({"momentum": 0.9}, r"momentum=0\.9"),
    ],
)
def test_bad_options_are_reported(options, name):
    with pytest.raises(ValueError, match=f"Expected {name}"):
        gl.defences.Fit(**options)


def test_the_last_checkpoint_is_what_a_call_returns():
    rng = np.random.default_rng(0)
    data, module = gl.Data(rng.normal(size=(40, 4)), rng.integers(2, size=40)), gl.defences.mlp(4, 2, hidden=(5,))
    fit = gl.defences.Fit(epochs=5)
    trained, checkpoints = (
        fit(module, data, np.random.default_rng(1)),
        fit.checkpoints(module, data, np.random.default_rng(1)),
    )
    some = fit.checkpoints(module, data, np.random.default_rng(1), every=2)
    assert (len(checkpoints), len(some)) == (5, 3)
    for ours, other in (
        (trained, checkpoints[4]),
        (trained, some[2]),
        (checkpoints[0], some[0]),
        (checkpoints[2], some[1]),
    ):
        assert not ours.training
        assert not other.training
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), other.parameters(), strict=True))
    assert not torch.equal(checkpoints[0][0].weight, checkpoints[1][0].weight)
    with pytest.raises(ValueError, match="every=0"):
        fit.checkpoints(module, data, np.random.default_rng(1), every=0)
