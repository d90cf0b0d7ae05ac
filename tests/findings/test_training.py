"""Training of the target: its description as given, and the privacy guarantee of one such training."""

from dataclasses import replace

import guestlist as gl
from guestlist import InputError
from guestlist._findings import facts
from guestlist._store import from_json, to_json
from guestlist.defences import Training, training_of
from guestlist.testing import leaking_case

PRIVATE = training_of(gl.defences.Searched(gl.defences.DpSgd(noise=1.0, rate=0.1, epochs=5), tried=4))


def recorded_training(training):
    case = leaking_case()
    return facts.find_training(replace(case, setting=replace(case.setting, training=training)))


def test_training_without_a_guarantee_keeps_its_description():
    for training in (None, training_of(gl.defences.Fit()), training_of(gl.defences.DpSgd(noise=0.0))):
        assert recorded_training(training) == training


def test_epsilon_is_that_of_the_noise_rate_and_steps(monkeypatch):
    arguments = {}

    def accountant(noise, **options):
        arguments.update(options, noise=noise)
        return 5.159

    monkeypatch.setattr(facts, "epsilon_of", accountant)
    training = recorded_training(PRIVATE)
    assert arguments == {"noise": 1.0, "rate": 0.1, "steps": 50, "delta": 1e-5}
    assert (training.epsilon, training.delta, training.tried) == (5.159, 1e-5, 4)
    assert from_json(Training, to_json(training)) == training


def test_without_the_accountant_epsilon_is_not_reported(monkeypatch):
    def missing(*_args, **_options):
        raise InputError("not installed")

    monkeypatch.setattr(facts, "epsilon_of", missing)
    assert recorded_training(PRIVATE) == PRIVATE
