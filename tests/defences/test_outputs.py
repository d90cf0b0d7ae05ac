"""Output defences: probabilities stay probabilities, the class stays, and MemGuard's own classifier is at chance."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.defences.adversarial import Guarded

SIMPLE = (
    gl.defences.Rounded(1),
    gl.defences.Rounded(0),
    gl.defences.TopK(1),
    gl.defences.TopK(3),
    gl.defences.LabelOnly(),
    gl.defences.Temperature(3.0),
    gl.defences.Temperature(0.5),
)


def random_probabilities(records, seed, sharp=3.0, classes=5):
    z = sharp * np.random.default_rng(seed).normal(size=(records, classes))
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def outputs_of(defence, p):
    return defence.begin(lambda x: p, None, np.random.default_rng(0))(p)


@pytest.mark.parametrize("defence", SIMPLE)
def test_outputs_are_probabilities_and_keep_the_class(defence):
    p = random_probabilities(400, 0)
    outputs = outputs_of(defence, p)
    assert outputs.sum(axis=1) == pytest.approx(np.ones(400))
    assert (outputs >= 0).all()
    clear = np.sort(p, axis=1)[:, -1] - np.sort(p, axis=1)[:, -2] > 0.2  # rounding may make the two largest equal
    assert (outputs.argmax(1) == p.argmax(1))[clear].all()
    order = np.random.default_rng(1).permutation(400)
    assert outputs_of(defence, p[order]) == pytest.approx(outputs[order])


def test_each_defence_returns_its_defined_outputs():
    p = np.array([[0.61, 0.24, 0.12, 0.03], [0.4, 0.3, 0.2, 0.1]])
    assert outputs_of(gl.defences.Rounded(1), p)[0] == pytest.approx(np.array([0.6, 0.2, 0.1, 0.0]) / 0.9)
    assert outputs_of(gl.defences.Rounded(0), p)[1].tolist() == [1, 0, 0, 0]  # all round to 0
    assert outputs_of(gl.defences.TopK(2), p)[0] == pytest.approx([0.61, 0.24, 0.075, 0.075])
    assert outputs_of(gl.defences.TopK(3), p) == pytest.approx(p)  # the last one is known anyway
    assert outputs_of(gl.defences.LabelOnly(), p).tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    assert outputs_of(gl.defences.Temperature(1.0), p) == pytest.approx(p)
    cold = np.log(outputs_of(gl.defences.Temperature(0.5), p))
    assert cold[:, 0] - cold[:, 1] == pytest.approx(2 * np.log(p[:, 0] / p[:, 1]))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (gl.defences.Rounded, {"digits": -1}),
        (gl.defences.TopK, {"k": 0}),
        (gl.defences.Temperature, {"temperature": 0}),
    ],
)
def test_options_are_checked(kind, options):
    with pytest.raises(ValueError, match="Expected"):
        kind(**options)


# -- MemGuard ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard:
    """MemGuard of a model that is surer of its members: outputs of the model, and those that MemGuard publishes."""

    guarded: Guarded
    members: np.ndarray
    nonmembers: np.ndarray

    @cached_property
    def outputs(self):
        return np.r_[self.members, self.nonmembers]

    @cached_property
    def published(self):
        return self.guarded(self.outputs)

    def with_budget(self, budget):
        return replace(self.guarded, budget=budget)


@pytest.fixture(scope="module")
def guard():
    pytest.importorskip("torch")
    known = np.r_[random_probabilities(600, 1, sharp=4.0), random_probabilities(600, 2, sharp=1.5)]

    def query(x):
        return known[np.asarray(x)[:, 0].astype(int)]

    members = gl.Data(np.arange(600)[:, None], np.zeros(600, int))
    held_out = gl.Data(np.arange(600, 1200)[:, None], np.zeros(600, int))
    defence = gl.defences.MemGuard(
        held_out, hidden=(32,), classifier=gl.defences.Fit(epochs=40, learning_rate=0.01), steps=150
    )
    guarded = defence.begin(query, members, np.random.default_rng(0))
    return Guard(guarded, random_probabilities(500, 3, sharp=4.0), random_probabilities(500, 4, sharp=1.5))


@pytest.mark.slow
def test_no_class_changes_and_everything_is_a_probability(guard):
    assert guard.published.shape == guard.outputs.shape == (1000, 5)
    assert (guard.published.argmax(1) == guard.outputs.argmax(1)).all()
    assert guard.published.sum(axis=1) == pytest.approx(np.ones(1000))
    assert (guard.published >= 0).all()


@pytest.mark.slow
def test_its_own_classifier_can_only_guess(guard):
    def accuracy(outputs):
        odds = guard.guarded.odds(outputs)
        return ((odds[:500] > 0).mean() + (odds[500:] <= 0).mean()) / 2

    assert accuracy(guard.outputs) > 0.75
    assert accuracy(guard.published) == pytest.approx(0.5, abs=0.06)
    published = guard.published[:500]
    changed = np.abs(published - guard.members).sum(axis=1) > 0
    assert changed.mean() > 0.9
    assert np.median(np.abs(guard.guarded.odds(published[changed]))) < 1e-3  # undecided


@pytest.mark.slow
def test_the_mean_change_is_within_the_budget(guard):
    unlimited = np.abs(guard.published - guard.outputs).sum(axis=1).mean()
    tight = guard.with_budget(unlimited / 2)
    change = np.abs(tight(guard.outputs) - guard.outputs).sum(axis=1).mean()
    assert 0 < change <= unlimited / 2 + 0.02
    assert guard.with_budget(0.0)(guard.outputs) == pytest.approx(guard.outputs)


@pytest.mark.slow
def test_an_output_depends_only_on_the_query(guard):
    some = guard.members[:40]
    published = guard.published[:40]
    order = np.random.default_rng(0).permutation(40)
    assert guard.guarded(some[order]) == pytest.approx(published[order], abs=1e-6)
    assert guard.guarded(some[:7]) == pytest.approx(published[:7], abs=1e-6)


def test_memguard_refuses_missing_inputs():
    data = gl.Data(np.ones((1, 1)), np.zeros(1, int))
    with pytest.raises(InputError, match=r"held_out= is empty\."):
        gl.defences.MemGuard(data.take(np.array([], int)))
    with pytest.raises(InputError, match="Pass members="):
        gl.defences.MemGuard(data).begin(None, None, np.random.default_rng(0))
    with pytest.raises(ValueError, match="Expected budget"):
        gl.defences.MemGuard(data, budget=3)
