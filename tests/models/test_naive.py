"""A naive attacker trains references without the defence: by every recipe's plain(), and other targets refuse it."""

from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist._report import prose
from guestlist.defences import DEFENCES, training_of, written
from guestlist.defences.torch_training import fresh

torch = pytest.importorskip("torch")
FIT = gl.defences.Fit(epochs=2, batch_size=20)
DEFENDED = gl.defences.Fit(epochs=2, batch_size=20, objective=gl.defences.LabelSmoothing(0.3))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    return gl.Data(rng.normal(size=(80, 4)) + y[:, None], y)


def network():
    return gl.defences.mlp(4, 2, hidden=(8,))


def test_references_are_those_of_the_plain_recipe(data):
    adaptive, naive, plain = (
        gl.torch_target(network(), train=train, attacker=attacker)
        for train, attacker in ((DEFENDED, "adaptive"), (DEFENDED, "naive"), (FIT, "adaptive"))
    )
    outputs = [target.can["train"](data, np.random.default_rng(3))(data.x) for target in (adaptive, naive, plain)]
    assert np.array_equal(outputs[1], outputs[2])
    assert not np.array_equal(outputs[0], outputs[1])
    assert len({adaptive.recipe, naive.recipe, plain.recipe}) == 3
    assert [target.training.attacker for target in (adaptive, naive)] == ["adaptive", "naive"]
    assert naive.training.recipe == adaptive.training.recipe == written(DEFENDED)


@pytest.mark.parametrize(
    ("recipe", "plain"),
    [
        (gl.defences.EarlyStopping(DEFENDED), FIT),
        (gl.defences.Dropout(0.5, DEFENDED), FIT),
        (gl.defences.FgsmNoise(fit=DEFENDED), FIT),
        (gl.defences.Distillation(student=FIT), FIT),
        (gl.defences.Selena(student=FIT), FIT),
        (gl.defences.Refit(), gl.defences.Refit()),
        (gl.defences.Searched(DEFENDED, tried=2), FIT),
    ],
)
def test_every_recipe_knows_itself_without_its_defence(recipe, plain):
    assert recipe.plain() == plain


def test_every_recipe_of_the_table_does():
    assert all(hasattr(row.recipe, "plain") for row in DEFENCES.values() if row.kind == "recipe")


def test_private_training_without_noise_and_clipping_is_plain_descent(data):
    """Compute by hand the mean gradient over Poisson batches, divided by their expected size."""
    recipe = gl.defences.DpSgd(noise=2.0, clip=0.1, rate=0.5, epochs=2, learning_rate=0.3)
    start = network()
    trained = recipe.plain()(start, data, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    torch.manual_seed(int(rng.integers(2**63)))
    module = fresh(start)
    x, y = torch.as_tensor(data.x, dtype=torch.float32), torch.as_tensor(data.y)
    for _ in range(4):
        rows = np.flatnonzero(rng.random(80) < 0.5)
        module.zero_grad()
        (torch.nn.functional.cross_entropy(module(x[rows]), y[rows], reduction="sum") / 40).backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter -= 0.3 * parameter.grad
    for a, b in zip(trained.parameters(), module.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_the_training_of_a_defence_is_described():
    training = training_of(gl.defences.DpSgd(noise=0.5, rate=0.1, epochs=3), "naive")
    assert (training.noise, training.rate, training.steps, training.tried) == (0.5, 0.1, 30, None)
    assert prose("audit.attacker", training) == "naive attacker, who does not know of the defence"
    assert prose("audit.guarantee", training) == "noise 0.5; its ε takes the extra dp"
    searched = training_of(gl.defences.Searched(gl.defences.DpSgd(noise=0.0), tried=8))
    assert prose("audit.guarantee", searched) == "no noise, so no ε is guaranteed"
    text = prose("audit.guarantee", replace(searched, noise=1.0, epsilon=3.21, delta=1e-5))
    assert text == "ε = 3.21 at δ = 1.0e-05: ε of one run; the search for it was not counted (8 trainings)"
    assert "search" not in prose("audit.guarantee", replace(training, epsilon=3.21, delta=1e-5))
    assert (
        prose("audit.guarantee", training_of(gl.defences.Searched(gl.defences.Fit(), tried=3)))
        == "chosen from 3 trainings"
    )
    assert (
        prose("audit.guarantee", training_of(gl.defences.Fit()))
        == prose("audit.guarantee", None)
        == prose("audit.attacker", None)
        == ""
    )


def test_what_cannot_be_naive_is_refused():
    for train, message in ((lambda data, rng: network(), "without the defence"), (None, "Pass train=")):
        with pytest.raises(InputError, match=message):
            gl.torch_target(network(), train=train, attacker="naive")
    with pytest.raises(ValueError, match="'adaptive', 'naive'"):
        gl.torch_target(network(), train=FIT, attacker="both")


@pytest.mark.slow
def test_an_audit_keeps_it(data, tmp_path):
    other = gl.Data(data.x[::-1] + 0.1, data.y[::-1])
    target = gl.torch_target(network(), train=DEFENDED, attacker="naive")
    results = gl.audit(target, data, other, references=2, folder=tmp_path, jobs=1, baseline=False)
    assert results.training.attacker == "naive"
    assert gl.read_results(tmp_path).training == results.training
    assert "without the defence" in " ".join(results.summary(verbose=True).split())
    page = results.to_html(tmp_path / "page.html").read_text("utf-8")
    assert "naive attacker, who does not know of the defence" in page
    rounded = gl.models.with_output_defence(target, gl.defences.Rounded(1))
    assert (rounded.training.attacker, rounded.training.recipe.endswith("Rounded(digits=1)")) == ("naive", True)
