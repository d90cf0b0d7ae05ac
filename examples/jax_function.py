"""A JAX network, a function of parameters and records: references are new parameters from your own training."""

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import guestlist as gl


@jax.jit
def predict(params, x):
    """Return logits."""
    hidden = jax.nn.relu(x @ params["hidden"])
    return hidden @ params["output"]


def loss(params, x, y):
    """Return the mean cross-entropy."""
    return -jnp.take_along_axis(jax.nn.log_softmax(predict(params, x)), y[:, None], axis=1).mean()


def train(data, rng):
    """Minimise the loss by gradient descent from random parameters."""
    first, second = jax.random.split(jax.random.key(int(rng.integers(2**31))))
    params = {
        "hidden": 0.2 * jax.random.normal(first, (data.x.shape[1], 32)),
        "output": 0.2 * jax.random.normal(second, (32, 2)),
    }
    gradient = jax.jit(jax.grad(loss))
    for _ in range(100):
        slopes = gradient(params, data.x, data.y)
        params = jax.tree.map(lambda value, slope: value - 0.5 * slope, params, slopes)
    return params


x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x).astype(np.float32)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

params = train(gl.Data(*members), np.random.default_rng(0))
target = gl.function_target(predict, params=params, classes=[0, 1], scale="logits", train=train)
results = gl.audit(target, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
