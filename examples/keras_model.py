"""A Keras network with any backend: references are clones that are trained by fit with the same number of epochs."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")  # or tensorflow, jax

import keras
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x).astype(np.float32)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Input((30,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(*members, epochs=5, batch_size=32, verbose=0)

results = gl.audit(model, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
