"""Baselines of the same accuracy: nearest of all epochs, rounds or noises that are tried, and references that stop there too."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist import InputError
from guestlist._util import describe
from guestlist.defences.torch_training import goodness

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=240)
    x = (rng.normal(size=(240, 6)) + 0.8 * np.eye(6)[y]).astype(np.float32)
    return (x[:120], y[:120]), (x[120:], y[120:])


FIT = gl.defences.Fit(epochs=12, batch_size=30, learning_rate=0.02)


def network():
    return gl.defences.mlp(6, 3, hidden=(16,))


def equal(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("wanted", [0.0, 0.5, 1.0])
def test_a_module_stops_at_the_nearest_epoch(halves, wanted):
    members, held_out = halves
    stopped = gl.defences.stopped_at(wanted, network(), members, held_out, recipe=FIT, seed=4)
    epochs = FIT.checkpoints(network(), gl.Data(*members), np.random.default_rng(4))
    reached = [goodness(module, *held_out) for module in epochs]
    assert [accuracy for _, accuracy in stopped.tried] == reached
    nearest = int(np.argmin(np.abs(np.array(reached) - wanted)))
    assert equal(stopped.model, epochs[nearest])
    assert stopped.recipe == gl.defences.Fit(epochs=nearest + 1, batch_size=30, learning_rate=0.02)
    assert stopped.accuracy == reached[nearest]
    assert equal(stopped.recipe(network(), gl.Data(*members), np.random.default_rng(4)), stopped.model)


@pytest.mark.slow
def test_boosted_trees_stop_at_the_nearest_round(halves):
    members, held_out = halves
    model = GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=0)
    staged = list(model.fit(*members).staged_predict(held_out[0]))
    reached = [float(np.mean(predicted == held_out[1])) for predicted in staged]
    wanted = reached[3]
    stopped = gl.defences.stopped_at(wanted, model, members, held_out)
    assert stopped.accuracy == wanted
    middle = gl.defences.stopped_at((reached[0] + reached[-1]) / 2, model, members, held_out)
    assert abs(middle.accuracy - middle.wanted) == min(abs(accuracy - middle.wanted) for _, accuracy in middle.tried)
    assert len({rounds for rounds, _ in middle.tried}) == len(middle.tried) <= 20
    assert all(reached[int(rounds) - 1] == accuracy for rounds, accuracy in stopped.tried)
    assert {1, 2, 4, 8, 16, 32, 40} <= {rounds for rounds, _ in stopped.tried}
    assert np.mean(stopped.model.predict(held_out[0]) == held_out[1]) == wanted
    piped = make_pipeline(StandardScaler(), model)
    assert gl.defences.stopped_at(wanted, piped, members, held_out).model[-1].n_estimators <= 40


@pytest.mark.slow
def test_noise_is_searched_for(halves):
    members, held_out = halves
    recipe = gl.defences.DpSgd(noise=4.0, rate=0.25, epochs=5, learning_rate=0.5)
    trained = gl.defences.dp_at(0.55, network(), members, held_out, recipe=recipe, tries=6, seed=1)
    assert len(trained.tried) <= 6
    assert trained.tried[0][0] == 4.0
    gaps = [abs(accuracy - 0.55) for _, accuracy in trained.tried]
    assert abs(trained.accuracy - 0.55) == min(gaps)
    assert trained.recipe.noise == trained.tried[int(np.argmin(gaps))][0]
    again = gl.defences.DpSgd(noise=trained.recipe.noise, rate=0.25, epochs=5, learning_rate=0.5)
    assert equal(again(network(), gl.Data(*members), np.random.default_rng(1)), trained.model)
    assert trained.recipe.tried == len(trained.tried)


def test_no_accuracy_is_too_high_for_noise(halves):
    """An accuracy out of reach is reported with the one reached: the search ends at no noise at all."""
    trained = gl.defences.dp_at(
        1.0, network(), *halves, recipe=gl.defences.DpSgd(noise=0.002, rate=0.5, epochs=1), tries=8
    )
    assert trained.tried[-1][0] == 0.0
    assert len(trained.tried) < 8
    assert (trained.wanted, trained.accuracy < 1) == (1.0, True)


def test_what_was_searched_for_trains_as_what_was_found(halves):
    inner = gl.defences.Fit(epochs=2, objective=gl.defences.LabelSmoothing(0.2))
    recipe = gl.defences.Searched(inner, tried=5)
    data = gl.Data(*halves[0])
    assert equal(recipe(network(), data, np.random.default_rng(0)), inner(network(), data, np.random.default_rng(0)))
    assert (recipe.epochs, recipe.plain()) == (2, gl.defences.Fit(epochs=2))
    assert hasattr(recipe, "distil")
    assert not hasattr(recipe, "weighted")
    assert copy.deepcopy(recipe) == recipe == pickle.loads(pickle.dumps(recipe))
    assert (
        describe(recipe)
        == describe(gl.defences.Searched(inner, tried=6))
        != describe(gl.defences.Searched(gl.defences.Fit(epochs=2), tried=5))
    )
    target = gl.torch_target(network(), train=recipe)
    assert (target.training.tried, target.training.recipe) == (5, "Fit(epochs=2, objective=LabelSmoothing(share=0.2))")


def test_what_cannot_be_matched_is_refused(halves):
    words = halves[0][0], np.where(halves[0][1] > 0, "yes", "no")
    for call, message in (
        (lambda: gl.defences.stopped_at(0.5, Ridge(), *halves), "Ridge is not trained in rounds"),
        (lambda: gl.defences.stopped_at(0.5, "model", *halves), "a torch module or an estimator; found str"),
        (
            lambda: gl.defences.stopped_at(0.5, network(), *halves, recipe=gl.defences.DpSgd()),
            r"needs recipe=gl\.defences\.Fit\(…\); found DpSgd",
        ),
        (
            lambda: gl.defences.stopped_at(0.5, network(), *halves, recipe=gl.defences.Fit(loss="squared")),
            "defined for classifiers",
        ),
        (
            lambda: gl.defences.dp_at(0.5, network(), *halves, recipe=gl.defences.DpSgd(loss="squared")),
            "defined for classifiers",
        ),
        (lambda: gl.defences.dp_at(0.5, Ridge(), *halves), "a torch module; found Ridge"),
        (lambda: gl.defences.dp_at(0.5, network(), words, halves[1]), "positions of classes"),
        (lambda: gl.defences.stopped_at(0.5, network(), halves[0], words), "positions of classes"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    with pytest.raises(ValueError, match=r"accuracy=1.5 in \[0, 1\]"):
        gl.defences.stopped_at(1.5, network(), *halves)
    with pytest.raises(ValueError, match="tries=0"):
        gl.defences.dp_at(0.5, network(), *halves, tries=0)
    with pytest.raises(ValueError, match="tried=0"):
        gl.defences.Searched(gl.defences.Fit(), tried=0)
