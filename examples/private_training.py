"""A model with differential privacy: the report plots its guarantee next to the measured attacks."""

import numpy as np
from sklearn.datasets import load_digits

import guestlist as gl

x, y = load_digits(return_X_y=True)
members, nonmembers = (x[:400] / 16, y[:400]), (x[400:800] / 16, y[400:800])

recipe = gl.defences.DpSgd(noise=1.0, clip=1.0, rate=0.1, epochs=5, learning_rate=0.5)
promise = recipe.privacy(delta=1e-5)
print(f"Promised: epsilon {promise.epsilon:.2f} at delta {promise.delta:g}.")

module = recipe(gl.defences.mlp(64, 10, hidden=(32,)), gl.Data(*members), np.random.default_rng(0))
target = gl.torch_target(module, train=recipe)
results = gl.audit(target, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
