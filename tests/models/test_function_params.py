"""Functions of parameters and features, as in JAX, are queried in batches and trained again."""

import functools

import numpy as np
import pytest

import guestlist as gl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
sizes: list[int] = []


def apply(params, x):
    sizes.append(len(x))
    return x @ params["weight"] + params["bias"]


def fit(data, rng):
    params = {"weight": 0.01 * rng.normal(size=(3, 2)), "bias": np.zeros(2)}
    for _ in range(50):
        logits = apply(params, data.x)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        error = (shares - np.eye(2)[data.y]) / len(data.x)
        params = {"weight": params["weight"] - data.x.T @ error, "bias": params["bias"] - error.sum(axis=0)}
    return params


def test_a_compiled_function_is_identified_by_its_source_and_closure():
    """Functions of ``jax.jit`` are objects with ``__wrapped__``, like those of ``functools.cache``."""

    def recipe_of(rate):
        @functools.cache
        def step(value):
            return value - rate

        return gl.function_target(apply, classes=[0, 1], train=lambda data, rng: step(1.0)).recipe

    assert recipe_of(0.1) == recipe_of(0.1)
    assert recipe_of(0.1) != recipe_of(0.2)


def test_a_function_of_parameters_is_audited_in_batches():
    params = fit(gl.Data(X[:45], Y[:45]), np.random.default_rng(0))
    target = gl.function_target(apply, params=params, classes=[0, 1], scale="logits", train=fit, batch_size=20)
    assert target.name == "apply"
    sizes.clear()
    assert np.array_equal(target.predict(X), apply(params, X))
    assert sizes == [20, 20, 20, 20, 10, 90]
    results = gl.audit(
        target, (X[:45], Y[:45]), (X[45:], Y[45:]), references=4, attacks=["reference"], baseline=False, jobs=1
    )
    assert results.references.count == 4


def test_a_function_without_parameters_is_batched_too():
    params = fit(gl.Data(X, Y), np.random.default_rng(0))
    plain = gl.function_target(
        lambda x: apply(params, x)[:, 1],
        scale="values",
        train=lambda data, rng: lambda x: apply(params, x)[:, 1],
        batch_size=40,
    )
    sizes.clear()
    reference = plain.can["train"](gl.Data(X, Y), np.random.default_rng(0))
    assert np.array_equal(reference(X), plain.predict(X))
    assert sizes == [40, 40, 10] * 2
    with pytest.raises(ValueError, match="batch_size"):
        gl.function_target(apply, params=params, classes=[0, 1], batch_size=0)


@pytest.mark.parametrize(("scale", "first"), [("probabilities", 0.75), ("logits", 0.0)])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_outputs_of_the_second_of_two_classes_suffice(scale, first, shape):
    def predict(x):
        return np.full(len(x), 0.25).reshape(shape)

    target = gl.function_target(predict, classes=["no", "yes"], scale=scale, train=lambda data, rng: predict)
    assert target.predict(X[:2]).tolist() == [[first, 0.25]] * 2
    assert target.can["train"](None, None)(X[:2]).tolist() == [[first, 0.25]] * 2


def test_labels_are_not_taken_for_outputs_of_the_second_class():
    target = gl.function_target(lambda x: (x[:, 0] > 0).astype(int), classes=[0, 1])
    with pytest.warns(gl.AuditWarning, match="recipe"), pytest.raises(gl.InputError, match="scale='labels'"):
        gl.audit(target, (X[:45], Y[:45]), (X[45:], Y[45:]))


def test_a_training_function_that_returns_nothing_is_reported(tree, blobs):
    with pytest.raises(gl.AuditError, match="returned None"):
        gl.audit(tree, *blobs, train=lambda data, rng: None, references=2, jobs=1, baseline=False)
