"""Recipes that wrap plain training: each against an explicit loop."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.defences import DEFENCES
from guestlist.defences.regularisers import dropping, gradients
from guestlist.defences.torch_training import goodness

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=120)
    return gl.Data(rng.normal(size=(120, 6)) + 0.7 * y[:, None], y)


FIT = gl.defences.Fit(epochs=8, batch_size=20, learning_rate=0.02)


def network():
    return gl.defences.mlp(6, 3, hidden=(16, 8))


def equal(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


# -- early stopping ----------------------------------------------------------------------------------------------------


def test_the_best_epoch_is_one_of_the_plain_run_on_the_other_records(data):
    stopped = gl.defences.EarlyStopping(FIT, share=0.25, patience=8)(network(), data, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    chosen, others = np.split(rng.spawn(1)[0].permutation(120), [30])
    epochs = FIT.checkpoints(network(), data.take(np.sort(others)), rng)
    reached = [goodness(module, data.x[chosen], data.y[chosen]) for module in epochs]
    assert equal(stopped, epochs[int(np.argmax(reached))])
    assert len(set(reached)) > 1


def test_it_stops_when_nothing_better_comes(data):
    """With a patience of one, the first epoch that is no better is the last."""
    stopped = gl.defences.EarlyStopping(FIT, share=0.25, patience=1)(network(), data, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    chosen, others = np.split(rng.spawn(1)[0].permutation(120), [30])
    epochs = FIT.checkpoints(network(), data.take(np.sort(others)), rng)
    reached = [goodness(module, data.x[chosen], data.y[chosen]) for module in epochs]
    first = next((k for k in range(1, 8) if reached[k] <= max(reached[:k])), 8)
    assert equal(stopped, epochs[int(np.argmax(reached[:first]))])


def test_early_stopping_keeps_the_first_epoch_of_a_training_that_diverges(data):
    fit = gl.defences.Fit(epochs=3, loss="squared", learning_rate=1e30, optimizer="sgd")
    values = gl.Data(data.x, 1e30 * np.random.default_rng(0).normal(size=len(data)))
    stopped = gl.defences.EarlyStopping(fit, patience=1)(
        gl.defences.mlp(6, 1, hidden=(16, 8)), values, np.random.default_rng(1)
    )
    assert np.isnan(goodness(stopped, values.x, values.y, "squared"))


def test_an_epoch_of_a_long_run_is_a_run_that_ends_there(data):
    epochs = FIT.checkpoints(network(), data, np.random.default_rng(4))
    for k in (1, 3, 8):
        assert equal(epochs[k - 1], gl.defences.Fit(k, 20, 0.02)(network(), data, np.random.default_rng(4)))


# -- dropout -----------------------------------------------------------------------------------------------------------


def test_dropout_is_before_every_linear_layer_but_the_first():
    module = dropping(network(), 0.3)
    kinds = [type(part).__name__ for part in module.modules() if not list(part.children())]
    assert kinds == ["Linear", "ReLU", "Dropout", "Linear", "ReLU", "Dropout", "Linear"]
    assert [part.p for part in module.modules() if isinstance(part, torch.nn.Dropout)] == [0.3, 0.3]
    behind = [
        type(part).__name__ for part in dropping(gl.defences.cnn(10, 3), 0.3).modules() if not list(part.children())
    ]
    assert behind.count("Dropout") == 1
    with pytest.raises(InputError, match="this module has none"):
        dropping(gl.defences.mlp(6, 3, hidden=()), 0.3)


def test_without_dropping_it_is_plain_training(data):
    plain = FIT(network(), data, np.random.default_rng(5))
    assert equal(gl.defences.Dropout(0.0, FIT)(network(), data, np.random.default_rng(5)), plain)
    dropped = gl.defences.Dropout(0.5, FIT)(network(), data, np.random.default_rng(5))
    assert not equal(dropped, plain)
    x = torch.tensor(data.x, dtype=torch.float32)
    assert torch.equal(dropped(x), dropped(x))  # every query uses all units


# -- students ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorder:
    """Teachers that record their training sets; a student that stores its labels."""

    loss: str = "cross_entropy"
    sizes: list = field(default_factory=list)
    objective: object = None

    def __call__(self, module, data, rng):
        rows = set(map(tuple, data.x))

        class Teacher(torch.nn.Module):
            def forward(self, x):
                inside = torch.tensor([tuple(row) in rows for row in x.double().numpy()])
                return torch.where(inside[:, None], torch.tensor([9.0, 0.0]), torch.tensor([0.0, 2.0]))

        self.sizes.append(len(rows))
        return Teacher().double()

    def distil(self, module, data, soft, rng):
        return soft


def test_selena_distils_only_teachers_that_did_not_train_on_the_record():
    rng = np.random.default_rng(0)
    data = gl.Data(rng.normal(size=(40, 3)).astype(np.float32).astype(float), np.zeros(40, int))
    teacher = Recorder()
    soft = gl.defences.Selena(5, 2, teacher, teacher)(None, data, rng)
    assert soft == pytest.approx(np.tile(np.exp([0, 2]) / np.exp([0, 2]).sum(), (40, 1)))
    assert len(teacher.sizes) == 5
    assert sum(teacher.sizes) == 40 * 3  # each record is trained on by all but two


def test_a_student_fits_the_teachers_outputs_at_a_temperature():
    data = gl.Data(np.ones((4, 3)), np.zeros(4, int))
    soft = gl.defences.Distillation(Recorder(), Recorder(), 3.0)(None, data, np.random.default_rng(0))
    assert soft == pytest.approx(np.tile(np.exp([3, 0]) / np.exp([3, 0]).sum(), (4, 1)))


def test_a_student_at_a_temperature_has_the_loss_of_scaled_outputs(data):
    """Its gradient is T (p_student - p_teacher), both at T: of the size that it has at 1."""
    from guestlist.defences.distillation import AtTemperature
    from guestlist.defences.torch_training import Batch, Start

    z, soft = (
        torch.randn(5, 3, dtype=torch.float64, requires_grad=True),
        torch.rand(5, 3, dtype=torch.float64).softmax(1),
    )

    def plain(outputs, batch):
        return torch.nn.functional.cross_entropy(outputs, batch.y, reduction="sum")

    begun = AtTemperature(4.0).begin(Start(None, None, None, plain, np.random.default_rng(0)))
    begun(z, Batch(None, soft, 0)).backward()
    assert z.grad.numpy() == pytest.approx((4 * ((z / 4).softmax(1) - soft)).detach().numpy())
    with pytest.raises(ValueError, match="its own objective"):
        gl.defences.Distillation(student=gl.defences.Fit(objective=gl.defences.L2()))


# -- noise -------------------------------------------------------------------------------------------------------------


def test_gradients_of_features_are_those_of_the_loss(data):
    module = FIT(network(), data, np.random.default_rng(6)).double()
    grads = gradients(module, data.x[:5], data.y[:5])
    y, step = torch.tensor(data.y[:5]), 1e-6

    def losses(x):
        return torch.nn.functional.cross_entropy(module(torch.tensor(x)), y, reduction="none").detach().numpy()

    for k in range(6):
        shift = step * np.eye(6)[k]
        slope = (losses(data.x[:5] + shift) - losses(data.x[:5] - shift)) / (2 * step)
        assert grads[:, k] == pytest.approx(slope, abs=1e-7)


@dataclass(frozen=True)
class InputRecorder:
    """Trains as ``fit`` does and keeps the records it was given."""

    fit: gl.defences.Fit
    inputs: list = field(default_factory=list)
    loss: str = "cross_entropy"

    def __call__(self, module, data, rng):
        self.inputs.append(data.x)
        return self.fit(module, data, rng)


def test_half_of_the_records_are_perturbed_by_the_step_size(data):
    recipe = InputRecorder(FIT)
    gl.defences.FgsmNoise(0.1, 0.5, recipe)(network(), data, np.random.default_rng(7))
    before, after = recipe.inputs
    change = np.abs(after - before)
    assert (change.max(axis=1) > 0).sum() == 60
    assert change[change > 0] == pytest.approx(0.1)


def test_perturbed_records_are_reported(data):
    recipe, rng, same = gl.defences.FgsmNoise(0.1, 0.5, FIT), np.random.default_rng(7), np.random.default_rng(7)
    changed, chosen = recipe.perturbed(FIT(network(), data, rng), data, rng)
    assert np.array_equal((changed.x != data.x).any(axis=1), chosen)
    assert chosen.sum() == 60
    assert equal(FIT(network(), changed, rng), recipe(network(), data, same)), "the recipe trains on what was told"


# -- all of them -------------------------------------------------------------------------------------------------------

TRAINED = {name: row for name, row in DEFENCES.items() if row.trains == "torch module"}


def recipe_of(name, data):
    recipe = TRAINED[name].recipe(*([data] if name == "adv_reg" else []))
    if TRAINED[name].kind == "objective":
        return gl.defences.Fit(objective=recipe)
    return recipe


@pytest.mark.parametrize("name", TRAINED)
def test_every_recipe_trains_a_fresh_copy_with_all_chance_from_its_generator(name, data):
    recipe = recipe_of(name, data)
    module = network()
    before = [p.clone() for p in module.parameters()]
    once, again, other = (recipe(module, data.take(np.arange(40)), np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert equal(once, again)
    assert not equal(once, other)
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))
    assert not once.training
    assert isinstance(recipe, gl.defences.Recipe)
    assert recipe.describe() == recipe_of(name, data).describe()


def test_every_row_is_written_as_it_is_made():
    made = {name: row.written for name, row in DEFENCES.items()}
    assert made["l2"] == "gl.defences.Fit(objective=gl.defences.L2(weight=0.001))"
    assert made["dropout"] == "gl.defences.Dropout(rate=0.5, fit=gl.defences.Fit(…))"
    assert made["adv_reg"].startswith("gl.defences.Fit(objective=gl.defences.AdvReg(held_out=…, weight=1.0")
