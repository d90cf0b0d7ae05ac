"""Adversarial regularisation: one step against the formula, nothing where it weighs nothing, and less to see where it does."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.defences import adversarial
from guestlist.defences.torch_training import Batch, Start, probabilities

torch = pytest.importorskip("torch")


def simulated(records, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=records)
    return gl.Data(rng.normal(size=(records, 20)) + 0.5 * y[:, None], y)


def trained(weight, epochs=3, **options):
    objective = None if weight is None else gl.defences.AdvReg(simulated(150, 1), weight, **options)
    fit = gl.defences.Fit(epochs=epochs, batch_size=30, learning_rate=0.01, objective=objective)
    return fit(gl.defences.mlp(20, 3, hidden=(64,)), simulated(150, 0), np.random.default_rng(2))


def equal(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.slow
def test_weighing_nothing_it_is_plain_training_to_the_bit():
    assert equal(trained(0.0), trained(None))
    assert equal(trained(5.0, epochs=2, warm_up=2), trained(None, epochs=2))
    assert not equal(trained(1.0), trained(None))
    assert equal(trained(1.0), trained(1.0))


def test_one_step_is_the_formula(monkeypatch):
    """The classifier maximises log I of members plus log (1 - I) of others, given output and label; the model minimises it."""
    attack = torch.nn.Linear(6, 1).double()
    monkeypatch.setattr(adversarial, "mlp", lambda *sizes, **options: attack)
    module, held_out = gl.defences.mlp(20, 3, hidden=(4,)).double(), simulated(30, 1)
    members = simulated(30, 0)
    x, y = torch.tensor(members.x), torch.tensor(members.y)

    def plain(outputs, batch):
        return torch.nn.functional.cross_entropy(outputs, batch.y)

    def odds(module_x, labels):
        p = module(module_x).softmax(1).detach().numpy()
        inputs = np.c_[p, np.eye(3)[labels]]
        return inputs @ attack.weight.detach().numpy()[0] + attack.bias.item()

    def gain():
        inside, outside = odds(x, members.y), odds(torch.tensor(held_out.x), held_out.y)
        return -np.log1p(np.exp(-inside)).mean() - np.log1p(np.exp(outside)).mean()

    for rate in (0.0, 0.05):
        begun = gl.defences.AdvReg(held_out, 2.0, learning_rate=rate).begin(
            Start(module, x, y, plain, np.random.default_rng(0))
        )
        before, batch = gain(), Batch(x, y, 0)
        loss = begun(module(x), batch).item()  # the batch is as large as what is held out: all of it is drawn
        paid = -np.log1p(np.exp(-odds(x, members.y))).mean()
        assert loss == pytest.approx(plain(module(x), batch).item() + 2.0 * paid)
        assert gain() == pytest.approx(before) if rate == 0 else gain() > before


def confidence_gap(module):
    """Mean probability of the true class, members minus others never seen: the leak that averages show."""
    members, other = (simulated(150, seed) for seed in (0, 9))
    return np.subtract(*(probabilities(module, d.x)[np.arange(150), d.y].mean() for d in (members, other)))


@pytest.mark.slow
def test_a_larger_weight_makes_members_harder_to_distinguish():
    plain, some, much = (confidence_gap(trained(weight, epochs=40)) for weight in (0.0, 1.0, 5.0))
    assert plain > 0.2
    assert some < plain
    assert much < 0.7 * plain


def test_no_held_out_record_is_refused():
    with pytest.raises(InputError, match=r"held_out= is empty\."):
        gl.defences.AdvReg(simulated(150, 0).take(np.array([], dtype=int)))
    with pytest.raises(ValueError, match="Expected weight"):
        gl.defences.AdvReg(simulated(150, 0), -1.0)
    with pytest.raises(ValueError, match="Expected steps"):
        gl.defences.AdvReg(simulated(150, 0), steps=0)


def test_other_held_out_records_are_another_recipe():
    described = {gl.defences.Fit(objective=gl.defences.AdvReg(simulated(150, seed))).describe() for seed in (1, 1, 2)}
    assert len(described) == 2
