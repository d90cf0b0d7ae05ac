"""Keras 3 models are recognised, queried in batches and trained again."""

import pickle

import numpy as np
import pytest

import guestlist as gl
from guestlist.models import FRAMEWORKS, KerasFit, as_target, framework_of, keras_target
from guestlist.models.keras_models import describe_keras, seed_keras

pytest.importorskip("torch")
keras = pytest.importorskip("keras")
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).astype(np.float32)
SCORE = X[:, 0] + 0.5 * RNG.normal(size=80)
Y = (SCORE > 0).astype(int)
MEMBERS, NONMEMBERS = (X[:40], Y[:40]), (X[40:], Y[40:])
LOGITS = {"from_logits": True}


def trained(columns=2, activation=None, loss=None, y=Y, epochs=3):
    with seed_keras(0):
        layers = [keras.layers.Input((4,)), keras.layers.Dense(columns, activation=activation)]
        model = keras.Sequential(layers)
        model.compile(keras.optimizers.SGD(0.5), loss or keras.losses.SparseCategoricalCrossentropy(**LOGITS))
        model.fit(X[:40], y[:40], epochs=epochs, batch_size=10, verbose=0)
    return model


@pytest.mark.parametrize(
    ("columns", "activation", "loss", "scale"),
    [
        (2, None, None, "logits"),
        (2, "softmax", "sparse_categorical_crossentropy", "probabilities"),
        (2, "softmax", "categorical_crossentropy", "probabilities"),
        (1, "sigmoid", "binary_crossentropy", "probabilities"),
        (1, None, keras.losses.BinaryCrossentropy(**LOGITS), "logits"),
        (1, None, "mse", "values"),
    ],
)
def test_outputs_and_labels_follow_activation_and_loss(columns, activation, loss, scale):
    y = SCORE if scale == "values" else Y
    model = trained(columns, activation, loss, np.eye(2)[Y] if loss == "categorical_crossentropy" else y)
    assert framework_of(model) is FRAMEWORKS["keras"]
    target = as_target(model)
    assert target.scale.name == scale
    reference = target.can["train"](gl.Data(X, y), np.random.default_rng(0))(X)
    if scale == "values":
        assert np.corrcoef(reference, SCORE)[0, 1] > 0.5
    else:
        assert reference.shape == target.predict(X).shape == (80, 2)
        assert (reference.argmax(axis=1) == Y).mean() > 0.7


def test_a_reference_has_new_parameters_its_own_seed_and_the_epochs_of_the_target():
    model = trained(epochs=4)
    weights = [weight.copy() for weight in model.get_weights()]
    recipe = as_target(model).can["retrain"].recipe
    assert recipe == KerasFit(epochs=4, steps=4)
    generator = keras.src.backend.common.global_state.get_global_attribute("global_random_seed")
    data = gl.Data(*MEMBERS)
    first, same, other = (recipe(model, data, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert all(map(np.array_equal, first.get_weights(), same.get_weights()))
    assert not np.allclose(first.get_weights()[0], other.get_weights()[0])
    assert first.history.params["steps"] == 4
    assert len(first.history.epoch) == 4
    assert all(map(np.array_equal, model.get_weights(), weights))
    assert keras.src.backend.common.global_state.get_global_attribute("global_random_seed") == generator


def test_a_model_from_a_file_needs_its_epochs():
    loaded = pickle.loads(pickle.dumps(trained()))
    with pytest.raises(gl.InputError, match="epochs"):
        gl.audit(loaded, MEMBERS, NONMEMBERS, references=2)
    weights = (np.ones(40), np.ones(40))
    results = gl.audit(
        loaded,
        MEMBERS,
        NONMEMBERS,
        fit_params={"epochs": 2, "batch_size": 20, "sample_weight": weights},
        references=2,
        attacks=["loss"],
        baseline=False,
        jobs=1,
    )
    assert results.references.count == 2
    assert results.subject.name == "Sequential"


def test_two_models_of_the_same_structure_have_the_same_identity():
    assert describe_keras(trained()) == describe_keras(trained())
    assert describe_keras(trained()) != describe_keras(trained(1, "sigmoid", "binary_crossentropy"))


def test_labels_are_named_and_user_defined_training_is_used():
    model = trained()
    names = np.array(["no", "yes"])[Y]
    target = keras_target(model, classes=["no", "yes"], train=lambda data, rng: constant)
    assert np.array_equal(target.can["train"](gl.Data(X, names), np.random.default_rng(0))(X), constant(X))
    named = gl.models.train_target(keras_target(model, classes=["no", "yes"]), (X, names), seed=1)
    assert (named.predict(X).argmax(axis=1) == Y).mean() > 0.7


def constant(x):
    return np.zeros((len(x), 2))


class Subclass(keras.Model):
    def call(self, x):
        return x


def test_models_that_cannot_be_audited_or_trained_are_refused():
    with pytest.raises(gl.InputError, match="several outputs"):
        as_target(trained(3, "sigmoid", "binary_crossentropy", np.eye(3)[Y]))
    for unreadable in (keras.Sequential([keras.layers.Dense(2)]), Subclass()):
        unreadable.compile(loss=keras.losses.SparseCategoricalCrossentropy(**LOGITS))
        with pytest.raises(gl.InputError, match="cannot read the outputs of the Keras model"):
            as_target(unreadable)
    bare = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    assert "not compiled" in as_target(bare).cannot["train"]


def test_a_game_trains_keras_models():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(**LOGITS))
    results = gl.play(
        gl.games.Sides(30, 30),
        KerasFit(epochs=1),
        (X, Y),
        model=model,
        references=2,
        attacks=["loss"],
        jobs=1,
        progress=False,
    )
    assert results.references.count == 2


def test_an_uncompiled_model_needs_a_scale():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
    with pytest.raises(gl.InputError, match="not compiled"):
        gl.audit(model, MEMBERS, NONMEMBERS)
    assert keras_target(model, scale="logits", train=lambda data, rng: model).predict(X).shape == (80, 2)
