"""A model as a function of parameters and records, as in JAX: references are new parameters from your own training."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import guestlist as gl


def predict(params, x):
    """Return logits; the same with jax.numpy."""
    return x @ params["weight"] + params["bias"]


def train(data, rng):
    """Minimise the cross-entropy by gradient descent from random parameters."""
    params = {"weight": rng.normal(scale=0.1, size=(data.x.shape[1], 2)), "bias": np.zeros(2)}
    for _ in range(200):
        logits = predict(params, data.x)
        probability = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        error = (probability - np.eye(2)[data.y]) / len(data.y)
        params = {
            "weight": params["weight"] - data.x.T @ error,
            "bias": params["bias"] - error.sum(axis=0),
        }
    return params


x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

params = train(gl.Data(*members), np.random.default_rng(0))
target = gl.function_target(predict, params=params, classes=[0, 1], scale="logits", train=train)
results = gl.audit(target, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
