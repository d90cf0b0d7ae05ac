"""A torch module: say how it is trained, and references are trained in the same way. One output does for two classes."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

network = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))  # logits: no sigmoid at the end
recipe = gl.defences.Fit(epochs=30, batch_size=32, learning_rate=0.01)
# Your own loop does as well: torch_target(module, train=your_function), where your_function(data, rng) returns a module.
target = gl.torch_target(network, classes=["malignant", "benign"], train=recipe)
labelled = [(x, np.array(["malignant", "benign"])[y]) for x, y in (members, nonmembers)]
trained = target.can["retrain"](None, gl.Data(*labelled[0]), np.random.default_rng(0))

results = gl.audit(trained, *labelled, references=6, attacks=["loss", "lira"], jobs=1)
print(results.summary())
