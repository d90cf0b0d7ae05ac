"""Torch modules with one output for two classes, and modules that output probabilities."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError

torch = pytest.importorskip("torch")
FIT = gl.defences.Fit(epochs=40, batch_size=16, learning_rate=0.02)


def halves(records: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=records)
    return rng.normal(size=(records, 6)) + 0.5 * y[:, None], y


def trained(*last, outputs: int = 1):
    """A network of the members, trained as far as it goes by its own loss."""
    torch.manual_seed(0)
    x, y = (torch.as_tensor(part) for part in halves(80, 1))
    module = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.ReLU(), torch.nn.Linear(32, outputs))
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loaded = module(x.float())
        loss = torch.nn.functional.binary_cross_entropy_with_logits(loaded[:, 0], y.float()) if outputs == 1 else None
        (torch.nn.functional.cross_entropy(loaded, y) if loss is None else loss).backward()
        optimizer.step()
    return torch.nn.Sequential(*module, *last)


@pytest.mark.slow
def test_one_output_is_the_logit_of_the_second_class():
    module, (x, y) = trained(), halves(80, 1)
    target = gl.torch_target(module, classes=["no", "yes"], train=FIT)
    with torch.no_grad():
        logit = module(torch.as_tensor(x).float()).double().numpy()
    np.testing.assert_allclose(target.predict(x), np.column_stack([np.zeros(80), logit]), rtol=1e-6)
    assert target.name == "Sequential"
    assert list(gl.torch_target(trained(torch.nn.Flatten(0))).classes) == [0, 1]  # (records,) logits as well
    # A reference is trained on the binary cross-entropy: it learns its records.
    again = target.can["train"](gl.Data(x, np.array(["no", "yes"])[y]), np.random.default_rng(0))
    assert (again(x).argmax(axis=1) == y).mean() > 0.9


def test_the_two_logits_have_the_gradients_of_the_one():
    """Training on two logits, of which one is 0, is training on the binary cross-entropy."""
    from guestlist.defences.torch_layers import TwoLogits

    module, (x, y) = trained(), (torch.as_tensor(part) for part in halves(20, 2))
    module.zero_grad()
    torch.nn.functional.cross_entropy(TwoLogits(module)(x.float()), y).backward()
    gradients = [part.grad.clone() for part in module.parameters()]
    module.zero_grad()
    torch.nn.functional.binary_cross_entropy_with_logits(module(x.float())[:, 0], y.float()).backward()
    for gradient, part in zip(gradients, module.parameters(), strict=True):
        torch.testing.assert_close(gradient, part.grad)


@pytest.mark.slow
def test_a_module_with_one_output_is_audited_with_all_white_box_attacks():
    target = gl.torch_target(trained(), train=FIT)
    results = gl.audit(
        target,
        halves(80, 1),
        halves(80, 2),
        references=4,
        attacks=["loss", "lira", "white_box"],
        evidence=[gl.evidence.WhiteBox()],
        jobs=1,
        baseline=False,
        progress=False,
    )
    assert results.attacks.set_index("attack").loc[["loss", "lira"], "auc"].min() > 0.6
    assert {check.code: check.state for check in results.checks}["GL128"] == "passed"


def test_a_function_may_train_modules_with_one_output():
    def train(data, rng):
        return trained()

    x, y = halves(80, 1)
    target = gl.torch_target(trained(), train=train)
    assert target.can["train"](gl.Data(x, y), np.random.default_rng(0))(x).shape == (80, 2)
    retrained = target.can["retrain"](None, gl.Data(x, y), np.random.default_rng(0))
    assert retrained.name == "Sequential"
    assert retrained.predict(x).shape == (80, 2)


def test_one_output_for_other_numbers_of_classes_is_refused():
    x, y = halves(80, 1)
    with pytest.raises(InputError, match=r"shape \(\d+, 3\)"):
        gl.audit(gl.torch_target(trained(), classes=[0, 1, 2]), (x, y), halves(80, 2), references=0)


def test_a_regression_keeps_its_one_output():
    target = gl.torch_target(trained(), scale="values")
    assert target.predict(halves(10, 1)[0]).shape == (10, 1)


@pytest.mark.slow
@pytest.mark.parametrize("last", [torch.nn.Softmax(dim=1), torch.nn.LogSoftmax(dim=1)])
def test_a_softmax_at_the_end_is_noticed_before_a_folder_is_made(last, tmp_path):
    def audit():
        target = gl.torch_target(trained(last, outputs=2))
        sides = halves(80, 1), halves(80, 2)
        return gl.audit(target, *sides, references=0, attacks=["loss"], baseline=False, folder=tmp_path / "audit")

    if isinstance(last, torch.nn.LogSoftmax):
        assert audit().attacks["auc"].iloc[0] > 0.6
        return
    with pytest.raises(InputError, match=r"they are probabilities, not logits\. Remove the softmax"):
        audit()
    assert not (tmp_path / "audit").exists()


def test_a_sigmoid_at_the_end_is_noticed():
    target = gl.torch_target(trained(torch.nn.Sigmoid()))
    results = gl.audit(target, halves(80, 1), halves(80, 2), references=0, attacks=["loss"], baseline=False)
    check = next(check for check in results.checks if check.code == "GL128")
    assert (check.state, dict(check.values)) == ("issue", {"records": 160})
    assert "ends in a sigmoid" in " ".join(results.summary(verbose=True).split())


def test_probabilities_as_logits_are_refused_wherever_they_come_from():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    y = p.argmax(axis=1)
    with pytest.raises(InputError, match="pass scale='probabilities'"):
        gl.Predictions(p, y, np.arange(40) < 20, scale="logits")
    gl.models.Logits().check(p[:5])  # five that sum to 1 may be an accident
    gl.models.Logits().check(p - 0.5)
